"""The run that a new one of the same name is compared with."""

from __future__ import annotations

from pathlib import Path

from producer.run_folder import RunFolder
from skillopt.config.load import LoadedSpec


def latest_other(store: Path, loaded: LoadedSpec) -> RunFolder | None:
    """Give the newest run of the same name that differs in something that matters."""
    runs = store / "runs"
    if not runs.is_dir():
        return None
    folders = [
        RunFolder(path)
        for path in runs.iterdir()
        if path.name.startswith(f"{loaded.plan.name}-") and (path / "events.jsonl").exists()
    ]
    others = [
        folder
        for folder in folders
        if folder.path.name != loaded.plan.run_id
        and folder.read_plan().name == loaded.plan.name
        and folder.read_plan().mode == loaded.plan.mode
    ]
    return max(others, key=lambda f: (f.path / "events.jsonl").stat().st_mtime_ns, default=None)
