"""What was done to a fleet, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from harness.faults import Injected
from harness.fleet import Fleet
from harness.verdict import Bills
from harness.work import Work
from harness.written import Written


@dataclass(frozen=True)
class Recovery:
    """How often a kind of fault came, and how long what it touched took to go on (s)."""

    kind: str
    count: int
    seconds: tuple[float, ...]

    @property
    def words(self) -> str:
        if not self.seconds:
            return "touched nothing"
        return f"{min(self.seconds):.1f} to {max(self.seconds):.1f} s"


@dataclass(frozen=True)
class Report:
    seed: int
    seconds: float
    problems: tuple[str, ...]
    faults: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    recovery: tuple[Recovery, ...] = ()
    executions: int = 0
    commits: int = 0
    #: Executions beyond one for each job, and how many the faults would have explained.
    repeated: int = 0
    explained: int = 0
    calls: int = 0
    repaid_calls: int = 0
    unconfirmed_calls: int = 0
    #: How often processes were started, beyond the first time.
    restarts: int = 0
    forced: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        return not self.problems

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    def text(self) -> str:
        lines = [
            f"seed {self.seed}: {'passed' if self.passed else 'FAILED'} in {self.seconds:.0f} s",
            f"  {len(self.faults)} faults, {len(self.missed)} found nothing to strike"
            + (f" ({', '.join(self.missed)})" if self.missed else ""),
            *(f"    {one.count} x {one.kind:<42} {one.words}" for one in self.recovery),
            f"  {self.executions} executions, {self.commits} commits; {self.repeated} repeated "
            f"(faults explain {self.explained})",
            f"  {self.calls} calls, {self.repaid_calls} paid again, "
            f"{self.unconfirmed_calls} unconfirmed; {self.restarts} processes started again",
        ]
        if self.forced:
            lines.append(f"  killed at the end, as they did not stop in time: {self.forced}")
        return "\n".join([*lines, *(f"  PROBLEM: {problem}" for problem in self.problems)])


def recovery_times(injected: Sequence[Injected], fleet: Fleet, work: Work) -> tuple[Recovery, ...]:
    """Measure, for each kind, the time until what its faults touched went on."""
    moments = Moments.read(fleet, work)
    kinds: dict[str, list[Injected]] = {}
    for one in injected:
        kinds.setdefault(one.fault.kind, []).append(one)
    return tuple(
        Recovery(
            kind,
            len(ones),
            tuple(
                round(seconds, 2)
                for one in ones
                if (seconds := moments.recovery_s(one)) is not None
            ),
        )
        for kind, ones in sorted(kinds.items())
    )


@dataclass(frozen=True)
class Moments:
    """When jobs were committed, and when runs wrote events (wall clock, s)."""

    commits: dict[str, float]
    events: dict[str, tuple[float, ...]]

    @classmethod
    def read(cls, fleet: Fleet, work: Work) -> Moments:
        commits = {}
        for key in fleet.server.state.scan_iter(match="so:res:*", count=1000):
            at = fleet.server.state.hget(key, "at")
            commits[str(key).rpartition(":")[2]] = int(str(at)) / 1000
        events = {
            run.id: tuple(entry.at for entry in fleet.state.runs.log(run.id)) for run in work.runs
        }
        return cls(commits, events)

    def recovery_s(self, one: Injected) -> float | None:
        """Give the time until every touched job is done, every touched run has gone on, or, if
        neither can be told, anything is committed; None if nothing was held up.
        """
        if one.jobs is not None:
            ends = [self.commits.get(job, 0.0) for job in one.jobs]
        elif one.runs is not None:
            ends = [_next(self.events[run], one.since) for run in one.runs]
        else:
            ends = [_next(self.commits.values(), one.since)]
        held_up = [at - one.since for at in ends if at > one.since]
        return max(held_up, default=None)


def _next(moments: Iterable[float], since: float) -> float:
    """Give the first moment after another; 0 if there is none."""
    return min((at for at in moments if at > since), default=0.0)


def summed(
    seed: int,
    seconds: float,
    problems: Sequence[str],
    *,
    injected: Sequence[Injected],
    missed: Sequence[str],
    recovery: tuple[Recovery, ...],
    written: Written,
    bills: Bills,
    restarts: int,
    forced: Sequence[str],
) -> Report:
    spends = bills.spends.values()
    return Report(
        seed=seed,
        seconds=round(seconds, 1),
        problems=tuple(problems),
        faults=tuple(str(one.fault.kind) for one in injected),
        missed=tuple(missed),
        recovery=recovery,
        executions=written.claims.total(),
        commits=written.commits.total(),
        repeated=written.needless,
        explained=sum(one.slots for one in injected),
        calls=bills.charged["calls"],
        repaid_calls=sum(spend.repaid_calls for spend in spends),
        unconfirmed_calls=sum(spend.unconfirmed.calls for spend in spends),
        restarts=restarts,
        forced=tuple(forced),
    )


def table(reports: Sequence[Report]) -> str:
    """Give one line for each seed, and how long each kind of fault took to recover from."""
    lines = ["seed  result  time  faults  executions  commits  repeated  explained  paid again"]
    lines += [
        f"{one.seed:4}  {'passed' if one.passed else 'FAILED'}  {one.seconds:3.0f}s  "
        f"{len(one.faults):6}  {one.executions:10}  {one.commits:7}  {one.repeated:8}  "
        f"{one.explained:9}  {one.repaid_calls:10}"
        for one in reports
    ]
    by_kind: dict[str, list[Recovery]] = {}
    for report in reports:
        for recovery in report.recovery:
            by_kind.setdefault(recovery.kind, []).append(recovery)
    lines.append("recovery from                                count  median      most")
    for kind, found in sorted(by_kind.items()):
        seconds = sorted(second for one in found for second in one.seconds)
        count = sum(one.count for one in found)
        middle = f"{median(seconds):6.1f} s  {seconds[-1]:6.1f} s" if seconds else "nothing held up"
        lines.append(f"  {kind:<42} {count:5}  {middle}")
    return "\n".join(lines)
