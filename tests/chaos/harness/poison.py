"""A job that kills every worker which takes it up: it dies for all to see, and it alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from harness.deadly_job import DeadlyJob
from harness.fleet import SLOTS, Fleet, fleet_in
from harness.verdict import orphans
from harness.work import Run, make_measurement
from harness.written import read_written
from skillopt.domain.documents import Documents
from skillopt.domain.events import decode_event
from skillopt.domain.item import Item
from skillopt.domain.steering_events import GaveUp, Paused
from skillopt.loop.jobs import JobFactory
from skillopt.state import keys

DEADLINE_S = 60.0
TICK_S = 0.02
WORKERS = ("w1", "w2")
#: Tasks of the measurement, in copies of the ten of the demo.
COPIES = 2
#: More than it takes to be given up.
MOST_KILLS = 20


@dataclass(frozen=True)
class Poisoned:
    """What became of the job and of its neighbours."""

    seconds: float
    kills: int
    #: Jobs that were given up, and all that were committed.
    dead: tuple[str, ...]
    commits: int
    #: What the run says.
    paused: str
    problems: tuple[str, ...]

    def text(self) -> str:
        said = "FAILED" if self.problems else "passed"
        return "\n".join(
            [
                f"poison: {said} in {self.seconds:.0f} s",
                f"  {self.kills} workers killed by {len(self.dead)} job(s); {self.commits} commits",
                f"  the run says: {self.paused}",
                *(f"  PROBLEM: {problem}" for problem in self.problems),
            ]
        )


def run_poison(folder: Path, pick: int = 7) -> Poisoned:
    """Measure some tasks, one of which kills whoever works on it."""
    began = time.monotonic()
    with fleet_in(folder, latency_s=0.5, latency_sigma=0.0) as (fleet, provider_url):
        run = make_measurement(folder, provider_url, "poisoned", COPIES)
        items = run.loaded.plan.splits.test
        item = items[pick % len(items)]
        fleet.start(run, workers=WORKERS)
        fleet.submit(run)
        kills = _kill_whoever_takes(fleet, run, _job(run, item), began)
        problems = _judge(fleet, run, item, kills)
        events = [decode_event(entry.event) for entry in fleet.state.runs.log(run.id)]
        paused = next((event.detail for event in events if isinstance(event, Paused)), "")
        dead = tuple(fleet.server.state.scan_iter(match=keys.dead("*")))
        fleet.end()
        fleet.server.stop()
        written = read_written(fleet.server.aof)
        problems += orphans(fleet)
        if written.needless > kills * SLOTS:
            problems.append(f"{written.needless} executions repeated by {kills} kills")
        return Poisoned(
            time.monotonic() - began,
            kills,
            tuple(map(str, dead)),
            written.commits.total(),
            paused,
            tuple(problems),
        )


def _job(run: Run, item: Item) -> str:
    plan = run.loaded.plan
    factory = JobFactory(plan, run.id)
    return factory.rollout(plan.initial_key, Documents(skill=plan.skill), item, 0).id


def _kill_whoever_takes(fleet: Fleet, run: Run, job: str, began: float) -> int:
    """Kill every worker that claims the job until the run rests; gives the number of kills."""
    deadly = DeadlyJob(fleet, job, most=MOST_KILLS)
    while fleet.statuses((run,)) == ["running"]:
        assert time.monotonic() - began < DEADLINE_S, f"the run does not rest: {fleet.logs()}"
        fleet.look()
        deadly.strike()
        time.sleep(TICK_S)
    return deadly.kills


def _judge(fleet: Fleet, run: Run, item: Item, kills: int) -> list[str]:
    problems = []
    events = [decode_event(entry.event) for entry in fleet.state.runs.log(run.id)]
    job = _job(run, item)
    given_up = {name for event in events if isinstance(event, GaveUp) for name in event.jobs}
    if given_up != {job}:
        problems.append(f"given up are {sorted(given_up)}, not only the poison {job}")
    if not fleet.server.state.exists(keys.dead(job)):
        problems.append("the poison job is not marked dead")
    others = {name for name in run.undisturbed.performed if _is_about_another(run, name, job)}
    missing = others - fleet.state.results.get(sorted(others)).keys()
    if missing:
        problems.append(f"{len(missing)} neighbours have no result")
    pauses = [event.detail for event in events if isinstance(event, Paused)]
    if len(pauses) != 1 or item.id not in pauses[0]:
        problems.append(f"the run does not name task {item.id!r} as it pauses: {pauses}")
    expected = fleet.timing.max_lost_claims + fleet.timing.max_quarantine_claims
    if kills != expected:
        problems.append(f"{kills} workers were killed before the job was dead, not {expected}")
    return problems


def _is_about_another(run: Run, name: str, poison: str) -> bool:
    """Whether a job is neither the poison nor the judgement of what it would have answered."""
    undisturbed = run.undisturbed
    unjudged = undisturbed.ledger[poison].to_judge
    spec = undisturbed.performed[name].spec
    return name != poison and getattr(spec, "reply", None) != unjudged
