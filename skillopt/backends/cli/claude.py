"""Claude Code: arguments that isolate it, and what its stream of events says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skillopt.backends.cli.invocation import Invocation, Request
from skillopt.backends.cli.options import CliOptions
from skillopt.backends.cli.trace import Failure, Steps, Trace, count, events, part, text_of
from skillopt.backends.cli.workspace import Workspace
from skillopt.domain.messages import SAMPLE_HEADER
from skillopt.domain.usage import Usage

_SHELL_TOOLS = ("Bash", "Read")
_WEB_TOOLS = ("WebSearch", "WebFetch")
_PLAIN_SYSTEM = "Answer the user."


class Claude:
    """Credentials go in by a pipe, so that the agent's own commands do not inherit them."""

    has_schemas = True

    def login_path(self, workspace: Workspace) -> Path:
        return workspace.config / ".credentials.json"

    def skill_folder(self, workspace: Workspace) -> Path:
        return workspace.config / "skills"

    def invocation(
        self, options: CliOptions, workspace: Workspace, request: Request, secret: str | None
    ) -> Invocation:
        system = workspace.control / "system.txt"
        system.write_text(request.system or _PLAIN_SYSTEM, encoding="utf-8")
        tools = ",".join(_tools(options, request))
        argv = [options.command, "-p", "--strict-mcp-config"]
        # The user's settings are those of the throw-away home: nothing but the skill.
        argv += ["--setting-sources", "user" if request.native_skill else ""]
        if request.native_skill is None:
            argv.append("--disable-slash-commands")
        argv += ["--no-session-persistence", "--output-format", "stream-json", "--verbose"]
        argv += ["--system-prompt-file", str(system), "--permission-mode", "dontAsk"]
        argv += ["--tools", tools]
        if tools:
            argv += ["--allowedTools", tools]
        if options.model is not None:
            argv += ["--model", options.model]
        if options.effort is not None:
            argv += ["--effort", options.effort]
        if options.max_turns is not None:
            argv += ["--max-turns", str(options.max_turns)]
        if request.schema is not None:
            argv += ["--json-schema", json.dumps(request.schema, sort_keys=True)]
        return Invocation(
            tuple(argv),
            request.user,
            self._environment(options, workspace, request),
            None if secret is None else (_descriptor_variable(options), secret),
        )

    def _environment(
        self, options: CliOptions, workspace: Workspace, request: Request
    ) -> dict[str, str]:
        environment = {
            "CLAUDE_CONFIG_DIR": str(workspace.config),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",  # there is one retry policy, and it is the gateway's
        }
        if options.base_url is not None:
            environment["ANTHROPIC_BASE_URL"] = options.base_url.removesuffix("/v1")
            environment["ANTHROPIC_CUSTOM_HEADERS"] = f"{SAMPLE_HEADER}: {request.sample}"
        return environment

    def trace(self, stdout: str, workspace: Workspace) -> Trace:
        steps, stray = Steps(), []
        result: dict[str, Any] | None = None
        for event, line in events(stdout):
            if event is None:
                stray.append(line)
            elif event.get("type") == "result":
                result = event
            elif event.get("parent_tool_use_id") is None:
                _note(steps, event)
        if result is None:
            return Trace(steps.done(), stray="\n".join(stray))
        failure, finish = _failure(result), "stop"
        if result.get("subtype") == "error_max_turns":
            failure, finish = None, "max_turns"  # the agent's own doing: no answer, no outage
        elif result.get("stop_reason") in ("refusal", "max_tokens"):
            finish = "refusal" if result["stop_reason"] == "refusal" else "length"
        structured = result.get("structured_output")
        answer = text_of(result.get("result") if structured is None else structured)
        return Trace(
            steps=steps.done(),
            answer=None if failure else answer,
            usage=_usage(part(result, "usage")),
            finish_reason=finish,
            failure=failure,
            stray="\n".join(stray),
        )


def _descriptor_variable(options: CliOptions) -> str:
    kind = "API_KEY" if options.auth == "api_key" else "OAUTH_TOKEN"
    return f"CLAUDE_CODE_{kind}_FILE_DESCRIPTOR"


def _tools(options: CliOptions, request: Request) -> list[str]:
    needed = _SHELL_TOOLS if request.needs_shell else ()
    chosen = list(needed if options.tools is None else options.tools)
    if options.web_search:
        chosen += _WEB_TOOLS
    if request.native_skill is not None:
        chosen.append("Skill")
    return list(dict.fromkeys(chosen))


def _note(steps: Steps, event: dict[str, Any]) -> None:
    message = part(event, "message")
    content = message.get("content")
    # The program's own messages (an error put as an answer) are no words of the model.
    if not isinstance(content, list) or message.get("model") == "<synthetic>":
        return
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and event.get("type") == "assistant":
            steps.say(text_of(block.get("text")))
        elif kind == "tool_use":
            steps.call(str(block.get("id")), str(block.get("name")), block.get("input"))
        elif kind == "tool_result":
            failed = block.get("is_error") is True
            steps.result(
                str(block.get("tool_use_id")), text_of(block.get("content")), failed=failed
            )


def _failure(result: dict[str, Any]) -> Failure | None:
    """An error says so: its subtype is "success" all the same when a request failed."""
    if not result.get("is_error") and result.get("subtype") == "success":
        return None
    listed = result.get("errors")
    said = "; ".join(map(str, listed)) if isinstance(listed, list) else ""
    message = text_of(result.get("result")) or said or f"ended with {result.get('subtype')!r}"
    status = count(result.get("api_error_status")) or None
    return Failure(message, status, text_of(result.get("api_error_type")))


def _usage(usage: dict[str, Any]) -> Usage:
    if not usage:
        return Usage(estimated=True)
    cached = count(usage.get("cache_read_input_tokens"))
    # The provider counts what it read from or wrote to its cache apart from the input.
    written = count(usage.get("cache_creation_input_tokens"))
    fresh = count(usage.get("input_tokens"))
    return Usage(fresh + cached + written, count(usage.get("output_tokens")), cached)
