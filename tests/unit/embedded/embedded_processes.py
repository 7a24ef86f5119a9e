"""Real processes for the tests of the guard and the supervisor."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

PYTHON = [sys.executable, "-I", "-S"]

#: Starts a grandchild that ignores SIGTERM, writes both process ids to the file, and sleeps.
TREE = """
import json, os, signal, subprocess, sys, time
file, detached = sys.argv[1], sys.argv[2] == "detached"
stubborn = "import signal, time; signal.signal(15, 1); print(flush=True); time.sleep(100)"
grandchild = subprocess.Popen(
    [sys.executable, "-I", "-S", "-c", stubborn], stdout=subprocess.PIPE, start_new_session=detached
)
grandchild.stdout.readline()
if sys.argv[3] == "ignore-term":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(file + ".part", "w") as out:
    json.dump([os.getpid(), grandchild.pid], out)
os.rename(file + ".part", file)
if sys.argv[3] == "leave":
    sys.exit(7)
time.sleep(100)
"""


def eventually(holds: Callable[[], bool], what: str, limit_s: float = 20.0) -> None:
    limit = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < limit, f"not within {limit_s} s: {what}"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


class Tree:
    """A command with a grandchild, and the file in which it tells their process ids."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "pids.json"

    def argv(self, *, detached: bool = False, then: str = "sleep") -> list[str]:
        mode = "detached" if detached else "attached"
        return [*PYTHON, "-c", TREE, str(self.file), mode, then]

    def pids(self) -> list[int]:
        eventually(self.file.exists, "the tree has started")
        return [int(pid) for pid in json.loads(self.file.read_text())]

    def is_gone(self) -> bool:
        return not any(is_running(pid) for pid in self.pids())
