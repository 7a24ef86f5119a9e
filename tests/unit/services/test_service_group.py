"""Services kept running: real processes that die, come up late or never do."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from producer.embedded.child import ChildSpec, RestartRule
from producer.embedded.supervisor import StopRule, Supervisor
from producer.interruption import Interrupted
from producer.services import group as module
from producer.services.group import Lanes, ServiceGroup
from producer.services.pulse import Pulse, telling_health
from producer.services.stop_signals import StopSignals
from skillopt.domain.timing import Timing
from skillopt.health import complaints
from skillopt.state.memory.build import build

QUICK = RestartRule(first_delay_s=0.01, max_delay_s=0.02, max_deaths=1_000)
WELL = """
import os, sys, time, threading
from pathlib import Path
from skillopt.health import Condition, HealthFile
file = HealthFile(Path(sys.argv[1]), "a service", 20)
while True:
    file.write(Condition())
    time.sleep(0.05)
"""


class Watched:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        self.signals = StopSignals()
        self.pulse = Pulse(60)
        self.supervisor = Supervisor(
            restart=QUICK, stop=StopRule(0.5, 1.0), hurry=self.signals.hurry.is_set
        )
        self.group = ServiceGroup(self.supervisor, self.signals, self.pulse, self.told.append)

    def spec(self, name: str, code: str) -> ChildSpec:
        health = self.folder / "health" / name
        return ChildSpec(
            name=name,
            argv=(sys.executable, "-c", code, str(health)),
            env={"PYTHONPATH": ":".join(sys.path)},
            log_path=self.folder / f"{name}.log",
            health_path=health,
        )


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    one = Watched(tmp_path)
    with one.supervisor:
        yield one


def test_it_is_ready_when_every_service_says_so(watched: Watched) -> None:
    watched.group.start(watched.spec("one", WELL))
    watched.group.start(watched.spec("two", WELL))
    assert watched.pulse.condition().not_ready
    watched.group.wait_until_ready()
    assert watched.pulse.condition().not_ready == ()


def test_a_service_that_never_comes_up_is_reported_with_its_log(watched: Watched) -> None:
    watched.group.start(watched.spec("broken", "print('no such thing'); raise SystemExit(3)"))
    with pytest.raises(module.EmbeddedError, match=r"(?s)broken does not come up.*no such thing"):
        watched.group.wait_until_ready()


def test_a_service_that_dies_later_is_started_again_however_often(watched: Watched) -> None:
    watched.group.start(watched.spec("one", WELL))
    watched.group.wait_until_ready()
    seen = set()
    while len(seen) < 5:
        process = watched.supervisor.process("one")
        pid = process.child_pid()
        if pid not in seen and process.poll() is None:
            seen.add(pid)
            process.signal(9)
        watched.group.look()
        time.sleep(0.01)
    assert len(watched.told) >= 4
    assert "one ended" in watched.told[0]


def test_being_asked_to_stop_ends_the_watch(watched: Watched) -> None:
    watched.group.start(watched.spec("one", WELL))
    threading.Timer(0.2, watched.signals.stop.set).start()
    with pytest.raises(Interrupted):
        watched.group.stay()


def test_whoever_is_in_a_hurry_does_not_wait_for_a_drain(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    slow = StopRule(quit_after_s=300.0, kill_after_s=300.2)
    with Supervisor(stop=slow, hurry=lambda: True) as supervisor:
        supervisor.start(watched.spec("deaf", f"import signal\nsignal.signal(15, 1){WELL}"))
        time.sleep(0.2)
    assert supervisor.process("deaf").poll() is not None


def test_suspected_poison_gets_a_worker_of_its_own_once(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUARANTINE_LOOK_S", 0.0)
    state = build(Timing(), time.monotonic)
    waiting = {"cel:b.sim.q": 0, "cel:b.gpt.q": 0}
    monkeypatch.setattr(state.server, "queued", lambda lists: {k: waiting[k] for k in lists})
    lanes = {name: watched.spec(f"{name}-q", WELL) for name in ("sim", "gpt")}
    watched.group.serve_quarantine(Lanes(state, lanes))
    watched.group.look()
    assert watched.told == []
    waiting["cel:b.sim.q"] = 2
    watched.group.look()
    watched.group.look()
    assert len(watched.told) == 1
    assert "'sim'" in watched.told[0]
    watched.group.wait_until_ready()


def test_the_health_of_a_service_follows_its_loop(tmp_path: Path) -> None:
    path = tmp_path / "health"
    with telling_health(path, "a loop", Timing(health_s=0.02)) as pulse:
        assert complaints(path, ready=True, now=time.monotonic())
        pulse.beat()
        end = time.monotonic() + 10
        while complaints(path, ready=True, now=time.monotonic()):
            assert time.monotonic() < end
            time.sleep(0.01)
        pulse.not_ready = lambda: ("a part is missing",)
        while not complaints(path, ready=True, now=time.monotonic()):
            assert time.monotonic() < end
            time.sleep(0.01)
        assert complaints(path, ready=False, now=time.monotonic()) == []
    assert not path.exists()


def test_a_loop_that_stands_still_is_not_live() -> None:
    pulse = Pulse(limit_s=0.0)
    pulse.beat()
    time.sleep(0.01)
    assert "has not turned" in pulse.condition().stuck[0]
