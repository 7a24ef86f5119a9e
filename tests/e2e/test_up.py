"""`skillopt up`, then the queue used from another shell with only a URL and a token."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FAST, until

from skillopt.config.packaged import configs_dir

SKILLOPT = [sys.executable, "-m", "producer.cli"]


@dataclass
class Up:
    """One `skillopt up`, running or ended."""

    folder: Path
    process: subprocess.Popen[bytes]
    told: dict[str, Any]

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def err(self) -> str:
        return (self.folder / "err").read_text()

    def processes(self) -> list[tuple[int, str]]:
        """Everything of it but itself: what names its store, and its Redis, which works there."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                place = str((path / "cwd").readlink())
            except (OSError, UnicodeDecodeError):
                continue  # it ended meanwhile, or it is not ours
            mine = str(self.store) in line or place.startswith(str(self.store))
            if mine and int(path.name) != self.process.pid:
                found.append((int(path.name), line))
        return found

    def one(self, words: str) -> int:
        return next(pid for pid, line in self.processes() if words in line and "guard" not in line)

    def ask(self, path: str) -> Any:
        request = urllib.request.Request(self.told["url"] + path)
        request.add_header("Authorization", f"Bearer {self.told['token']}")
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)


def environment(**more: str) -> dict[str, str]:
    """An environment without a word of any queue."""
    ours = ("SKILLOPT_URL", "SKILLOPT_TOKEN", "SKILLOPT_REDIS_URL", "SKILLOPT_BACKENDS")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, **more}


def start(folder: Path, *arguments: str, **more: str) -> Up:
    command = [*SKILLOPT, "up", "--store", str(folder / "store"), "--port", "0"]
    command += ["--flower-port", "0", "--json", *arguments]
    with (folder / "out").open("wb") as out, (folder / "err").open("ab") as err:
        process = subprocess.Popen(
            command,
            env=environment(**FAST, XDG_CONFIG_HOME=str(folder / "none"), **more),
            stdout=out,
            stderr=err,
            start_new_session=True,
        )

    def written() -> str | None:
        text = (folder / "out").read_text()
        assert process.poll() is None or text, (folder / "err").read_text()
        return text if text.endswith("}\n") else None

    try:
        told = json.loads(until(written, "what is up", 100))
    except BaseException:
        process.kill()
        raise
    return Up(folder, process, told)


def stop(up: Up, number: int = signal.SIGINT) -> int:
    up.process.send_signal(number)
    return up.process.wait(timeout=60)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    one = start(tmp_path, "--metrics-port", str(free_ports(3)))
    yield one
    if one.process.poll() is None:
        stop(one)
    until(lambda: not one.processes(), f"the end of {one.processes()}", 30)


def free_ports(count: int) -> int:
    """Find some free ports in a row."""
    for first in range(20_000 + os.getpid() % 10_000, 60_000, count):
        with ExitStack() as opened:
            try:
                for port in range(first, first + count):
                    opened.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports")


def test_a_run_is_submitted_with_url_and_token_alone_and_brought_home(
    up: Up, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    without = shutil.ignore_patterns("backends.yaml")
    shutil.copytree(configs_dir() / "example", elsewhere, ignore=without)

    def skillopt(*arguments: str) -> dict[str, Any]:
        mine = environment(SKILLOPT_URL=up.told["url"], SKILLOPT_TOKEN=up.told["token"])
        done = subprocess.run(
            [*SKILLOPT, *arguments, "--json"],
            cwd=elsewhere,
            env=mine,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    run = skillopt("submit", "spec.yaml")["run"]
    until(lambda: skillopt("status", run)["row"]["phase"] == "finished", "the end of the run", 90)
    skillopt("export", run, "home")
    brought = {path.name for path in (elsewhere / "home").iterdir()}
    assert {"best_skill.md", "summary.json", "events.jsonl", "history.jsonl"} <= brought
    home = json.loads((elsewhere / "home" / "summary.json").read_text())
    assert home["best"]["val"]["hard"] > home["initial"]["val"]["hard"]
    first = int(_metrics_port(up))
    figures = _figures(first) + _figures(first + 1)
    assert f'so_exec_total{{backend="sim"}} {home["executions"]}.0' in figures
    assert "so_resend_total 0.0" in figures


def _metrics_port(up: Up) -> str:
    lines = [line for _, line in up.processes() if "--metrics-port" in line]
    return min(line.split("--metrics-port ")[1].split()[0] for line in lines)


def _figures(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def test_secrets_are_shown_once_and_in_no_argument_or_log(up: Up, tmp_path: Path) -> None:
    token, password = up.told["token"], up.told["flower_password"]
    assert token
    assert password
    seen = "\n".join(line for _, line in up.processes())
    seen += "\n".join(path.read_text() for path in (up.store / "logs").iterdir())
    seen += up.err()
    assert token not in seen
    assert password not in seen
    assert (up.store / "flower-auth").stat().st_mode & 0o777 == 0o600
    assert stop(up) == 0
    again = start(tmp_path)
    try:
        assert again.told["token"] is None
        assert again.told["flower_password"] is None
        again.told["token"] = token
        assert again.ask("/api/v1/me")["role"] == "admin"
    finally:
        assert stop(again, signal.SIGTERM) == 0


def test_whatever_is_killed_comes_back_and_ctrl_c_leaves_nothing(up: Up) -> None:
    killed = {words: up.one(words) for words in ("-m workers ", "cli serve", "coordinator --runs")}
    for pid in killed.values():
        os.kill(pid, signal.SIGKILL)

    def back() -> bool:
        try:
            fleet = up.ask("/api/v1/fleet")
        except (OSError, urllib.error.URLError):
            return False
        others = all(up.one(words) != pid for words, pid in killed.items())
        return others and len(fleet["workers"]) == 1

    until(lambda: _quietly(back), "the return of what was killed", 60)
    assert "it is started again" in up.err()
    assert stop(up) == 0
    assert up.processes() == []


def _quietly(found: Any) -> bool:
    try:
        return bool(found())
    except StopIteration:
        return False


def test_a_killed_up_takes_everything_with_it(up: Up) -> None:
    assert len(up.processes()) > 8
    up.process.kill()
    up.process.wait()
    until(lambda: not up.processes(), "the end of everything", 30)
