"""What `producer.optimize` gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from producer.run_folder import RunFolder
from producer.session import Ended
from producer.summary import Document, InitialDocument, Summary
from skillopt.domain.events import Event, decode_event
from skillopt.errors import SkillOptError


class RunPaused(SkillOptError):
    """The run paused before its end; the same call continues it."""

    code = "paused"


@dataclass(frozen=True)
class RunResult:
    """A run that finished, or that paused or was cancelled and goes on with the same call.

    `skill` and `memory` are the best texts so far; scores that were not measured are None.
    """

    state: Literal["finished", "paused", "cancelled"]
    #: Why it finished, paused or was cancelled, in words.
    reason: str
    skill: str
    memory: str | None
    initial: InitialDocument
    best: Document
    final: Document
    #: Calls, tokens, money and warnings besides.
    summary: Summary
    #: The run's whole log, in order.
    events: tuple[Event, ...]
    run_dir: Path

    @classmethod
    def of(cls, ended: Ended, folder: RunFolder) -> RunResult:
        """Sum up a run that ended, with its folder where it is now."""
        state, run_dir = ended.state, folder.path.resolve()
        summary = ended.summary.model_copy(update={"run_dir": str(run_dir)})
        best = state.texts[state.best]
        return cls(
            state="finished" if state.finished else "cancelled" if state.cancelled else "paused",
            reason=summary.reason,
            skill=best.skill,
            memory=best.memory,
            initial=summary.initial,
            best=summary.best,
            final=summary.final,
            summary=summary,
            events=events_in(folder),
            run_dir=run_dir,
        )

    @property
    def accepted(self) -> bool:
        """Whether anything better than the initial documents was found."""
        return self.best.hash != self.initial.hash

    def raise_if_paused(self) -> RunResult:
        """Give the result itself if the run finished; raises RunPaused, saying why, if not."""
        if self.state == "paused":
            raise RunPaused(f"run {self.summary.run!r} paused: {self.reason}")
        if self.state == "cancelled":
            raise RunPaused(f"run {self.summary.run!r} was cancelled: {self.reason}")
        return self


def events_in(folder: RunFolder) -> tuple[Event, ...]:
    return tuple(decode_event(entry.event) for entry in folder.read_entries())
