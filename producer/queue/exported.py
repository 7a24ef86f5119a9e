"""A run's artifacts in a folder of whoever asks: copied, or made anew where no store has them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from producer.conclusion import conclude, summary_of
from producer.exporting import Exported, export_run
from producer.folder.durable import write_durably
from producer.kept_results import KeptResults
from producer.mirror import FolderMirror
from producer.queue.recorded import RecordedRun
from producer.run_folder import RunFolder
from producer.run_meta import told_in_folder
from skillopt.state.ports import State

#: Where a run's folder has the files that come with its tasks.
_ATTACHMENTS = "attachments"


def export_to(recorded: RecordedRun, ports: State, destination: Path, *, records: bool) -> Exported:
    """Write a run's artifacts to a new or empty folder. Raises InputError if it is neither."""
    folder = recorded.folder
    if folder is not None and folder.last_seq() == recorded.known.seq:
        # Calls that were under way at the end are settled after its coordinator summed it up.
        conclude(ports, recorded.known.plan, folder)
        return export_run(folder, destination, records=records)
    with tempfile.TemporaryDirectory(prefix="skillopt-export-") as draft:
        rebuilt = _rebuild(recorded, ports, Path(draft) / recorded.known.run)
        summary = summary_of(ports, recorded.known.plan, RunFolder(destination.resolve()))
        rebuilt.write_summary(summary)
        return export_run(rebuilt, destination, records=records)


def _rebuild(recorded: RecordedRun, ports: State, path: Path) -> RunFolder:
    """Derive a run's whole folder from the state, as its coordinator would."""
    known, folder = recorded.known, RunFolder(path)
    folder.create(known.plan, told_in_folder(known.info.meta))
    entries = ports.runs.log(known.run)[: known.seq]
    KeptResults(path, ports).keep(recorded.facts.lines, now=True)
    FolderMirror(folder, ports).follow(entries, known.state, recorded.facts)
    for sha, content in ports.blobs.get(list(known.plan.splits.attachments)).items():
        write_durably(path / _ATTACHMENTS / sha, content)
    return folder
