"""Copilot: arguments that isolate it, and what its events and its usage file say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skillopt.backends.cli.invocation import Invocation, Request
from skillopt.backends.cli.options import CliOptions
from skillopt.backends.cli.trace import Failure, Steps, Trace, count, events, part, text_of
from skillopt.backends.cli.workspace import Workspace
from skillopt.domain.usage import Usage

#: Only a name that no tool has leaves none; an empty list leaves all of them.
_NO_TOOLS = "none"
_SHELL_TOOLS = ("bash", "view")
_KEY_VARIABLE = "COPILOT_PROVIDER_API_KEY"
_TOKEN_VARIABLE = "COPILOT_GITHUB_TOKEN"  # noqa: S105 (a name)
_USAGE_FILE = "usage.json"


class Copilot:
    has_schemas = False

    def login_path(self, workspace: Workspace) -> None:
        return None

    def skill_folder(self, workspace: Workspace) -> Path:
        return workspace.config / "skills"

    def invocation(
        self, options: CliOptions, workspace: Workspace, request: Request, secret: str | None
    ) -> Invocation:
        variable = _KEY_VARIABLE if options.auth == "api_key" else _TOKEN_VARIABLE
        tools = _tools(options, request)
        argv = [options.command, "--output-format", "json", "--stream", "off"]
        argv += ["--no-color", "--log-level", "none", "--no-custom-instructions"]
        argv += ["--disable-builtin-mcps", "--no-auto-update", "--no-ask-user"]
        argv += [f"--secret-env-vars={variable}", "-C", str(workspace.work)]
        argv += ["--usage-output-file", str(workspace.control / _USAGE_FILE)]
        argv.append(f"--available-tools={','.join(tools) or _NO_TOOLS}")
        if tools:
            argv.append("--allow-all-tools")
        if options.model is not None:
            argv += ["--model", options.model]
        if options.effort is not None:
            argv += ["--reasoning-effort", options.effort]
        for image in request.images:
            argv += ["--attachment", str(image)]
        environment = {
            "COPILOT_HOME": str(workspace.config),
            "COPILOT_AUTO_UPDATE": "false",
            **_provider(options),
        }
        if secret is not None:
            environment[variable] = secret
        return Invocation(tuple(argv), request.joined, environment)

    def trace(self, stdout: str, workspace: Workspace) -> Trace:
        steps, stray = Steps(), []
        said: str | None = None
        result: dict[str, Any] | None = None
        failure: Failure | None = None
        for event, line in events(stdout):
            kind = event.get("type") if event else None
            if event is None:
                stray.append(line)
                continue
            data = part(event, "data")
            if kind == "result":
                result = event
            elif kind == "session.error":
                status = count(data.get("statusCode")) or None
                failure = Failure(text_of(data.get("message")), status, str(data.get("errorType")))
            elif kind == "assistant.message":
                said = text_of(data.get("content"))
            _note(steps, str(kind), data)
        finished = result is not None and result.get("exitCode") == 0 and failure is None
        return Trace(
            steps=steps.done(),
            answer=(said or "") if finished else None,
            usage=_usage(workspace.control / _USAGE_FILE),
            failure=failure,
            stray="\n".join(stray),
        )


def _tools(options: CliOptions, request: Request) -> list[str]:
    needed = _SHELL_TOOLS if request.needs_shell else ()
    chosen = list(needed if options.tools is None else options.tools)
    if request.native_skill is not None:
        chosen.append("skill")
    return list(dict.fromkeys(chosen))


def _provider(options: CliOptions) -> dict[str, str]:
    """The sample index is not sent: the program hides a header's value wherever it prints it."""
    if options.base_url is None:
        return {}
    return {
        "COPILOT_OFFLINE": "true",  # nothing but the provider is asked
        "COPILOT_PROVIDER_BASE_URL": options.base_url.removesuffix("/v1") + "/v1",
        "COPILOT_MODEL": options.model or "",
    }


def _note(steps: Steps, kind: str, data: dict[str, Any]) -> None:
    key = str(data.get("toolCallId"))
    if kind == "assistant.message":
        steps.say(text_of(data.get("content")))
    elif kind == "tool.execution_start":
        steps.call(key, str(data.get("toolName")), data.get("arguments"))
    elif kind == "tool.execution_complete":
        failed = data.get("success") is not True
        shown = part(data, "error").get("message") if failed else None
        result = data.get("result")
        content = result.get("content") if isinstance(result, dict) else result
        steps.result(key, text_of(shown or content), failed=failed)


def _usage(path: Path) -> Usage:
    """Tokens are in a file of their own; without it the usage must be estimated."""
    try:
        metrics = json.loads(path.read_bytes()).get("modelMetrics", {}).values()
        used = [part(model, "usage") for model in metrics]
    except (OSError, ValueError, AttributeError):
        return Usage(estimated=True)
    if not used:
        return Usage(estimated=True)
    return Usage(
        sum(count(usage.get("inputTokens")) for usage in used),
        sum(count(usage.get("outputTokens")) for usage in used),
        sum(count(usage.get("cacheReadTokens")) for usage in used),
    )
