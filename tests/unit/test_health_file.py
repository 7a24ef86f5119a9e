"""What a health file tells whoever asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from skillopt.errors import ConfigError
from skillopt.health import Condition, HealthFile, complaints, keep_reporting, main


def report(path: Path, **changes: object) -> None:
    HealthFile(path, "worker w1", 20.0).write(Condition())
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_process_that_says_it_is_well_is_live_and_ready(tmp_path: Path) -> None:
    path = tmp_path / "health"
    HealthFile(path, "worker w1", 20.0).write(Condition())
    assert complaints(path, ready=False, now=time.monotonic()) == []
    assert complaints(path, ready=True, now=time.monotonic()) == []
    assert list(tmp_path.iterdir()) == [path], "nothing half-written is left"


def test_a_process_that_cannot_work_now_is_live_but_not_ready(tmp_path: Path) -> None:
    path = tmp_path / "health"
    HealthFile(path, "worker w1", 20.0).write(Condition(not_ready=("the state is away",)))
    assert complaints(path, ready=False, now=time.monotonic()) == []
    assert complaints(path, ready=True, now=time.monotonic()) == ["worker w1: the state is away"]


def test_a_process_whose_loop_stands_is_not_live(tmp_path: Path) -> None:
    path = tmp_path / "health"
    HealthFile(path, "worker w1", 20.0).write(Condition(stuck=("its loop stands",)))
    assert complaints(path, ready=False, now=time.monotonic()) == ["worker w1: its loop stands"]


@pytest.mark.parametrize("age_s", [21.0, -5.0])
def test_an_old_report_or_one_from_before_a_reboot_is_no_sign_of_life(
    tmp_path: Path, age_s: float
) -> None:
    path = tmp_path / "health"
    now = time.monotonic()
    report(path, at=now - age_s)
    [why] = complaints(path, ready=False, now=now)
    assert "no sign of life" in why
    assert str(os.getpid()) in why


def test_a_report_of_a_process_that_is_gone_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "health"
    gone = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    gone.wait()
    report(path, pid=gone.pid)
    assert complaints(path, ready=False, now=time.monotonic()) == [
        f"worker w1: process {gone.pid} is gone"
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', "\0"])
def test_what_is_no_health_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "health"
    path.write_text(text)
    [why] = complaints(path, ready=False, now=time.monotonic())
    assert repr(str(path)) in why
    assert "no health file" in why


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    [why] = complaints(tmp_path / "health", ready=False, now=time.monotonic())
    assert "is not there" in why


def test_the_command_exits_by_what_it_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "health"
    HealthFile(path, "worker w1", 20.0).write(Condition(not_ready=("it is draining",)))
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert main([str(path), "--ready"]) == 1
    assert capsys.readouterr().out == "worker w1: it is draining\n"


def test_the_command_asks_after_every_process_it_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, stuck in (("w1", ()), ("w2", ("its loop stands",))):
        HealthFile(tmp_path / name, f"worker {name}", 20.0).write(Condition(stuck))
    assert main([str(tmp_path / "w1"), str(tmp_path / "w2")]) == 1
    assert capsys.readouterr().out == "worker w2: its loop stands\n"
    assert main([str(tmp_path / "w1")]) == 0


def test_a_file_that_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "health"
    file = HealthFile(path, "worker w1", 20.0)
    with pytest.raises(ConfigError, match="nowhere"):
        file.write(Condition())
    file.try_to_write(Condition())  # warns, and the work goes on


def test_a_reporter_takes_its_report_back_when_it_stops(tmp_path: Path) -> None:
    path, stop, looks = tmp_path / "health", threading.Event(), threading.Semaphore(0)

    def look() -> Condition:
        looks.release()
        return Condition()

    thread = keep_reporting(HealthFile(path, "c", 20.0), look, 0.001, stop)
    for _ in range(3):
        assert looks.acquire(timeout=20)
    assert path.exists()
    stop.set()
    thread.join(timeout=20)
    assert not path.exists()
