"""Stand-ins for agent programs: small scripts that report how they were started."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from skillopt.backends.cli.agent import CliAgent
from skillopt.backends.cli.contract import AgentReply, Assignment
from skillopt.backends.cli.options import CliOptions
from skillopt.domain.agent import AgentProgramName
from skillopt.domain.messages import Message

SECRET = "sk-planted-0123456789abcdef"
URL = "http://127.0.0.1:9/v1"

_SCRIPT = """#!{python}
import json, os, sys, subprocess, time
stdin = sys.stdin.read()
fds = {{k: os.read(int(v), 1000).decode() for k, v in os.environ.items()
       if k.endswith("FILE_DESCRIPTOR")}}
files = sorted(os.path.relpath(os.path.join(d, f)) for d, _, fs in os.walk(".") for f in fs)
seen = {{"argv": sys.argv[1:], "env": dict(os.environ), "stdin": stdin, "cwd": os.getcwd(),
        "pid": os.getpid(), "by_pipe": fds, "files": files}}
with open({report!r} + ".new", "w") as out:
    json.dump(seen, out)
os.replace({report!r} + ".new", {report!r})
def say(*events):
    for event in events:
        print(event if isinstance(event, str) else json.dumps(event), flush=True)
{body}
"""

CLAUDE_ANSWER = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "the answer",
    "num_turns": 1,
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 11, "output_tokens": 5, "cache_read_input_tokens": 3},
}
CODEX_ANSWER = (
    {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "the answer"}},
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 11, "cached_input_tokens": 3, "output_tokens": 5},
    },
)
COPILOT_ANSWER = (
    {"type": "assistant.message", "data": {"content": "the answer", "toolRequests": []}},
    {"type": "result", "exitCode": 0, "usage": {"premiumRequests": 0}},
)
ANSWERS: dict[AgentProgramName, Sequence[dict[str, Any]]] = {
    "claude": (CLAUDE_ANSWER,),
    "codex": CODEX_ANSWER,
    "copilot": COPILOT_ANSWER,
}


class FakeProgram:
    """A script in the place of a program, and what it saw when it ran."""

    def __init__(self, folder: Path, name: AgentProgramName, body: str = "") -> None:
        self.name = name
        self.path = folder / name
        self.report = folder / f"{name}.report"
        self.root = folder / "r"
        lines = body or f"say(*json.loads({json.dumps(json.dumps(ANSWERS[name]))}))"
        script = _SCRIPT.format(python=sys.executable, report=str(self.report), body=lines)
        self.path.write_text(script)
        self.path.chmod(0o755)

    @property
    def seen(self) -> dict[str, Any]:
        seen: dict[str, Any] = json.loads(self.report.read_text())
        return seen

    def options(self, **changed: Any) -> CliOptions:
        usual: dict[str, Any] = {
            "program": self.name,
            "executable": str(self.path),
            "model": "m-1",
            "api_key_env": "THE_KEY",
            "base_url": URL,
            "timeout_s": 60.0,
        }
        return CliOptions(**{**usual, **changed})

    def agent(self, **changed: Any) -> CliAgent:
        environ = {**os.environ, "THE_KEY": SECRET, "WORKER_SECRET": "not-for-agents"}
        return CliAgent(self.options(**changed), environ, self.root)

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if path.name != "cache")


def put(task: str, skill: str) -> tuple[Message, ...]:
    system = Message(role="system", content=f"The skill:\n{skill}")
    return (system, Message(role="user", content=task))


def assignment(task: str = "What is 2+2?", skill: str = "Be brief.", **more: Any) -> Assignment:
    return Assignment(partial(put, task), skill, **more)


def attempt(agent: CliAgent, given: Assignment | None = None) -> AgentReply:
    return asyncio.run(agent.attempt(given or assignment()))


def until(condition: Callable[[], bool], limit_s: float = 20.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "the condition did not come true in time"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
