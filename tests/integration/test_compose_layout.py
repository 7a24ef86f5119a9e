"""deploy/: what the compose file says, and the same layout as processes of this machine."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from skillopt.errors import ConfigError

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def load_local() -> ModuleType:
    spec = importlib.util.spec_from_file_location("deploy_local", DEPLOY / "local.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


local = load_local()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return local.read_compose()


# --- what it says -------------------------------------------------------------------------------


def test_the_layout_is_that_of_a_team(compose: dict[str, Any]) -> None:
    services = compose["services"]
    roles = {name: one["command"][0] for name, one in services.items() if name != "redis"}
    assert sorted(set(roles.values())) == ["coordinator", "flower", "serve", "worker"]
    assert services["coordinator"]["deploy"]["replicas"] == 2


def test_every_backend_has_one_worker_service_of_its_own(compose: dict[str, Any]) -> None:
    catalogue = yaml.safe_load((DEPLOY / "backends.yaml").read_text())["backends"]
    workers = [one["command"] for one in compose["services"].values() if "worker" in one["command"]]
    served = [command[command.index("--backend") + 1] for command in workers]
    assert sorted(served) == sorted(catalogue)
    assert all(command.count("--backend") == 1 for command in workers)


def test_redis_keeps_everything_and_evicts_nothing(compose: dict[str, Any]) -> None:
    lines = (DEPLOY / "redis" / "redis.conf").read_text().splitlines()
    settings = dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    assert settings["appendonly"] == "yes"
    assert settings["maxmemory-policy"] == "noeviction"
    assert "redis:/data" in compose["services"]["redis"]["volumes"]


def test_only_this_machine_reaches_what_is_published(compose: dict[str, Any]) -> None:
    published = [port for one in compose["services"].values() for port in one.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
    assert "ports" not in compose["services"]["redis"]


def test_no_secret_is_written_or_passed_as_an_argument(compose: dict[str, Any]) -> None:
    for name, one in compose["services"].items():
        assert "$" not in " ".join(one["command"]), name
        for key, value in one["environment"].items():
            if any(word in key for word in ("PASSWORD", "AUTH", "KEY", "URL")):
                assert "${" in str(value), (name, key)
    assert "REDIS_PASSWORD=\n" in (DEPLOY / ".env.example").read_text()


def test_every_container_is_confined_and_asked_how_it_is(compose: dict[str, Any]) -> None:
    for name, one in compose["services"].items():
        assert one["read_only"] is True, name
        assert one["cap_drop"] == ["ALL"], name
        assert one["healthcheck"]["test"], name
        if name != "redis":
            health = one["command"][one["command"].index("--health-file") + 1]
            assert one["healthcheck"]["test"] == ["CMD", "python", "-m", "skillopt.health", health]


def test_the_image_runs_as_nobody_in_particular() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert sum(line.startswith("FROM ") for line in lines) == 2
    last = lines[max(n for n, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert "USER 10001:10001" in last
    assert 'ENTRYPOINT ["skillopt"]' in last


def test_every_command_takes_its_options(compose: dict[str, Any]) -> None:
    for name, one in compose["services"].items():
        if name == "redis":
            continue
        command = [sys.executable, "-m", "producer.cli", *one["command"], "--help"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr


def test_a_variable_that_is_not_set_is_named() -> None:
    assert local.filled("a ${X} ${Y:-d} ${Y:?why}", {"X": "1", "Y": "2"}) == "a 1 2 2"
    assert local.filled("${Z:-default}", {}) == "default"
    with pytest.raises(ConfigError, match="'Z' is not set: say so"):
        local.filled("${Z:?say so}", {})


# --- as processes of this machine ---------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    process: subprocess.Popen[bytes]
    folder: Path
    told: dict[str, str]

    def ask(self, service: str, path: str, authorization: str | None = None) -> tuple[int, bytes]:
        request = urllib.request.Request(self.told[service] + path)
        if authorization:
            request.add_header("Authorization", authorization)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read()


def processes_of(folder: Path) -> list[str]:
    """Give the command lines of every process that has to do with a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            place = str((path / "cwd").readlink())
        except (OSError, UnicodeDecodeError):
            continue  # it ended meanwhile, or it is not ours
        if str(folder) in line or place.startswith(str(folder)):
            found.append(line)
    return found


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    folder = tmp_path_factory.mktemp("layout").resolve()
    out, err = folder / "out", folder / "err"
    with out.open("wb") as written, err.open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, str(DEPLOY / "local.py"), "--folder", str(folder)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            stdout=written,
            stderr=told,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 110
        while not out.read_text().endswith("}\n"):
            assert process.poll() is None, err.read_text()
            assert time.monotonic() < end, err.read_text()
            time.sleep(0.1)
        yield Layout(process, folder, json.loads(out.read_text()))
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0, err.read_text()
    left = [line for line in processes_of(folder) if "pytest" not in line]
    assert left == []


def test_every_service_runs_as_often_as_it_should(layout: Layout) -> None:
    lines = [line for line in processes_of(layout.folder) if "guard.py" not in line]
    commands = [line for line in lines if " -m producer.cli " in line]
    count = {
        role: sum(f"producer.cli {role} " in line for line in commands)
        for role in ("coordinator", "worker", "serve", "flower")
    }
    assert count == {"coordinator": 2, "worker": 1, "serve": 1, "flower": 1}
    status, body = layout.ask("serve", "/api/v1/fleet", f"Bearer {layout.told['token']}")
    assert status == 200
    fleet = json.loads(body)
    assert fleet["coordinators"] == 2
    assert [one["backend"] for one in fleet["workers"]] == ["sim"]
    assert fleet["workers"][0]["worker"].startswith("sim-")


def test_everything_is_well_by_the_probe_of_its_container(
    layout: Layout, compose: dict[str, Any]
) -> None:
    asked = 0
    for path in (layout.folder / "tmpfs").glob("*/run-skillopt/health"):
        command = [sys.executable, "-m", "skillopt.health", "--ready", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stdout
        asked += 1
    assert asked == 5


def test_nobody_gets_in_without_what_was_made_for_them(layout: Layout) -> None:
    assert layout.ask("serve", "/api/v1/healthz") == (200, b'{"ok":true}')
    assert layout.ask("serve", "/api/v1/fleet")[0] == 401
    basic = "Basic " + base64.b64encode(layout.told["flower_auth"].encode()).decode()
    assert layout.ask("flower", "/metrics")[0] == 401
    assert layout.ask("flower", "/workers", basic)[0] == 200


def test_no_secret_is_in_arguments_or_logs(layout: Layout) -> None:
    password = layout.told["flower_auth"].partition(":")[2]
    seen = "\n".join(processes_of(layout.folder))
    seen += "\n".join(path.read_text() for path in (layout.folder / "logs").iterdir())
    for secret in (password, layout.told["token"]):
        assert secret not in seen


def test_figures_are_given_by_coordinators_and_workers(layout: Layout) -> None:
    ports = [
        line.split("--metrics-port ")[1].split()[0]
        for line in processes_of(layout.folder)
        if "--metrics-port" in line and " -m producer.cli " not in line and "guard.py" not in line
    ]
    assert len(ports) == 3
    for port in ports:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert b"# TYPE so_" in answer.read()
