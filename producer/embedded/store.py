"""The store: the folder that holds an embedded run's Redis data, its run folders and its lock."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import ConfigError


@dataclass(frozen=True)
class Store:
    """A usable store folder. `root` is absolute and free of symbolic links."""

    root: Path

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open or create a store; raises ConfigError if it is not a folder we can write to."""
        fix = "give another folder with --store"
        try:
            if path.exists() and not path.is_dir():
                raise ConfigError(f"store {str(path)!r} is not a folder: {fix}")
            store = cls(path.resolve())
            store.redis_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            store.runs_dir.mkdir(exist_ok=True)
            for folder in (store.root, store.redis_dir):
                with tempfile.NamedTemporaryFile(dir=folder, prefix=".writable-"):
                    pass
        except (OSError, RuntimeError) as error:  # RuntimeError: symbolic links in a circle
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                f"store {str(path)!r} cannot be written to ({reason}): {fix}"
            ) from error
        return store

    @property
    def key(self) -> str:
        """Tells the store from every other of this machine, the same in every command of a user."""
        named = f"{os.geteuid()}:{self.root}".encode(errors="surrogateescape")
        return hashlib.sha256(named).hexdigest()

    @property
    def redis_dir(self) -> Path:
        return self.root / "redis"

    @property
    def runs_dir(self) -> Path:
        return self.root / "runs"

    @property
    def logs_dir(self) -> Path:
        return self.root / "logs"

    @property
    def health_dir(self) -> Path:
        """Where the processes of a command say how they are."""
        return self.root / "health"

    @property
    def lock_path(self) -> Path:
        return self.root / "lock"
