"""Runs whose coordinator is killed at a chosen call, and continued by another one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

sys.path.append(str(Path(__file__).parents[1] / "unit" / "producer"))

from fleet_double import TIMING, Fleet, VirtualDoorbell, decisions
from scripted_run import make_plan

from producer.coordinator import Coordinator
from producer.mirror import complete_folder
from producer.run_folder import RunFolder
from producer.submit import submit
from skillopt.domain.events import Event, Finished, decode_event
from skillopt.domain.fingerprint import digest, sha256_hex
from skillopt.domain.plan import RunPlan
from skillopt.domain.timing import Timing
from skillopt.state.memory.build import build
from skillopt.state.ports import Amount, State

#: "lost": the call takes effect, and whoever made it dies before the answer.
Moment = Literal["before", "lost"]

#: Two steps: each stage of a step comes twice.
SMALL = {"train": {"num_epochs": 1, "batch_size": 4}}
#: Two epochs of one step, with all that the end of an epoch brings, and early decisions.
RICH = {
    "train": {"num_epochs": 2, "batch_size": 8},
    "optimizer": {"learning_rate": 2, "use_slow_update": True, "use_meta_skill": True},
    "evaluation": {"early_decision": True},
}

#: Tries after which a run that does not end is given up.
MOST_TRIES = 40
MOST_WAITS = 5_000


class Killed(BaseException):
    """The process is gone: no handler of it runs."""


@dataclass
class Interruption:
    """Kills its process at one call, and refuses every later one: the dead call nobody."""

    at: int | None = None
    moment: Moment = "before"
    calls: list[str] = field(default_factory=list)
    dead: bool = False

    def through(self, name: str, call: Callable[[], Any]) -> Any:
        if self.dead:
            raise Killed(name)
        self.calls.append(name)
        if len(self.calls) != self.at:
            return call()
        try:
            if self.moment == "lost":
                call()
        finally:  # also if the call was refused: nobody hears of that either
            self.dead = True
            raise Killed(name)


class Watched:
    """A port, or a sender, whose every call can be the last one of its process."""

    def __init__(self, inner: object, name: str, interruption: Interruption) -> None:
        self._inner = inner
        self._name = name
        self._interruption = interruption

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._inner, method)

        def called(*arguments: Any, **named: Any) -> Any:
            name = f"{self._name}.{method}"
            return self._interruption.through(name, lambda: call(*arguments, **named))

        return called


def watched(state: State, interruption: Interruption) -> State:
    ports = {
        one.name: Watched(getattr(state, one.name), one.name, interruption) for one in fields(State)
    }
    return State(**cast(dict[str, Any], ports))


class Clock:
    """A clock that something else may have to follow."""

    def __init__(self, advance: Callable[[float], None] = lambda seconds: None) -> None:
        self._now = 1_800_000_000.0
        self._advance = advance

    def __call__(self) -> float:
        return self._now

    @property
    def now(self) -> float:
        return self._now

    @now.setter
    def now(self, value: float) -> None:
        self._advance(value - self._now)
        self._now = value


class Site:
    """A state, workers that never die, and one process after the other that looks after a run."""

    def __init__(
        self,
        runs_dir: Path,
        plan: RunPlan | None = None,
        *,
        state: State | None = None,
        clock: Clock | None = None,
        timing: Timing = TIMING,
    ) -> None:
        self.plan = plan or make_plan(settings=dict(SMALL))
        self.run = self.plan.run_id
        self.timing = timing
        self.clock = clock or Clock()
        inner = state or build(timing, self.clock)
        self._doorbell = VirtualDoorbell(inner.doorbell, cast(Any, self.clock))
        self._doorbell.idle = self._stop_in_the_end
        self.state = replace(inner, doorbell=self._doorbell)
        self.fleet = Fleet(self.state, timing)
        self.runs_dir = runs_dir
        self.folder = RunFolder(runs_dir / self.run)
        self.stop = threading.Event()

    def _stop_in_the_end(self) -> None:
        if self._doorbell.waits >= MOST_WAITS:
            self.stop.set()

    # --- one process

    def command(self, interruption: Interruption | None = None) -> None:
        """Submit the run and drive it, as the command does; it may be killed on the way."""
        with killed():
            state = self._seen_through(interruption)
            self.folder.create(self.plan, {})
            submit(state, self.plan, meta={}, wait=self._wait)
            self._coordinate(state, interruption)

    def coordinator(self, interruption: Interruption | None = None) -> None:
        """Drive the run as a coordinator that finds it."""
        with killed():
            self._coordinate(self._seen_through(interruption), interruption)

    def _seen_through(self, interruption: Interruption | None) -> State:
        return self.state if interruption is None else watched(self.state, interruption)

    def _coordinate(self, state: State, interruption: Interruption | None) -> None:
        sender: Any = self.fleet
        if interruption is not None:
            sender = Watched(self.fleet, "sender", interruption)
        coordinator = Coordinator(state, sender, self.runs_dir, self.timing)
        coordinator._only = self.run
        coordinator._drive(self.run, self.stop)
        if coordinator._failures:
            raise coordinator._failures[0]

    def _wait(self, seconds: float) -> None:
        self.clock.now += seconds

    # --- others after it

    def continue_by(self, process: Callable[[], None]) -> Outcome:
        """Let one process follow another, each after the lease of the last, to the run's end."""
        for _ in range(MOST_TRIES):
            if self.is_finished():
                self.stop.clear()
                return self.outcome()
            self.clock.now += self.timing.lead_s
            process()
        raise AssertionError("the run does not end")

    def is_finished(self) -> bool:
        return any(isinstance(event, Finished) for event in self.events())

    def events(self) -> list[Event]:
        return [decode_event(entry.event) for entry in self.state.runs.log(self.run)]

    def outcome(self) -> Outcome:
        """Give what a run that ended left, once whatever was under way has lapsed."""
        # A folder is completed by whoever looks at the run next: here, the command given again.
        complete_folder(self.folder, self.state, self.plan)
        self.clock.now += self.timing.reservation_s
        spend = self.state.budgets.spend(self.run)
        assert spend.reserved == Amount()
        events = self.events()
        assert sum(isinstance(event, Finished) for event in events) == 1
        mirrored = [decode_event(entry.event) for entry in self.folder.read_entries()]
        assert mirrored == events
        return Outcome(files_hash(self.folder.path), decisions(events), record_names(self.folder))


@dataclass(frozen=True)
class Outcome:
    """What must come out the same: the files that decisions leave, the decisions themselves."""

    files: str
    decisions: tuple[Event, ...]
    records: frozenset[str]


def files_hash(folder: Path) -> str:
    """Hash all that derives from decisions alone."""
    kept = [*sorted(folder.glob("skills/*")), folder / "best_skill.md", folder / "history.jsonl"]
    assert len(kept) > 3
    return digest({str(one.relative_to(folder)): sha256_hex(one.read_bytes()) for one in kept})


def record_names(folder: RunFolder) -> frozenset[str]:
    return frozenset(folder.record_names())


@contextmanager
def killed() -> Iterator[None]:
    """End here what was killed: its process is over, the test goes on."""
    try:
        yield
    except Killed:
        return


def undisturbed(runs_dir: Path, plan: RunPlan | None = None) -> tuple[Outcome, list[str]]:
    """Give what a run that nothing happens to leaves, and the calls it makes."""
    site, counting = Site(runs_dir, plan), Interruption()
    site.command(counting)
    assert site.is_finished()
    return site.outcome(), counting.calls
