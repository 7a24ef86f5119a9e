"""Writing files so that a reader never sees half of one, also after a crash."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

DRAFT_SUFFIX = ".tmp"
_DRAFT = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


def write_durably(path: Path, content: bytes) -> bool:
    """Give a file this content; False if it had it already.

    The content is complete on disk before the name points to it, so a crash leaves either the
    old file or the new one.
    """
    if _holds(path, content):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}{DRAFT_SUFFIX}")
    try:
        with draft.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return True


def sweep_drafts(folder: Path) -> None:
    """Remove what killed writers left half written in a folder; nobody may be writing there."""
    for draft in folder.glob(f".*{DRAFT_SUFFIX}"):
        if _DRAFT.fullmatch(draft.name):
            draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False
