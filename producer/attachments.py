"""The files that come with a run's tasks: copies in the run's folder, and blobs for the workers.

Copies, never links: a file that its owner changes later must not change the run.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from producer.folder.durable import write_durably
from skillopt.domain.fingerprint import sha256_hex
from skillopt.errors import InputError
from skillopt.state.ports import Blobs

log = logging.getLogger(__name__)

#: Below a run's folder.
FOLDER = "attachments"
#: Bytes stored in one go: bounds what a call keeps in memory.
_BATCH_BYTES = 8_000_000


def store_attachments(blobs: Blobs, sources: Mapping[str, Path]) -> None:
    """Store files for the workers, of a run whose folder is on another machine.

    Raises InputError if one changed since its hash was taken.
    """
    there = blobs.renew(list(sources)) if sources else set()
    for sha256, source in sources.items():
        if sha256 not in there:
            blobs.put([_content(sha256, source)])


class KeptAttachments:
    """The attachments of one run, each in a file named by its hash."""

    def __init__(self, run_folder: Path, blobs: Blobs) -> None:
        self._folder = run_folder / FOLDER
        self._blobs = blobs

    def keep(self, sources: Mapping[str, Path]) -> None:
        """Copy the files into the run's folder, durably; those that are there stay.

        Raises InputError if one changed since its hash was taken.
        """
        for sha256, source in sources.items():
            if self._read(sha256) is not None:
                continue
            write_durably(self._folder / sha256, _content(sha256, source))

    def fetch(self, hashes: Collection[str]) -> None:
        """Copy those that the run's folder lacks out of the blobs, durably, as far as they last."""
        for sha256 in hashes:
            if (self._folder / sha256).is_file():
                continue
            content = self._blobs.get([sha256]).get(sha256)  # one by one: they may be large
            if content is not None:
                write_durably(self._folder / sha256, content)

    def ensure(self, hashes: Collection[str], *, verify: bool = False) -> None:
        """See to it that workers find these attachments, for another while.

        `verify`: look at their bytes too, for one that is damaged counts as missing.
        """
        there = self._sound(hashes) if verify else self._blobs.renew(list(hashes))
        batch: list[bytes] = []
        for sha256 in hashes:
            if sha256 in there:
                continue
            content = self._read(sha256)
            if content is None:
                # A worker gives its job back and says so; the run pauses if nobody helps.
                log.warning(
                    "attachment %s is neither stored nor in %s",
                    sha256,
                    self._folder,
                    extra={"event": "attachment_lost"},
                )
                continue
            batch.append(content)
            if sum(map(len, batch)) >= _BATCH_BYTES:
                self._blobs.put(batch)
                batch = []
        if batch:
            self._blobs.put(batch)

    def _sound(self, hashes: Iterable[str]) -> set[str]:
        """One by one: together they may be large."""
        return {sha256 for sha256 in hashes if self._blobs.get([sha256])}

    def _read(self, sha256: str) -> bytes | None:
        """Give the copy; None if there is none, or one that is damaged."""
        try:
            content = (self._folder / sha256).read_bytes()
        except FileNotFoundError:
            return None
        return content if sha256_hex(content) == sha256 else None


def _content(sha256: str, source: Path) -> bytes:
    try:
        content = source.read_bytes()
    except OSError as error:
        raise InputError(
            f"attachment {str(source)!r} cannot be read any more: {error.strerror}; put it back "
            "and give the command again"
        ) from error
    if sha256_hex(content) != sha256:
        raise InputError(
            f"attachment {str(source)!r} was changed a moment ago; give the command again"
        )
    return content
