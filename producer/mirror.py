"""Keeps a run's folder complete: its log, its results, and all that derives from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from producer.artifacts import moments_of, write_records
from producer.facts import LedgerFacts
from producer.folder.moments import Moments
from producer.kept_results import KeptResults
from producer.run_folder import RunFolder
from producer.stored_log import folded
from skillopt.domain.events import Gated, Proposed, Skipped, decode_event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.state.ports import LogEntry, State


class FolderMirror:
    """One run's folder, kept complete by whoever leads the run.

    The log is folded as it comes, and history and documents are looked through only when a
    candidate comes or is decided on: a long run pays for its past once a step, not at every event.
    """

    def __init__(self, folder: RunFolder, ports: State) -> None:
        self._folder = folder
        self._ports = ports
        self._moments: Moments | None = None

    def follow(self, entries: Sequence[LogEntry], state: RunState, facts: LedgerFacts) -> None:
        """Take new entries over, and write what they make due; the first time, all that is due."""
        is_first = self._moments is None
        if self._moments is None:
            self._moments = moments_of(self._folder, state.plan)
            self._folder.sweep()
        self._folder.mirror(entries)
        self._moments.follow(entries)
        if is_first or any(_is_about_a_candidate(entry) for entry in entries):
            self._folder.derive(state)
        write_records(self._folder, self._ports, state, facts, self._moments)
        self._moments.forget_past_steps()


def _is_about_a_candidate(entry: LogEntry) -> bool:
    return isinstance(decode_event(entry.event), Proposed | Skipped | Gated)


@dataclass(frozen=True)
class Completed:
    """A run as its state has it, of which the folder lacks nothing."""

    entries: list[LogEntry]
    state: RunState
    facts: LedgerFacts


def complete_folder(folder: RunFolder, ports: State, plan: RunPlan) -> Completed:
    """Write what a run's folder lacks; for whoever comes after the run's last coordinator."""
    run = plan.run_id
    entries = ports.runs.log(run)
    state = folded(plan, entries)
    facts = LedgerFacts(run, ports.runs.ledger(run), ports.results, ports.blobs)
    # First what was decided by, then the decision: a folder never has the one alone.
    KeptResults(folder.path, ports).keep(facts.lines, now=True)
    FolderMirror(folder, ports).follow(entries, state, facts)
    return Completed(entries, state, facts)
