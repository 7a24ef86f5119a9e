"""Mirrors a run's log into its folder and derives every artifact from it."""

from __future__ import annotations

from collections.abc import Sequence

from producer.artifacts import write_records
from producer.facts import LedgerFacts
from producer.run_folder import RunFolder
from skillopt.domain.run import RunState
from skillopt.state.ports import LogEntry, State


class FolderMirror:
    """One run's folder, kept complete by whoever leads the run."""

    def __init__(self, folder: RunFolder, ports: State) -> None:
        self._folder = folder
        self._ports = ports

    def follow(self, entries: Sequence[LogEntry], state: RunState, facts: LedgerFacts) -> None:
        self._folder.mirror(entries)
        self._folder.derive(state)
        write_records(self._folder, self._ports, state, facts)
