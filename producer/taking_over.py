"""What a coordinator does first with a run it takes: folder and state must tell the same."""

from __future__ import annotations

import logging

from producer.attachments import KeptAttachments
from producer.restoring import restore_end
from producer.run_folder import RunFolder
from producer.run_meta import told_in_folder
from producer.stored_plan import plan_for
from skillopt.state.ports import Lead, State

log = logging.getLogger(__name__)


def take_over(lead: Lead, state: State, folder: RunFolder) -> None:
    """Prepare a run for being driven, whoever drove it and wherever its folder was.

    A plan that has lapsed is stored anew from the folder; a folder that is not in this
    coordinator's store is laid out there; the end of the log that a crash of Redis has cost is put
    back from the folder. What else the folder lacks is written by whoever drives the run.

    Raises StateCorrupt if plan or log cannot be had, or are not those of this run.
    """
    plan = plan_for(lead, state, folder.read_plan)
    if not (folder.path / "plan.json").is_file():
        info = state.runs.info(lead.run)
        meta = {} if info is None else info.meta
        folder.create(plan, told_in_folder(meta))
        log.warning("folder laid out anew", extra={"event": "folder_created", "run": lead.run})
    KeptAttachments(folder.path, state.blobs).fetch(plan.splits.attachments)
    if restore_end(state, lead, folder):
        log.warning("end of the log put back", extra={"event": "log_restored", "run": lead.run})
