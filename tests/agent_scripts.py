"""Programs that stand in for Claude Code, Codex and Copilot in whole runs.

Each prints what the real one would. Its answer is what it was told, the files it found, and what
the task's tools gave; it hangs, with a process of its own, while a file says so.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

VERSION = "9.8.7"

_SCRIPT = """#!{python}
import json, os, pathlib, subprocess, sys, time
name, hang = {name!r}, pathlib.Path({hang!r})
if "--version" in sys.argv:
    print(f"{{name}} {version}")
    sys.exit(0)
told = sys.stdin.read()
if "--system-prompt-file" in sys.argv:
    told = pathlib.Path(sys.argv[sys.argv.index("--system-prompt-file") + 1]).read_text() + told
if hang.exists():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pids = hang.with_name(f"pids-{{os.getpid()}}")
    pids.with_suffix(".new").write_text(json.dumps([os.getpid(), os.getppid(), child.pid]))
    pids.with_suffix(".new").rename(pids)
    time.sleep(600)
found = []
for path in sorted(pathlib.Path(".").rglob("*")):
    if path.is_file():
        runs = " can run" if os.access(path, os.X_OK) else ""
        found.append(f"{{path}}{{runs}}")
tools = sorted(pathlib.Path("tools").iterdir()) if pathlib.Path("tools").is_dir() else []
gave = [subprocess.run([t.resolve(), "x"], capture_output=True, text=True).stdout for t in tools]
answer = "\\n".join(["TOLD", told, "FOUND", *found, "GAVE", *gave])
events = json.loads({events!r})
def fill(value):
    if isinstance(value, dict):
        return {{key: fill(part) for key, part in value.items()}}
    return [fill(part) for part in value] if isinstance(value, list) else (
        answer if value == "ANSWER" else value)
for event in events:
    print(json.dumps(fill(event)), flush=True)
"""

_EVENTS: dict[str, list[dict[str, Any]]] = {
    "claude": [
        {
            "type": "assistant",
            "message": {
                "content": [
                    {"type": "text", "text": "I look around first."},
                    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
                ]
            },
        },
        {
            "type": "user",
            "message": {
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "task.md"}]
            },
        },
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": "ANSWER",
            "num_turns": 2,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        },
    ],
    "codex": [
        {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "ANSWER"}},
        {"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 10}},
    ],
    "copilot": [
        {"type": "assistant.message", "data": {"content": "ANSWER", "toolRequests": []}},
        {"type": "result", "exitCode": 0},
    ],
}


class AgentScript:
    """One such program; `hang` makes every run of it hang from now on."""

    def __init__(self, folder: Path, name: str, version: str = VERSION) -> None:
        folder.mkdir(exist_ok=True)
        self.path = folder / name
        self._folder = folder
        self._hang = folder / "hang"
        self.path.write_text(
            _SCRIPT.format(
                python=sys.executable,
                name=name,
                hang=str(self._hang),
                version=version,
                events=json.dumps(_EVENTS[name]),
            )
        )
        self.path.chmod(0o755)

    def hang(self) -> None:
        self._hang.touch()

    def work(self) -> None:
        self._hang.unlink()

    def pids(self) -> list[int]:
        """Give every process of the runs that hang: program, guard, and what it started."""
        return [
            pid
            for path in self._folder.glob("pids-*")
            if path.suffix != ".new"
            for pid in json.loads(path.read_text())
        ]

    def forget(self) -> None:
        for path in self._folder.glob("pids-*"):
            path.unlink()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def end(pids: list[int]) -> None:
    """End what a failed test left behind."""
    for pid in filter(alive, pids):
        os.kill(pid, 9)


def wait_for(condition: Callable[[], Any], what: str, limit_s: float = 20.0) -> Any:
    until = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < until, f"waited {limit_s} s for {what}"
        time.sleep(0.02)
    return value
