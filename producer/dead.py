"""Dead letters: jobs that lost every worker that took them, and jobs that runs have given up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from producer.facts import LedgerFacts, ResultMissing
from producer.known_runs import KnownRun, KnownRuns
from producer.requests import LeaveOut, Outcome, TryAgain, ask
from producer.run_folder import RunFolder
from skillopt.config.suggest import did_you_mean
from skillopt.domain.events import decode_event
from skillopt.domain.item import SPLITS
from skillopt.domain.jobs import JobKind, decode_spec
from skillopt.domain.run import ENDED
from skillopt.domain.steering_events import GaveUp, Resumed
from skillopt.errors import InputError, StateCorrupt
from skillopt.loop.decide import decide
from skillopt.state.ports import State, TroubledJob

#: "<label>: <code>: <text>", as a run records a job that it gives up.
_GIVEN_UP = re.compile(r"(?P<label>.+?): (?P<reason>[a-z_]+: .*)", re.DOTALL)
#: "step 3 / gate / bm-004 / 0", "baseline / bm-004 / judge".
_LABEL = re.compile(r"((?:step|epoch) \d+ / [^/]+|[^/]+) / (.+) / (\d+|judge)")
#: The fewest digits that name a job.
_MIN_DIGITS = 4
WHY_EXCLUDED = "left out by skillopt dead exclude"


class DeadLetter(BaseModel):
    """One job that one run has no result of. `dead`: it is not sent again by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job: str
    #: None if no run that is stored waits for it.
    run: str | None
    dead: bool
    reason: str
    #: When it died, or was given up; seconds since 1970.
    at: float | None
    #: "step 3 / gate / bm-004 / 0"; "" if no run can tell any more.
    label: str = ""
    kind: JobKind | None = None
    stage: str = ""
    task: str | None = None
    sample: int | None = None
    claims: int = 0
    quarantine_claims: int = 0
    rounds: int = 0
    #: The worker that claimed it last, if that is known.
    worker: str = ""
    #: What its run is doing now; None without a run.
    status: str | None = None


class Retried(BaseModel):
    """What became of the jobs of one run that were to be tried again, or left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str
    jobs: int
    outcome: Outcome | Literal["unknown_plan"]
    #: Of the run, afterwards.
    status: str


@dataclass(frozen=True)
class _GivenUp:
    text: str
    at: float


def dead_letters(
    state: State, runs: KnownRuns, run: str | None = None, *, finished: bool = False
) -> list[DeadLetter]:
    """List dead jobs and jobs that unfinished runs have given up, oldest first.

    `run`: only those of this run, even if it is finished. `finished`: those of finished runs too.
    """
    dead = set(state.dead.jobs())
    every = list(runs.infos) if finished else runs.unfinished
    chosen = every if run is None else [run]
    given_up = {one: _given_up(state, one) for one in chosen}
    jobs = sorted(dead.union(*given_up.values()))
    known = state.dead.look(jobs)
    letters: list[DeadLetter] = []
    labels = _Labels(state, runs)
    for job in jobs:
        trouble = known.get(job, TroubledJob(job))
        waiting = {one for one in trouble.runs if job in dead and one in runs.infos}
        concerned = sorted({one for one, gone in given_up.items() if job in gone} | waiting)
        places: list[str | None] = [*concerned] if concerned else [None] if job in dead else []
        for one in places:
            if run is not None and one != run:
                continue
            given = given_up.get(one or "", {}).get(job)
            label = labels.of(one, job) if one and given is None else ""
            status = runs.infos[one].status if one else None
            letters.append(_letter(trouble, one, status, given, label, is_dead=job in dead))
    return sorted(letters, key=lambda one: (one.at or 0.0, one.run or "", one.label, one.job))


def meant(letters: Sequence[DeadLetter], references: Iterable[str]) -> list[DeadLetter]:
    """Give the letters of jobs, each named by its first digits; raises InputError."""
    found: dict[tuple[str, str | None], DeadLetter] = {}
    for reference in references:
        if len(reference) < _MIN_DIGITS:
            raise InputError(f"job {reference!r} is too short; give {_MIN_DIGITS} digits or more")
        matching = [one for one in letters if one.job.startswith(reference.lower())]
        jobs = sorted({one.job for one in matching})
        if not jobs:
            raise InputError(
                f"no dead job {reference!r} here; `skillopt dead list` names those there are"
            )
        if len(jobs) > 1:
            listed = ", ".join(job[:16] for job in jobs)
            raise InputError(f"job {reference!r} means several: {listed}; give more digits")
        found |= {(one.job, one.run): one for one in matching}
    return list(found.values())


def retry(
    state: State,
    runs: KnownRuns,
    letters: Sequence[DeadLetter],
    wait: Callable[[float], object],
    runs_dir: Path | None = None,
) -> list[Retried]:
    """Forget what went wrong with jobs, and let the runs that gave them up want them again.

    `runs_dir`: where the folders of runs live that this changes, as far as they are there.
    """
    state.dead.revive(sorted({one.job for one in letters}))
    done: list[Retried] = []
    for run in sorted({one.run for one in letters if one.run is not None}):
        info = runs.infos[run]
        jobs = len({one.job for one in letters if one.run == run})
        known = runs.get(run)
        outcome: Outcome | Literal["unknown_plan"] = "unknown_plan"
        if info.status in ENDED:
            outcome = "finished"
        elif known is not None:
            folder = _folder(runs_dir, run)
            outcome = ask(state, run, known.plan, TryAgain(), wait=wait, folder=folder)
        done.append(Retried(run=run, jobs=jobs, outcome=outcome, status=_status(state, run)))
    return done


def exclude(
    state: State,
    known: KnownRun,
    tasks: Sequence[str],
    wait: Callable[[float], object],
    runs_dir: Path | None = None,
) -> Retried:
    """Leave tasks out of both arms of every comparison from now on; raises InputError.

    `runs_dir`: where the run's folder lives, if it is there.
    """
    there = [item.id for split in SPLITS for item in known.plan.splits.of(split)]
    for task in tasks:
        if task not in there:
            raise InputError(
                f"run {known.run!r} has no task {task!r}; {did_you_mean(task, there, 'tasks')}"
            )
    request = LeaveOut(items=dict.fromkeys(tasks, WHY_EXCLUDED))
    folder = _folder(runs_dir, known.run)
    outcome = ask(state, known.run, known.plan, request, wait=wait, folder=folder)
    if outcome == "finished":
        raise InputError(
            f"run {known.run!r} is finished or cancelled: nothing is compared in it any more; "
            "start another with `skillopt run SPEC --new --leave-out TASK`"
        )
    return Retried(run=known.run, jobs=0, outcome=outcome, status=_status(state, known.run))


def _folder(runs_dir: Path | None, run: str) -> RunFolder | None:
    path = None if runs_dir is None else runs_dir / run
    return None if path is None or not (path / "plan.json").is_file() else RunFolder(path)


def _status(state: State, run: str) -> str:
    info = state.runs.info(run)
    return "unknown" if info is None else info.status


def _given_up(state: State, run: str) -> dict[str, _GivenUp]:
    """Read off a run's log which jobs it does without for now."""
    found: dict[str, _GivenUp] = {}
    for entry in state.runs.log(run):
        event = decode_event(entry.event)
        if isinstance(event, GaveUp):
            found |= {job: _GivenUp(text, entry.at) for job, text in event.jobs.items()}
        elif isinstance(event, Resumed):
            found = {}
    return found


