"""What the board's answers to a round of wants mean for a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from producer.facts import LedgerFacts
from skillopt.domain.events import Event
from skillopt.domain.steering_events import GaveUp, Paused
from skillopt.domain.timing import Timing
from skillopt.domain.view import ShareView
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import WantAnswer, WantStatus

#: Reasons that no later call to the backend can mend: the run pauses at once and names them.
FATAL_CODES = frozenset({"auth", "unknown_model", "refused"})

#: Reasons that no later try of the job can mend, such as a prompt that is too long, or a judge
#: that raises: the same command tries them anew.
JOB_CODES = frozenset({"bad_request", "judge_failed"})

#: A worker of another version refused the job: the run waits for one that fits.
INCOMPATIBLE = "incompatible"

#: Reasons whose words name the backend, or whoever pays, themselves: those of our own limits, and
#: of workers of the wrong version.
NAMED_CODES = frozenset({"budget_held", "throttled", "endpoint_down", INCOMPATIBLE})


@dataclass
class Progress:
    """What the last round of wants found."""

    in_flight: int = 0
    hits: int = 0
    next_delay_s: float | None = None
    reasons: tuple[str, ...] = ()
    quarantine: tuple[str, ...] = ()
    shares: tuple[ShareView, ...] = ()


def is_hopeless(answer: WantAnswer, timing: Timing) -> bool:
    """Whether a job was given back for a reason, or so often, that it is not sent again."""
    given_back = answer.status is WantStatus.HELD
    often = answer.rounds >= timing.max_infra_rounds
    return given_back and (often or _code(answer) in FATAL_CODES | JOB_CODES)


def absorb(
    backend: str,
    jobs: Sequence[WantedJob],
    answers: Sequence[WantAnswer],
    *,
    facts: LedgerFacts,
    progress: Progress,
    timing: Timing,
) -> list[Event]:
    """Take over results and progress; gives the events of jobs that cannot be run for now."""
    given_up: dict[str, str] = {}
    fatal = ""
    held: list[WantAnswer] = []
    for job, answer in zip(jobs, answers, strict=True):
        if answer.status is WantStatus.HIT and answer.line is not None:
            facts.add(job.id, answer.line)
            progress.hits += 1
        elif answer.status is WantStatus.DEAD or is_hopeless(answer, timing):
            given_up[job.id] = f"{job.label}: {answer.reason}"
            if answer.status is WantStatus.HELD and _code(answer) in FATAL_CODES:
                fatal = fatal or f"backend {backend!r}: {answer.reason}"
        elif answer.status is WantStatus.HELD:
            held.append(answer)
        elif answer.status is not WantStatus.LATER:
            progress.in_flight += 1
    if any(answer.lane == "quarantine" for answer in answers):
        progress.quarantine += (backend,)
    if held:
        soonest = min(answer.delay_s for answer in held)
        progress.next_delay_s = min(soonest, progress.next_delay_s or soonest)
        # What a person must mend is told first; the rest ends by itself.
        shown = next((answer for answer in held if _code(answer) == INCOMPATIBLE), held[0])
        progress.reasons += (_why_held(backend, shown),)
    events: list[Event] = [GaveUp(jobs=given_up)] if given_up else []
    if fatal:
        events.append(Paused(why="infrastructure", detail=fatal))
    return events


def _why_held(backend: str, answer: WantAnswer) -> str:
    if _code(answer) in NAMED_CODES:
        return answer.reason.partition(": ")[2]
    return f"backend {backend!r}: {answer.reason}"


def _code(answer: WantAnswer) -> str:
    return answer.reason.split(":")[0]
