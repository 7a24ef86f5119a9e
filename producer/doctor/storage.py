"""The store: whether a run could write to it, whether there is room, who is using it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from producer.doctor.check import Check, failed, ok, warning
from producer.embedded.lock import holder_of
from producer.embedded.store import Store

_GB = 1_000_000_000
#: A run of some thousand rollouts takes a few hundred megabytes.
_LITTLE_ROOM = 1 * _GB
_NO_ROOM = _GB // 10
_ELSEWHERE = "give another folder with --store"


def storage_checks(path: Path) -> Iterator[Check]:
    """Look at the store, or at where it would be made; none is made."""
    here = _nearest(path)
    yield _writable(path, here)
    yield _room(here)
    if path.is_dir():
        yield _use(path)


def _nearest(path: Path) -> Path:
    """The store, or the nearest folder above it that exists."""
    place = path.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    return place


def _writable(path: Path, here: Path) -> Check:
    name, shown = "store", str(path)
    if not here.is_dir():
        return failed(name, f"{str(here)!r} is not a folder", _ELSEWHERE)
    if not path.exists():
        if os.access(here, os.W_OK | os.X_OK):
            return ok(name, shown, "not there yet: the first run makes it")
        return failed(name, f"{str(here)!r} cannot be written to", _ELSEWHERE)
    try:
        with tempfile.NamedTemporaryFile(dir=path, prefix=".writable-"):
            pass
    except OSError as error:
        return failed(name, f"{shown!r} cannot be written to ({error.strerror})", _ELSEWHERE)
    return ok(name, shown)


def _room(here: Path) -> Check:
    name = "disk space"
    try:
        free = shutil.disk_usage(here).free
    except OSError as error:
        return warning(name, f"unknown ({error.strerror})", _ELSEWHERE)
    value = f"{free / _GB:,.1f} GB free"
    if free < _NO_ROOM:
        return failed(name, value, f"make room, or {_ELSEWHERE}")
    if free < _LITTLE_ROOM:
        return warning(name, value, f"make room, or {_ELSEWHERE}")
    return ok(name, value)


def _use(path: Path) -> Check:
    holder = holder_of(Store(path.resolve()))
    if holder is None:
        return ok("store in use", "no")
    since = holder.started.isoformat()
    return ok(
        "store in use",
        f"by {holder.command!r} (process {holder.pid} on {holder.host}) since {since}",
        "another run in this store has to wait for it",
    )
