"""A task's files in the words and pictures of a chat: for targets that cannot open a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from skillopt.domain.item import Attachment
from skillopt.domain.media import form_of
from skillopt.domain.messages import Image
from skillopt.errors import StateCorrupt

_BACKTICKS = re.compile(r"`+")
_SHORTEST_FENCE = 3


def shown_texts(attachments: Sequence[Attachment], files: Mapping[str, bytes]) -> str:
    """Write the files below a task: texts in full, pictures by name; "" without files."""
    if not attachments:
        return ""
    return "\n\n".join(["## Attachments", *_parts(attachments, files)])


def shown_images(
    attachments: Sequence[Attachment], files: Mapping[str, bytes]
) -> tuple[Image, ...]:
    """Give the pictures, in the order in which `shown_texts` names them."""
    return tuple(
        Image(media_type=one.media_type, sha256=one.sha256, data=files[one.path])
        for one in attachments
        if form_of(one.media_type) == "image"
    )


def _parts(attachments: Sequence[Attachment], files: Mapping[str, bytes]) -> Iterator[str]:
    pictures = 0
    for one in attachments:
        form = form_of(one.media_type)
        if form == "file":
            raise StateCorrupt(
                f"attachment {one.path!r} of type {one.media_type!r} is neither a text nor a "
                "picture; a run with it needs an agent as target"
            )
        if form == "text":
            yield f"### {one.path}\n\n{_fenced(files[one.path].decode('utf-8-sig'))}"
        else:
            pictures += 1
            yield f"### {one.path}\n\nPicture {pictures} of this message."


def _fenced(text: str) -> str:
    """Set a text apart by a fence that does not occur in it."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"
