"""Removing results: which ones are meant, and what became of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from producer.caching.entries import Result, Tell, decoded, every_result
from producer.known_runs import KnownRuns
from skillopt.errors import InputError
from skillopt.state.ports import MAX_JOBS_PER_CALL, State

_UNITS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_MIN_FINGERPRINT = 8


@dataclass(frozen=True)
class Selection:
    """Which results are meant: those for which all that is given holds; nothing given is all."""

    skills: Collection[str] | None = None
    fingerprints: Collection[str] | None = None
    older_than_s: float | None = None

    def matches(self, result: Result, now: float) -> bool:
        entry = result.entry
        if self.skills is not None and entry.skill not in self.skills:
            return False
        if self.fingerprints is not None:
            backend = result.spec.backend if result.spec else None
            if backend not in self.fingerprints:
                return False
        if self.older_than_s is not None:
            return entry.made_at is not None and now - entry.made_at > self.older_than_s
        return True


class Matching(BaseModel):
    """The results that are meant, and what making them again would take."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: The run that paid, by job.
    payers: dict[str, str]
    bytes: int
    calls: int
    cost_micro_usd: int


class Cleared(BaseModel):
    """`kept`: an unfinished run goes by them, or has paid for them and is yet to see them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    removed: int
    kept: int


def age_in_seconds(text: str, option: str = "--older-than") -> float:
    """Read an age such as 30m, 12h, 7d or 2w; raises InputError, which names the option."""
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        raise InputError(f"{option} {text!r} is not an age; write e.g. 12h, 7d or 2w")
    return float(match[1]) * _UNITS[match[2]]


def fingerprints_of(name: str, state: State, runs: KnownRuns) -> list[str]:
    """Give every fingerprint that a backend's name has stood for: in runs, or at workers.

    A fingerprint, or its beginning, stands for itself. Raises InputError if there is none.
    """
    pairs = [(info.backend, info.fingerprint) for info in state.fleet.workers()]
    for run in runs.among(runs.infos):
        pairs += [(backend, fingerprint) for fingerprint, backend in run.backends.items()]
    found = {print_ for backend, print_ in pairs if backend == name}
    if not found and len(name) >= _MIN_FINGERPRINT:
        found = {print_ for _, print_ in pairs if print_.startswith(name)}
    if not found:
        known = ", ".join(sorted({backend for backend, _ in pairs})) or "none"
        raise InputError(f"--backend {name!r}: no run or worker here has used it; used: {known}")
    return sorted(found)


def matching(state: State, selection: Selection, tell: Tell) -> Matching:
    now = state.server.now()
    found: Iterable[Result] = every_result(state, tell)
    if selection.skills is not None:  # their index spares the walk through everything
        jobs = [job for skill in selection.skills for job in state.results.of_skill(skill)]
        found = filter(None, map(decoded, state.cache.peek(jobs).values()))
    chosen = [result for result in found if selection.matches(result, now)]
    return Matching(
        payers={result.job: result.line.payer for result in chosen},
        bytes=sum(result.entry.size for result in chosen),
        calls=sum(result.receipt.calls for result in chosen),
        cost_micro_usd=sum(result.receipt.cost_micro_usd for result in chosen),
    )


def clear(state: State, matching: Matching, runs: KnownRuns, tell: Tell) -> Cleared:
    """Remove results, batch by batch, but for those that an unfinished run paid for or goes by.

    Texts and conversations stay until their own time is up: other results may share them.
    """
    spare = runs.unfinished
    unfinished = set(spare)
    jobs = [job for job, payer in matching.payers.items() if payer not in unfinished]
    removed, kept = 0, len(matching.payers) - len(jobs)
    for start in range(0, len(jobs), MAX_JOBS_PER_CALL):
        removal = state.cache.remove(jobs[start : start + MAX_JOBS_PER_CALL], spare=spare)
        removed, kept = removed + len(removal.removed), kept + len(removal.kept)
        tell(removed + kept)
    return Cleared(removed=removed, kept=kept)
