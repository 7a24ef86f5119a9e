"""Whether a target can be given the files of its tasks.

An agent opens files in a folder of its own. Every other target is shown texts and pictures in
its prompt, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from skillopt.config.origins import MAX_PROBLEMS_SHOWN, Origin, Problems
from skillopt.domain.agent import TAKEN_NAMES
from skillopt.domain.backend import AGENT_KINDS, Backend
from skillopt.domain.item import Item
from skillopt.domain.media import form_of
from skillopt.errors import TaskError

#: Of all texts that one prompt shows.
MAX_SHOWN_BYTES = 200_000


def check_attachments(items: Iterable[Item], target: Backend, where: Origin) -> None:
    """Refuse files that the target cannot be given; raises TaskError with all of them."""
    faults = _unusable_names if target.kind in AGENT_KINDS else _not_shown
    problems = Problems()
    for item in items:
        for fault in faults(item, target):
            problems.add(where, f"tasks: task {item.id!r}: {fault}")
    problems.raise_any(TaskError, at_most=MAX_PROBLEMS_SHOWN)


def _not_shown(item: Item, target: Backend) -> Iterator[str]:
    size = 0
    for one in item.prompt.attachments:
        form = form_of(one.media_type)
        if form == "file":
            yield (
                f"attachment {one.path!r} ({one.media_type}) is neither UTF-8 text nor a png, "
                f"jpeg, gif or webp picture, and backend {target.name!r} (kind {target.kind!r}) "
                "can be given nothing else; use an agent CLI backend as target, or put the text "
                "into context"
            )
        size += one.size if form == "text" else 0
    if size > MAX_SHOWN_BYTES:
        yield (
            f"its attachments hold {size} bytes of text, and a prompt for backend "
            f"{target.name!r} (kind {target.kind!r}) shows at most {MAX_SHOWN_BYTES}; shorten "
            "them, or use an agent CLI backend as target"
        )


def _unusable_names(item: Item, target: Backend) -> Iterator[str]:
    for one in item.prompt.attachments:
        if PurePosixPath(one.path).parts[0].casefold() in TAKEN_NAMES:
            yield (
                f"attachment {one.path!r} has a name that the working folder of backend "
                f"{target.name!r} (kind {target.kind!r}) uses itself; add "
                '{"path": …, "name": …} with another name'
            )
