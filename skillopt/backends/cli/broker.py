"""Tools of a task for an agent: real commands in its working folder, answered from outside it.

A call counts because the broker answered it. Each connection gets a nonce of its own and must
give it back, so that nothing which was heard, kept or written somewhere can stand for a call.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.backends.cli import tool_command
from skillopt.domain.agent import TOOL_FOLDER
from skillopt.domain.item import Tool
from skillopt.domain.messages import ToolCall
from skillopt.errors import TaskError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
_LONGEST_CALL = 1 << 16
_MOST_CALLS = 1_000
_CALL_S = 10.0


class _Call(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    nonce: str
    tool: str
    arguments: str


class Broker:
    """Answers the tools of one attempt while its block runs."""

    def __init__(self, socket: Path, tools: Sequence[Tool]) -> None:
        require_names(tools)
        self._socket = socket
        self._tools = {tool.name: tool for tool in tools}
        self._calls: list[ToolCall] = []
        self._server: asyncio.Server | None = None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """What was called, in order."""
        return tuple(self._calls)

    async def __aenter__(self) -> Broker:
        if self._tools:
            self._server = await asyncio.start_unix_server(
                self._serve, self._socket, limit=_LONGEST_CALL
            )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
            self._socket.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonce = secrets.token_hex(16)
        try:
            writer.write(f"{nonce}\n".encode())
            await writer.drain()
            line = await asyncio.wait_for(reader.readline(), _CALL_S)
            writer.write(json.dumps(self._answer(nonce, line)).encode() + b"\n")
            await writer.drain()
        except (OSError, TimeoutError, ValueError):
            return  # the caller is gone, silent, or sends without end: no call
        finally:
            writer.close()

    def _answer(self, nonce: str, line: bytes) -> dict[str, str]:
        try:
            call = _Call.model_validate_json(line)
        except ValidationError:
            return {"error": "the call is not understood"}
        if not hmac.compare_digest(call.nonce.encode(), nonce.encode()):
            return {"error": "the call is not this connection's"}
        tool = self._tools.get(call.tool)
        if tool is None:
            return {"error": f"there is no tool named {call.tool!r}"}
        if len(self._calls) >= _MOST_CALLS:
            return {"error": f"tools were called {_MOST_CALLS} times; no more calls are answered"}
        self._calls.append(ToolCall(id=nonce, name=call.tool, arguments=call.arguments))
        return {"result": tool.result}


def require_names(tools: Sequence[Tool]) -> None:
    """Refuse tools that cannot be commands: a name becomes the name of a file."""
    seen: set[str] = set()
    for tool in tools:
        if not _NAME.match(tool.name):
            raise TaskError(
                f"{tool.name!r} cannot be the name of a tool; use up to 64 letters, digits, '_' "
                "and '-', the first a letter"
            )
        if tool.name.casefold() in seen:
            raise TaskError(f"two tools are named {tool.name!r}; rename one of them")
        seen.add(tool.name.casefold())


def write_commands(work: Path, socket: Path, tools: Sequence[Tool]) -> None:
    """Lay a command for each tool into the working folder."""
    require_names(tools)
    folder = work / TOOL_FOLDER
    if tools:
        folder.mkdir(mode=0o700)
    for tool in tools:
        command = [sys.executable, "-I", "-S", tool_command.__file__, str(socket), tool.name]
        path = folder / tool.name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        path.chmod(0o700)


def describe_commands(tools: Sequence[Tool]) -> str:
    """Tell the agent which commands it has."""
    if not tools:
        return ""
    lines = ["## Tools of this task", "", "Run them as commands in the working folder:", ""]
    for tool in tools:
        about = f": {tool.description}" if tool.description else ""
        lines.append(f"- `./{TOOL_FOLDER}/{tool.name}`{about}")
        if tool.parameters:
            schema = json.dumps(tool.parameters, sort_keys=True)
            lines.append(f"  Give one argument, a JSON object of this schema: {schema}")
    return "\n".join(lines)
