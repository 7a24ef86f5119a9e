"""`skillopt doctor` against real servers: Redis with bad settings, models that do not answer."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from private_redis import redis_on_a_port

from producer.cli import main
from producer.embedded.lock import StoreLock
from producer.embedded.redis_server import RedisServer
from producer.embedded.store import Store
from skillopt.domain.timing import Timing
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running
from skillopt.state.ports import WorkerInfo
from skillopt.state.redis.connect import connect

KEY, WRONG_KEY = "sk-planted-0123456789abcdef", "sk-planted-fedcba9876543210"
PASSWORD = "planted-redis-password"
SECRETS = (KEY, WRONG_KEY, PASSWORD)

Doctor = Callable[..., tuple[int, dict[str, dict[str, str]]]]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, without what the person who runs the tests has configured."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    for name in ("SKILLOPT_BACKENDS", "SKILLOPT_REDIS_URL", "SIM_URL", "SKILLOPT_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RIGHT_KEY", KEY)
    monkeypatch.setenv("WRONG_KEY", WRONG_KEY)


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run the command; gives its exit code and the checks by name. No secret may show."""

    def run(*arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
        code = main.run_command(["doctor", "--json", *arguments])
        out, err = capsys.readouterr()
        assert not [secret for secret in SECRETS if secret in out + err]
        assert err == ""
        found = json.loads(out)
        assert found["ok"] == (code == 0)
        checks = {check.pop("name"): check for check in found["checks"]}
        assert len(checks) == len(found["checks"]), "two checks of one name"
        return code, checks

    return run


def catalogue(**entries: dict[str, Any]) -> str:
    Path("backends.yaml").write_text(json.dumps({"backends": entries}))
    return "backends.yaml"


def compatible(url: str, **changes: Any) -> dict[str, Any]:
    entry = {"kind": "openai_compatible", "model": "sim", "base_url": url, "price": 0}
    return {**entry, "api_key_env": "RIGHT_KEY", **changes}


# --- Redis ------------------------------------------------------------------------------------


def test_bad_settings_of_a_redis_are_found(doctor: Doctor) -> None:
    settings = ("--appendonly", "no", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with redis_on_a_port(*settings, "--databases", "2", password=PASSWORD) as url:
        # The state's database is not there, so nothing of it can be read.
        code, checks = doctor("--redis", url)
        assert (code, checks["redis"]["status"]) == (4, "failed")
    with redis_on_a_port(*settings, password=PASSWORD) as url:
        code, checks = doctor("--redis", url)
    assert code == 4
    assert checks["redis"]["status"] == "ok"
    assert "***" in checks["redis"]["value"]
    assert checks["redis persistence"]["status"] == "warning"
    assert checks["redis eviction"]["status"] == "failed"
    assert "noeviction" in checks["redis eviction"]["fix"]
    assert checks["redis memory"]["status"] == "ok"
    assert checks["redis clock"]["status"] == "ok"
    assert checks["redis access"]["status"] == "ok"


def test_a_redis_as_it_should_be_passes(doctor: Doctor) -> None:
    with redis_on_a_port("--appendonly", "yes") as url:
        code, checks = doctor("--redis", url)
    assert code == 0
    redis = {name: check["status"] for name, check in checks.items() if name.startswith("redis")}
    assert redis.pop("redis program") == "skipped"
    assert redis.pop("redis latency") in {"ok", "warning"}  # it depends on what else runs here
    assert set(redis.values()) == {"ok"}


def test_a_wrong_password_is_told_apart_from_a_server_that_is_away(doctor: Doctor) -> None:
    with redis_on_a_port(password=PASSWORD) as url:
        code, checks = doctor("--redis", url.replace(PASSWORD, WRONG_KEY))
    assert code == 4
    assert "password" in checks["redis"]["fix"]
    code, checks = doctor("--redis", url)  # it has ended
    assert code == 4
    assert checks["redis"]["fix"].startswith("start it")


def test_a_private_redis_is_looked_at_only_while_it_runs(doctor: Doctor, tmp_path: Path) -> None:
    code, checks = doctor("--store", "store")
    assert (code, checks["redis"]["status"]) == (0, "skipped")
    assert list(tmp_path.iterdir()) == []
    store = Store.open(tmp_path / "store")
    with (
        StoreLock.acquire(store, command="skillopt run x.yaml") as lock,
        RedisServer.start(lock),
    ):
        code, checks = doctor("--store", "store")
    assert code == 0
    assert checks["redis"]["value"] == "the store's own, answers"
    assert "fsync always" in checks["redis persistence"]["value"]
    assert "skillopt run x.yaml" in checks["store in use"]["value"]
    code, checks = doctor("--store", "store")
    assert (code, checks["redis"]["status"]) == (0, "skipped")


def test_workers_are_compared_with_the_catalogue(doctor: Doctor, redis_url: str) -> None:
    file = catalogue(
        same=compatible("http://127.0.0.1:9/v1"),
        other=compatible("http://127.0.0.1:9/v1"),
        idle=compatible("http://127.0.0.1:9/v1"),
    )
    main_arguments = ("--backends", file, "--redis", redis_url, "--no-probe")
    with connect(redis_url, Timing()) as state:
        state.fleet.announce(WorkerInfo("other-1@h", "other", "f" * 64, 4, version="0.0.1"))
        code, checks = doctor(*main_arguments)
        assert code == 4
        ours = checks["workers other"]["value"].rpartition(", and ")[2].split()[0]
        assert "other-1@h has ffffffffffffffff" in checks["workers other"]["value"]
        assert checks["worker version other"]["status"] == "warning"
        assert checks["workers idle"]["status"] == "warning"
        full = fingerprint_of("same", file)
        assert full.startswith(ours)
        state.fleet.announce(WorkerInfo("other-1@h", "other", full, 4))
        state.fleet.announce(WorkerInfo("same-1@h", "same", full, 4))
        code, checks = doctor(*main_arguments)
    assert code == 0
    assert checks["workers same"]["status"] == checks["workers other"]["status"] == "ok"


def fingerprint_of(name: str, file: str) -> str:
    from producer.inventory import InventoryReader

    reader = InventoryReader({"HOME": "none"}, lambda backend: "")
    [one] = reader.read(None, Path(file), only=[name]).backends
    assert one.backend is not None
    return one.backend.fingerprint


# --- calls ------------------------------------------------------------------------------------


def test_every_way_in_which_a_model_can_fail_is_told_apart(doctor: Doctor) -> None:
    with ExitStack() as opened:

        def simulator(**options: Any) -> str:
            return opened.enter_context(running(SimulatorOptions(**options))).base_url

        locked = simulator(api_key=KEY, models=("sim",))
        file = catalogue(
            well=compatible(locked, price={"input": 1, "output": 1}),
            refused=compatible(locked, api_key_env="WRONG_KEY"),
            unset=compatible(locked, api_key_env="NO_SUCH_KEY"),
            unknown=compatible(locked, model="gpt-999"),
            slow=compatible(simulator(stall_rate=1), timeout_s=1),
            limited=compatible(simulator(tpm=1)),
            down=compatible(simulator(error_rate=1)),
            away=compatible("http://127.0.0.1:9/v1"),
            claude={
                "kind": "anthropic_messages",
                "model": "sim",
                "base_url": locked.removesuffix("/v1"),
                "api_key_env": "RIGHT_KEY",
                "price": 0,
            },
            robot={"kind": "simulated"},
        )
        code, checks = doctor("--backends", file)
    assert code == 4
    calls = {
        name.removeprefix("call "): (check["status"], check["value"].partition(":")[0])
        for name, check in checks.items()
        if name.startswith("call ")
    }
    assert calls.pop("well")[0] == calls.pop("claude")[0] == "ok"
    assert calls == {
        "refused": ("failed", "auth"),
        "unset": ("skipped", "not called without its credential"),
        "unknown": ("failed", "unknown_model"),
        "slow": ("failed", "timeout"),
        "limited": ("warning", "rate_limited"),
        "down": ("failed", "server_error"),
        "away": ("failed", "connection"),
        "robot": ("skipped", "a simulator is started with the run"),
    }
    assert "tokens, $0.0" in checks["call well"]["value"]
    assert "WRONG_KEY" in checks["call refused"]["fix"]
    assert "'gpt-999'" in checks["call unknown"]["fix"]
    assert checks["credential unset"]["status"] == "failed"
    assert all(one["fix"] for one in checks.values() if one["status"] in {"failed", "warning"})


def test_a_model_gets_one_call_and_none_if_none_is_asked_for(doctor: Doctor) -> None:
    with running(SimulatorOptions(api_key=KEY)) as address:
        file = catalogue(one=compatible(address.base_url))
        code, checks = doctor("--backends", file, "--no-probe")
        assert (code, checks["call one"]["status"]) == (0, "skipped")
        assert calls_of(address.root_url) == 0
        code, checks = doctor("--backends", file)
        assert (code, checks["call one"]["status"]) == (0, "ok")
        assert calls_of(address.root_url) == 1


def calls_of(root_url: str) -> int:
    import urllib.request

    with urllib.request.urlopen(f"{root_url}/stats", timeout=20) as answer:
        return json.load(answer)["calls"]["total"]


def test_an_agent_program_is_found_and_its_login_tried(doctor: Doctor, tmp_path: Path) -> None:
    """A stand-in for the program: the real ones are tried where they are installed."""
    program = tmp_path / "claude"
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        "if '--version' in sys.argv:\n"
        "    print('2.1.0 (stand-in)')\n"
        "    sys.exit(0)\n"
        "sys.stdin.read()\n"
        "print(json.dumps({'type': 'result', 'subtype': 'success', 'is_error': True,\n"
        "                  'api_error_status': 401, 'result': 'Invalid API key'}))\n"
        "sys.exit(1)\n"
    )
    program.chmod(0o755)
    file = catalogue(
        agent={"kind": "claude_cli", "executable": str(program), "api_key_env": "WRONG_KEY"},
        missing={"kind": "codex_cli", "executable": str(tmp_path / "no-such-program")},
    )
    code, checks = doctor("--backends", file)
    assert code == 4
    assert checks["program agent"]["value"].endswith("claude 2.1.0")
    assert checks["call agent"]["status"] == "failed"
    assert checks["call agent"]["value"].startswith("auth: ")
    assert "is not found" in checks["backend missing"]["value"]


@pytest.mark.parametrize("program", ["claude", "codex", "copilot"])
def test_the_real_programs_are_tried_where_they_are_installed(doctor: Doctor, program: str) -> None:
    folder = os.environ.get("SKILLOPT_TEST_AGENTS")
    executable = shutil.which(program, path=folder) if folder else None
    if executable is None:
        pytest.skip(f"{program} is not in the folder that SKILLOPT_TEST_AGENTS names")
    with running(SimulatorOptions(api_key=KEY)) as address:
        url = address.root_url if program == "claude" else address.base_url
        usual = {
            "kind": f"{program}_cli",
            "model": "sim",
            "executable": executable,
            "base_url": url,
            "auth": "api_key",
        }
        file = catalogue(
            right={**usual, "api_key_env": "RIGHT_KEY"}, wrong={**usual, "api_key_env": "WRONG_KEY"}
        )
        code, checks = doctor("--backends", file)
    assert code == 4
    assert checks["call right"]["status"] == "ok"
    assert checks["call wrong"]["value"].startswith("auth: ")