class _Labels:
    """What jobs are to the runs that wait for them, as their next decision says."""

    def __init__(self, state: State, runs: KnownRuns) -> None:
        self._state = state
        self._runs = runs
        self._known: dict[str, dict[str, str]] = {}

    def of(self, run: str, job: str) -> str:
        if run not in self._known:
            self._known[run] = self._read(run)
        return self._known[run].get(job, "")

    def _read(self, run: str) -> dict[str, str]:
        known = self._runs.get(run)
        if known is None:
            return {}
        state = self._state
        facts = LedgerFacts(run, state.runs.ledger(run), state.results, state.blobs)
        try:
            decision = decide(self._runs.state_of(known), facts, known.factory)
        except ResultMissing:
            return {}  # its coordinator obtains it anew, and decides then
        return {job.id: job.label for job in decision.wanted}


def _letter(
    trouble: TroubledJob,
    run: str | None,
    status: str | None,
    given: _GivenUp | None,
    label: str,
    *,
    is_dead: bool,
) -> DeadLetter:
    reason, at = trouble.reason, trouble.died_at
    if given is not None:
        split = _GIVEN_UP.fullmatch(given.text)
        label = split["label"] if split else given.text
        reason = split["reason"] if split and not is_dead else reason
        at = given.at if at is None else at
    place = _LABEL.fullmatch(label)
    return DeadLetter(
        job=trouble.job,
        run=run,
        dead=is_dead,
        reason=reason or "unknown: the run gave it up",
        at=at,
        label=label,
        kind=_kind(trouble),
        stage=place[1] if place else label,
        task=place[2] if place else None,
        sample=int(place[3]) if place and place[3] != "judge" else None,
        claims=trouble.claims,
        quarantine_claims=trouble.quarantine_claims,
        rounds=trouble.rounds,
        worker=trouble.claimed_by.rpartition(":")[0],
        status=status,
    )


def _kind(trouble: TroubledJob) -> JobKind | None:
    if trouble.spec is None:
        return None
    try:
        return decode_spec(trouble.job, trouble.spec).kind
    except StateCorrupt:
        return None  # of another version: the rest is worth showing all the same
