"""Where the folder of a restored run lives: in the runs of a store."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from producer.folder.durable import sync_folder
from producer.run_folder import RunFolder
from skillopt.errors import InputError

RUNS = "runs"


def store_for(folder: Path, named: Path | None) -> Path:
    """Give the store a run is put back into: the named one, else the one its folder lies in."""
    if named is not None:
        return named
    parent = folder.resolve().parent
    if parent.name != RUNS:
        raise InputError(
            f"{str(folder)!r} does not lie in a store (STORE/runs/RUN); name one with --store DIR"
        )
    return parent.parent


def placed(source: RunFolder, store: Path, run: str) -> RunFolder:
    """Give the run's folder in a store, copied there whole if it lies elsewhere.

    Raises InputError if the store has one of its own: which of the two is meant must be said.
    """
    home = (store / RUNS / run).resolve()
    if home == source.path.resolve():
        return source
    if home.exists():
        raise InputError(
            f"store {str(store)!r} has a folder of run {run!r} already; restore that one "
            f"({str(home)!r}), or move it away"
        )
    home.parent.mkdir(parents=True, exist_ok=True)
    draft = home.with_name(f".{home.name}.{secrets.token_hex(6)}.tmp")
    try:
        shutil.copytree(source.path, draft)
        draft.replace(home)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(home.parent)
    return RunFolder(home)
