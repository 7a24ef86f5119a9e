"""The files that come with a task."""

from __future__ import annotations

from skillopt.domain.item import TaskPrompt
from skillopt.errors import StateCorrupt
from workers.container import Container


def load_attachments(container: Container, prompt: TaskPrompt) -> dict[str, bytes]:
    """Read the files of a task, by path, in the order of the task.

    A missing one raises StateCorrupt, which gives the job back; the coordinator stores it anew.
    """
    wanted = list(dict.fromkeys(one.sha256 for one in prompt.attachments))
    try:
        found = container.inputs.load(wanted) if wanted else {}
    except StateCorrupt as error:
        named = ", ".join(repr(one.path) for one in prompt.attachments)
        raise StateCorrupt(
            f"{error}: it is one of the attachments {named}; if the run's own copy is lost too, "
            "start the run again from its task files"
        ) from error
    return {one.path: found[one.sha256] for one in prompt.attachments}
