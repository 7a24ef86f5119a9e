"""Dead letters, for people: what could not be run, why, and what can be done about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.dead import DeadLetter, Retried
from producer.view import numbers
from producer.view.printable import one_line, safe

#: Digits of a job's id that are shown, enough to name it.
_DIGITS = 12
_KINDS = {"rollout": "attempt", "judge": "judgement", "optimize": "optimizer call", None: "job"}
_OUTCOMES = {
    "coordinator": "its coordinator has taken it up",
    "waiting": "its coordinator has not answered yet; it will take it up when it is back",
    "finished": "it has ended: only later runs will want the jobs again",
    "unknown_plan": "its plan is not stored any more: give its command again",
}


def list_page(letters: Sequence[DeadLetter]) -> list[RenderableType]:
    """Give one row for each job and run."""
    if not letters:
        return [Text("No dead job, and no unfinished run has given one up.")]
    table = Table(box=None, pad_edge=False)
    for name in ("job", "state", "run", "what", "since", "claims", "last worker", "reason"):
        table.add_column(name, overflow="fold", ratio=1 if name == "reason" else None)
    for one in letters:
        table.add_row(
            one.job[:_DIGITS],
            _state(one),
            safe(one.run or numbers.UNKNOWN),
            safe(place(one)),
            moment(one.at),
            str(one.claims + one.quarantine_claims),
            safe(one.worker or numbers.UNKNOWN),
            safe(one_line(one.reason)),
        )
    hint = "`skillopt dead retry JOB…|--run RUN|--all` tries them again; `dead show JOB` says more."
    return [table, Text(), safe(hint, "dim")]


def show_page(letters: Sequence[DeadLetter]) -> list[RenderableType]:
    """Tell all that is known of one job, in each run that has no result of it."""
    parts: list[RenderableType] = [safe(f"job {letters[0].job}", "bold")]
    for one in letters:
        parts += [Text(), *(safe(line) for line in _lines(one))]
    return parts


def retried_page(done: Sequence[Retried], jobs: int) -> list[RenderableType]:
    """Say what will become of jobs that are tried again, run by run."""
    title = f"{numbers.plural(jobs, 'job')} will be sent anew."
    return [safe(title, "bold"), *(safe(_outcome(one)) for one in done)]


def excluded_page(done: Retried, tasks: Sequence[str]) -> list[RenderableType]:
    named = ", ".join(repr(task) for task in tasks)
    title = f"Run {done.run}: {named} left out of both arms from now on."
    note = "Coverage figures still count what is left out."
    return [safe(title, "bold"), safe(_outcome(done)), safe(note, "dim")]


def place(letter: DeadLetter) -> str:
    """Say in words what a job was for: "step 3, gate, task 'bm-004', sample 0"."""
    stage = ", ".join(letter.stage.split(" / "))
    if letter.task is None:
        return stage or _KINDS[letter.kind]
    sample = "judgement" if letter.sample is None else f"sample {letter.sample}"
    return f"{stage}, task {letter.task!r}, {sample}"


def moment(at: float | None) -> str:
    if at is None:
        return numbers.UNKNOWN
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _state(letter: DeadLetter) -> str:
    return "dead" if letter.dead else "given up"


def _lines(letter: DeadLetter) -> Iterator[str]:
    yield f"  {_KINDS[letter.kind]}: {place(letter)}"
    yield f"  {_state(letter)} since {moment(letter.at)}: {letter.reason}"
    yield (
        f"  claims lost: {letter.claims}, in quarantine: {letter.quarantine_claims}; given back "
        f"{numbers.plural(letter.rounds, 'time')}"
    )
    yield f"  last worker: {letter.worker or 'not known'}"
    if letter.run is None:
        yield "  no run that is stored waits for it"
        return
    yield f"  run {letter.run}, {letter.status}"
    yield f"  once the cause is gone:  skillopt dead retry {letter.job[:_DIGITS]}"
    if letter.task is not None and letter.status != "finished":
        task = shlex.quote(letter.task)
        yield f"  or without this task:    skillopt dead exclude {letter.run} --task {task}"


def _outcome(done: Retried) -> str:
    words = _OUTCOMES.get(done.outcome)
    if words is None:
        words = (
            "a coordinator takes it up now; if none runs, the command that started it does"
            if done.status == "running"
            else f"it stays {done.status}; the command that started it says why and continues it"
        )
    return f"  run {done.run}: {words}"
