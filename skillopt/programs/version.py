"""Asking an agent program for its version: where a spec is loaded, and where a worker starts."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from skillopt.errors import ConfigError
from skillopt.guarded import GuardedProcess, GuardTerms, exit_in_words
from skillopt.programs.environment import base_environment
from skillopt.programs.folder import default_folder, open_folder

#: A version as programs print and people pin it.
VERSION = re.compile(r"\d+(?:\.\d+){1,3}(?:[-+][0-9A-Za-z]+(?:[.-][0-9A-Za-z]+)*)?")
_DEADLINE_S = 60.0
_SHOWN = 200


def find_program(command: str, environ: Mapping[str, str]) -> None:
    """Raise ConfigError unless the command can be started from this environment."""
    if shutil.which(command, path=environ.get("PATH")) is None:
        raise ConfigError(
            f"the program {command!r} is not found here; install it, or give its path as executable"
        )


def ask_version(command: str, environ: Mapping[str, str], folder: Path | None = None) -> str:
    """Give the number that `command --version` prints.

    The program gets a home of its own and nothing of the caller's environment that identifies
    anyone. Raises ConfigError if it is not there, does not end, or prints no version.
    """
    find_program(command, environ)
    cache = open_folder(folder or default_folder())
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile() as printed:
        own = {"HOME": home, "TMPDIR": home, "XDG_CACHE_HOME": str(cache)}
        process = GuardedProcess.start(
            [command, "--version"],
            env={**base_environment(environ), **own},
            cwd=Path(home),
            stdout=printed,
            stderr=printed,
            terms=GuardTerms(grace_s=1.0, deadline_s=_DEADLINE_S),
        )
        code = process.wait()
        printed.seek(0)
        said = printed.read(1 << 16).decode("utf-8", "replace")
    found = VERSION.search(_without_paths(said))
    if code != 0 or found is None:
        why = exit_in_words(code) if code else "it prints no version"
        raise ConfigError(
            f"`{command} --version` does not tell a version ({why}): "
            f"{' '.join(said.split())[-_SHOWN:]!r}; install the program anew, or give another as "
            "executable"
        )
    return found.group()


def _without_paths(said: str) -> str:
    """Leave out words with a slash: a warning may name a file with a number in it."""
    return " ".join(word for word in said.split() if "/" not in word)
