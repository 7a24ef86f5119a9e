"""A run that arrives as a zip archive: its spec with the files that this refers to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fastapi import Request

from producer.api.caller import Caller
from producer.api.failures import Refusal
from producer.api.uploaded_spec import check_uploaded
from producer.archives import ArchiveLimits, extract
from producer.queue.models import RunRow, Tags
from producer.queue.port import Queue
from skillopt.errors import InputError

MEDIA_TYPES: Final = frozenset({"application/zip", "application/x-zip-compressed"})
DEFAULT_SPEC: Final = "spec.yaml"
_LEFTOVER_S: Final = 86_400.0
LIMITS: Final = ArchiveLimits(files=5000, file_bytes=32 * 1024**2, total_bytes=256 * 1024**2)


async def receive_archive(request: Request, target: Path) -> None:
    """Write the body to a file as it comes; its size is bounded elsewhere."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in MEDIA_TYPES:
        raise Refusal(
            422,
            "bad_request",
            f"the body is {kind or 'of no kind'!r}; it must be a zip archive",
            fix="send Content-Type: application/zip",
        )
    with target.open("wb") as file:
        async for chunk in request.stream():
            file.write(chunk)


@contextmanager
def work_folder(below: Path, purpose: str) -> Iterator[Path]:
    """Give a private folder that is gone afterwards."""
    below.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=below.resolve()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(folder: Path, *, older_than_s: float = _LEFTOVER_S) -> None:
    """Remove what a server that was killed left; another one may be at work in the same folder."""
    oldest = datetime.now(UTC).timestamp() - older_than_s
    for left in folder.iterdir():
        if left.is_dir() and left.lstat().st_mtime < oldest:
            shutil.rmtree(left, ignore_errors=True)


def submit_archive(
    archive: Path,
    folder: Path,
    *,
    queue: Queue,
    caller: Caller,
    spec: str,
    tags: Tags,
    overrides: Sequence[str],
) -> RunRow:
    """Unpack an archive below `folder` and submit its spec; raises InputError.

    Messages name the archive's files as their sender knows them, not where they lie here.
    """
    root = folder / "files"
    root.mkdir()
    try:
        names = {path.as_posix() for path in extract(archive, root, LIMITS)}
        if spec not in names:
            listed = ", ".join(sorted(names)[:8]) or "nothing"
            raise InputError(
                f"the archive has no file {spec!r}; it has {listed}. Put the spec at its top as "
                f"{DEFAULT_SPEC}, or name it with ?spec="
            )
        check_uploaded(root, root / spec, overrides, caller)
        return queue.submit(root / spec, tags, overrides=overrides)
    except InputError as error:
        error.args = (str(error).replace(f"{root}/", "").replace(str(root), "."),)
        raise
