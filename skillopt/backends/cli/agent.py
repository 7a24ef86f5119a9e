"""An agent program as a backend: workspace, credential, run, trace, answer."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from skillopt.backends.base import ChatReply
from skillopt.backends.cli.broker import Broker
from skillopt.backends.cli.claude import Claude
from skillopt.backends.cli.codex import Codex
from skillopt.backends.cli.contract import AgentReply, Assignment
from skillopt.backends.cli.copilot import Copilot
from skillopt.backends.cli.credentials import (
    borrowed_login,
    read_credential,
    rescue_login,
    secrets_in,
)
from skillopt.backends.cli.delivery import as_request, lay_out
from skillopt.backends.cli.environment import base_environment
from skillopt.backends.cli.invocation import AgentProgram, Invocation, Request
from skillopt.backends.cli.options import CliOptions, ProgramName
from skillopt.backends.cli.outcome import answer_of
from skillopt.backends.cli.process import Finished, run_program
from skillopt.backends.cli.redaction import as_message, without
from skillopt.backends.cli.trace import Trace, shortened
from skillopt.backends.cli.workspace import Workspace, default_root, sweep
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.errors import BadRequest, ConfigError, TaskError

PROGRAMS: Mapping[ProgramName, type[AgentProgram]] = {
    "claude": Claude,
    "codex": Codex,
    "copilot": Copilot,
}
_VERSION_S = 30.0


class CliAgent:
    """One agent program with one credential.

    Each call runs the program once, in a workspace of its own that is gone afterwards. Workspaces
    that killed workers left below `root` are removed when an agent is made.
    """

    def __init__(
        self, options: CliOptions, environ: Mapping[str, str], root: Path | None = None
    ) -> None:
        self._options = options
        self._program = PROGRAMS[options.program]()
        self._executable = options.executable or self._program.name
        self._environment = base_environment(environ)
        if shutil.which(self._executable, path=self._environment.get("PATH")) is None:
            raise ConfigError(
                f"the program {self._executable!r} is not found; install it, or give its path as "
                "executable"
            )
        self._credential = read_credential(options, environ)
        self._root = root or default_root()
        named = self._credential.secret or str(self._credential.login_file)
        # A hash, so that the name of a hold says nothing about the key.
        self.credential = text_hash(f"{options.program}|{options.base_url}|{named}")[:16]
        sweep(self._root, rescue_login)

    async def attempt(self, assignment: Assignment) -> AgentReply:
        """Let the agent work on a task until it answers."""
        self._require_reachable_tools(assignment)
        async with self._workspace() as workspace:
            laid = lay_out(assignment, self._options, self._program, workspace)
            async with Broker(workspace.socket, assignment.tools) as broker:
                trace, text = await self._ask(workspace, laid.request)
        return AgentReply(
            text=text,
            finish_reason=trace.finish_reason,
            usage=trace.usage,
            tool_calls=broker.calls,
            messages=(*laid.messages, *_as_messages(trace, text)),
            turns=trace.turns,
        )

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        sample: int = 0,
        schema: dict[str, Any] | None = None,
    ) -> ChatReply:
        """Answer one prompt without any tool."""
        if tools:
            raise BadRequest("an agent program gets a task's tools by attempt(), not by complete()")
        async with self._workspace() as workspace:
            trace, text = await self._ask(workspace, as_request(messages, schema, sample))
        refused = trace.finish_reason == "refusal"
        return ChatReply(text, trace.finish_reason, trace.usage, refused=refused)

    async def version(self) -> str:
        """Ask the program for its version; raises a `CallError` if it does not run."""
        async with self._workspace() as workspace:
            finished = await run_program(
                Invocation((self._executable, "--version"), "", {}),
                environment={**self._environment, **workspace.environment},
                cwd=workspace.work,
                deadline_s=_VERSION_S,
                hold_fds=(workspace.lock,),
            )
        lines = finished.stdout.strip().splitlines()
        return as_message(answer_of(self._executable, finished, Trace(answer=(lines or [""])[0])))

    async def close(self) -> None:
        """Nothing outlives a call."""

    @asynccontextmanager
    async def _workspace(self) -> AsyncIterator[Workspace]:
        workspace = await asyncio.to_thread(Workspace.create, self._root)
        try:
            yield workspace
        finally:
            await asyncio.to_thread(workspace.remove)

    async def _ask(self, workspace: Workspace, request: Request) -> tuple[Trace, str]:
        source = self._credential.login_file
        place = self._program.login_path(workspace)
        if source is None or place is None:
            return await self._run(workspace, request, (self._credential.secret or "",))
        async with borrowed_login(source, place, workspace, self._options.timeout_s):
            return await self._run(workspace, request, secrets_in(place.read_bytes()), place)

    async def _run(
        self,
        workspace: Workspace,
        request: Request,
        secrets: tuple[str, ...],
        login: Path | None = None,
    ) -> tuple[Trace, str]:
        invocation = self._program.invocation(
            self._options, workspace, request, self._credential.secret
        )
        finished = await run_program(
            invocation,
            environment={**self._environment, **workspace.environment},
            cwd=workspace.work,
            deadline_s=self._options.timeout_s,
            hold_fds=(workspace.lock,),
        )
        if login is not None and login.is_file():
            secrets += secrets_in(login.read_bytes())  # a renewed login has new secrets
        clean = Finished(
            finished.code, without(finished.stdout, secrets), without(finished.stderr, secrets)
        )
        trace = self._program.trace(clean.stdout, workspace)
        return trace, answer_of(self._executable, clean, trace)

    def _require_reachable_tools(self, assignment: Assignment) -> None:
        options = self._options
        if not assignment.tools:
            return
        if options.program == "codex" and not (
            options.sandbox == "danger-full-access"
            or (options.sandbox == "workspace-write" and options.network)
        ):
            raise TaskError(
                "codex's sandbox lets no command reach the task's tools; set network: true with "
                "sandbox workspace-write, or use another backend"
            )
        shells = {"claude": "Bash", "copilot": "bash"}
        shell = shells.get(options.program)
        if shell and options.tools is not None and shell not in options.tools:
            raise TaskError(f"the task's tools are commands; add {shell!r} to the backend's tools")


def _as_messages(trace: Trace, text: str) -> list[Message]:
    """Each step as a message; the answer comes last, once."""
    steps = list(trace.steps)
    if steps and steps[-1].kind == "said" and steps[-1].text == shortened(text):
        steps.pop()
    shown = [Message(role="assistant", content=step.rendered()) for step in steps]
    return [*shown, Message(role="assistant", content=text)]
