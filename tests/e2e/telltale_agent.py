"""Stand-ins for agent programs that tell their credential to everybody who listens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from agent_scripts import VERSION

#: An answer of a target and of a judge.
_ANSWER = 'Owner: TELL {"reason": "You are TELL.", "score": 0.5}'
#: What it prints besides the answer; TELL stands for its secret in several spellings.
_EVENTS: dict[str, list[dict[str, Any]]] = {
    "claude": [
        {
            "type": "assistant",
            "message": {
                "content": [
                    {"type": "text", "text": "I am TELL"},
                    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "TELL"}},
                ]
            },
        },
        {
            "type": "user",
            "message": {
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "TELL"}]
            },
        },
        {"type": "result", "subtype": "success", "is_error": False, "result": _ANSWER},
    ],
    "codex": [
        {
            "type": "item.completed",
            "item": {
                "id": "c",
                "type": "command_execution",
                "command": "env TELL",
                "aggregated_output": "TELL",
                "exit_code": 1,
            },
        },
        {
            "type": "item.completed",
            "item": {"id": "i", "type": "agent_message", "text": _ANSWER},
        },
        {"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 10}},
    ],
    "copilot": [
        {"type": "assistant.message", "data": {"content": _ANSWER, "toolRequests": []}},
        {"type": "result", "exitCode": 0},
    ],
}

_SCRIPT = """#!{python}
import base64, hashlib, json, os, pathlib, subprocess, sys, time
name, reports = {name!r}, pathlib.Path({reports!r})
if "--version" in sys.argv:
    print(f"{{name}} {version}")
    sys.exit(0)
told = sys.stdin.read()
own = [value for key, value in os.environ.items() if "KEY" in key or "TOKEN" in key]
for key, value in os.environ.items():
    if key.endswith("FILE_DESCRIPTOR"):
        own = [os.read(int(value), 1000).decode()]
home = os.environ.get("CODEX_HOME") or os.environ.get("CLAUDE_CONFIG_DIR")
login = pathlib.Path(home or "/nowhere") / ("auth.json" if name == "codex" else ".credentials.json")
if login.exists():
    inside = json.loads(login.read_text())
    own = [inside["token"], {renewed!r}]
    login.write_text(json.dumps({{**inside, "token": {renewed!r}}}))
guard = pathlib.Path(f"/proc/{{os.getppid()}}")
report = {{"used": [hashlib.sha256(key.encode()).hexdigest() for key in own],
          "env": dict(os.environ), "argv": sys.argv,
          "guard": guard.joinpath("cmdline").read_bytes().decode(errors="replace"),
          "guard_env": guard.joinpath("environ").read_bytes().decode(errors="replace")}}
reports.joinpath(f"{{name}}-{{os.getpid()}}-{{time.time_ns()}}.json").write_text(json.dumps(report))
plain = " ".join(own)
coded = " ".join(f"{{base64.b64encode(key.encode()).decode()}} {{key.encode().hex()}}"
                 for key in own)
for tool in (pathlib.Path("tools").iterdir() if pathlib.Path("tools").is_dir() else ()):
    subprocess.run([tool.resolve(), json.dumps({{"key": plain}})], capture_output=True)
print(f"warning: using {{plain}}", flush=True)
print(f"debug: {{plain}} {{coded}}", file=sys.stderr, flush=True)
if {fails!r}:
    print(f"error: unexpected argument {{plain}} {{coded}}", file=sys.stderr, flush=True)
    sys.exit(2)
# Some writers of JSON escape the slash: the key is not there as it is before it is read.
tell = json.dumps(f"{{plain}} {{coded}}")[1:-1].replace("/", "\\\\/")
for event in json.loads({events!r}):
    print(json.dumps(event).replace("TELL", tell), flush=True)
"""


def telltale(
    folder: Path, name: str, reports: Path, *, renewed: str = "", fails: bool = False
) -> Path:
    """Write such a program; it reports how it was started into a folder.

    A login file that it finds gets the secret `renewed`.
    """
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(
        _SCRIPT.format(
            python=sys.executable,
            name=name,
            reports=str(reports),
            version=VERSION,
            renewed=renewed,
            fails=fails,
            events=json.dumps(_EVENTS[name]),
        )
    )
    path.chmod(0o755)
    return path
