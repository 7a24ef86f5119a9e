"""A task that kills the worker that takes it, for as long as a file says so."""

from __future__ import annotations

import os
from pathlib import Path

#: Python runs this at its start in every child of a command; workers alone are changed.
_CUSTOMIZE = """
import os
import signal
import sys

if "workers" in sys.orig_argv:
    from skillopt.envs import tasks

    whole = tasks.attempt

    def attempt(chat, prompt, *rest):
        if {words!r} in prompt.model_dump_json() and os.path.exists({cause!r}):
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(chat, prompt, *rest)

    tasks.attempt = attempt
"""


class Poison:
    """While `cause` exists, every worker that attempts a task with these words is killed."""

    def __init__(self, folder: Path, words: str) -> None:
        self.cause = folder / "poisonous"
        self.cause.touch()
        modules = folder / "modules"
        modules.mkdir()
        text = _CUSTOMIZE.format(words=words, cause=str(self.cause))
        (modules / "sitecustomize.py").write_text(text)
        paths = [str(modules), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = {"PYTHONPATH": os.pathsep.join(paths)}

    def cure(self) -> None:
        self.cause.unlink()
