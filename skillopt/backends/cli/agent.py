"""An agent program as a backend: workspace, credential, run, trace, answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.backends.base import ChatReply
from skillopt.backends.cli.broker import Broker, require_names
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
from skillopt.backends.cli.delivery import as_request, lay_out, require_room
from skillopt.backends.cli.invocation import AgentProgram, Request
from skillopt.backends.cli.options import CliOptions
from skillopt.backends.cli.outcome import answer_of
from skillopt.backends.cli.process import Finished, run_program
from skillopt.backends.cli.redaction import trace_without
from skillopt.backends.cli.trace import Trace, shortened
from skillopt.backends.cli.workspace import Workspace, sweep
from skillopt.backends.redaction import SHORTEST_IN_ERRORS, calls_without, without
from skillopt.domain.agent import AgentProgramName, hidden_tools
from skillopt.domain.backend import Params
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.errors import BadRequest, CallError, TaskError
from skillopt.programs.environment import base_environment
from skillopt.programs.folder import default_folder
from skillopt.programs.version import ask_version, find_program

PROGRAMS: Mapping[AgentProgramName, type[AgentProgram]] = {
    "claude": Claude,
    "codex": Codex,
    "copilot": Copilot,
}


@dataclass(frozen=True)
class _Ran:
    """What a run did and answered, and what must not be seen of what it was given."""

    trace: Trace
    text: str
    secrets: tuple[str, ...] = field(repr=False)


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
        self._executable = options.command
        self._environment = base_environment(environ)
        find_program(self._executable, self._environment)
        self._credential = read_credential(options, environ)
        self._root = root or default_folder()
        named = self._credential.secret or str(self._credential.login_file)
        # A hash, so that the name of a hold says nothing about the key.
        self.credential = text_hash(f"{options.program}|{options.base_url}|{named}")[:16]
        sweep(self._root, rescue_login)

    def require_possible(self, assignment: Assignment) -> None:
        """Raise TaskError if a tool or a file of the task cannot be laid out, or not be reached."""
        require_names(assignment.tools)
        require_room(assignment)
        why = hidden_tools(self._options) if assignment.tools else None
        if why is not None:
            raise TaskError(why)

    async def attempt(self, assignment: Assignment) -> AgentReply:
        """Let the agent work on a task until it answers."""
        self.require_possible(assignment)
        async with self._workspace() as workspace:
            laid = lay_out(assignment, self._options, self._program, workspace)
            async with Broker(workspace.socket, assignment.tools) as broker:
                ran = await self._ask(workspace, laid.request)
        trace = ran.trace
        return AgentReply(
            text=ran.text,
            finish_reason=trace.finish_reason,
            usage=trace.usage,
            tool_calls=calls_without(broker.calls, ran.secrets),
            messages=(*laid.messages, *_as_messages(trace, ran.text)),
        )

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        sample: int = 0,
        params: Params | None = None,
        schema: ReplySchema | None = None,
    ) -> ChatReply:
        """Answer one prompt without any tool or file."""
        if tools or any(message.images for message in messages):
            raise BadRequest(
                "an agent program gets tools and files by attempt(), not by complete()"
            )
        if params not in (None, Params()):
            raise BadRequest("an agent program takes no request parameters; remove params")
        form = schema.body if schema is not None and self._program.has_schemas else None
        async with self._workspace() as workspace:
            ran = await self._ask(workspace, as_request(messages, form, sample))
        finish = ran.trace.finish_reason
        return ChatReply(ran.text, finish, ran.trace.usage, refused=finish == "refusal")

    async def version(self) -> str:
        """Ask the program for its version; raises ConfigError if it tells none."""
        return await asyncio.to_thread(ask_version, self._executable, self._environment, self._root)

    async def close(self) -> None:
        """Nothing outlives a call."""

    @asynccontextmanager
    async def _workspace(self) -> AsyncIterator[Workspace]:
        workspace = await asyncio.to_thread(Workspace.create, self._root)
        try:
            yield workspace
        finally:
            await asyncio.to_thread(workspace.remove)

    async def _ask(self, workspace: Workspace, request: Request) -> _Ran:
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
    ) -> _Ran:
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
        trace = trace_without(self._program.trace(clean.stdout, workspace), secrets)
        try:
            return _Ran(trace, answer_of(self._executable, clean, trace), secrets)
        except CallError as error:
            raise error.told_as(without(str(error), secrets, SHORTEST_IN_ERRORS)) from None


def _as_messages(trace: Trace, text: str) -> list[Message]:
    """Each step as a message; the answer comes last, once."""
    steps = list(trace.steps)
    if steps and steps[-1].kind == "said" and steps[-1].text == shortened(text):
        steps.pop()
    shown = [Message(role="assistant", content=step.rendered()) for step in steps]
    return [*shown, Message(role="assistant", content=text)]
