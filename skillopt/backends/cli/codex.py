"""Codex: a configuration of its own in an empty home, and what its events say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skillopt.backends.cli.invocation import Invocation, Request
from skillopt.backends.cli.options import CliOptions
from skillopt.backends.cli.trace import Failure, Steps, Trace, count, events, part, text_of
from skillopt.backends.cli.workspace import Workspace
from skillopt.domain.agent import DEFAULT_SANDBOX
from skillopt.domain.messages import SAMPLE_HEADER
from skillopt.domain.usage import Usage

_KEY_VARIABLE = "SKILLOPT_AGENT_KEY"
#: Features that reach out or add tools which no task asks for.
_OFF = ("plugins", "apps", "goals", "multi_agent")
_SHELL_FEATURES = ("shell_tool", "unified_exec")
_QUIET_ITEMS = frozenset({"error", "reasoning", "todo_list"})


class Codex:
    """Only an empty home, configuration home and working folder isolate it; no flag does."""

    has_schemas = True

    def login_path(self, workspace: Workspace) -> Path:
        return workspace.config / "auth.json"

    def skill_folder(self, workspace: Workspace) -> Path:
        return workspace.config / "skills"

    def invocation(
        self, options: CliOptions, workspace: Workspace, request: Request, secret: str | None
    ) -> Invocation:
        config = workspace.config / "config.toml"
        config.write_text(_config(options, request), encoding="utf-8")
        shell = request.needs_shell or request.native_skill is not None
        argv = [options.command, "exec", "--skip-git-repo-check", "--ephemeral"]
        for feature in (*_OFF, *(() if shell else _SHELL_FEATURES)):
            argv += ["--disable", feature]
        argv += ["--json", "--color", "never", "-C", str(workspace.work)]
        argv += ["--sandbox", (options.sandbox or DEFAULT_SANDBOX) if shell else "read-only"]
        if options.model is not None:
            argv += ["-m", options.model]
        for image in request.images:
            argv += ["-i", str(image)]
        if request.schema is not None:
            schema = workspace.control / "schema.json"
            schema.write_text(json.dumps(request.schema), encoding="utf-8")
            argv += ["--output-schema", str(schema)]
        environment = {"CODEX_HOME": str(workspace.config)}
        if secret is not None:
            environment[_KEY_VARIABLE if options.base_url else "CODEX_API_KEY"] = secret
        return Invocation((*argv, "-"), request.joined, environment)

    def trace(self, stdout: str, workspace: Workspace) -> Trace:
        steps, stray = Steps(), []
        answer: str | None = None
        usage, ended, said = Usage(estimated=True), False, ""
        failure: Failure | None = None
        for event, line in events(stdout):
            kind = event.get("type") if event else None
            if event is None:
                stray.append(line)
            elif kind == "turn.completed":
                ended, usage = True, _usage(part(event, "usage"))
            elif kind == "turn.failed":
                failure = Failure(text_of(part(event, "error").get("message")) or said)
            elif kind == "error":
                said = text_of(event.get("message"))
            elif kind == "item.completed":
                item = part(event, "item")
                _note(steps, item)
                if item.get("type") == "agent_message":
                    answer = text_of(item.get("text"))
        if failure is None and not ended and said:
            failure = Failure(said)
        return Trace(
            steps=steps.done(),
            answer=(answer or "") if ended and failure is None else None,
            usage=usage,
            failure=failure,
            stray="\n".join(stray),
        )


def _config(options: CliOptions, request: Request) -> str:
    """The whole configuration: what it does not say is the program's default."""
    lines = [
        'approval_policy = "never"',
        "check_for_update_on_startup = false",
        f"web_search = {_toml('live' if options.web_search else 'disabled')}",
    ]
    if options.effort is not None:
        lines.append(f"model_reasoning_effort = {_toml(options.effort)}")
    if options.base_url is not None:
        lines.append('model_provider = "skillopt"')
    lines += ["[sandbox_workspace_write]", f"network_access = {_toml(options.network)}"]
    # Commands of the agent see the usual variables, not the key.
    lines += ["[shell_environment_policy]", 'inherit = "core"']
    lines += ["[analytics]", "enabled = false", "[otel]", 'exporter = "none"']
    if options.base_url is not None:
        headers = f"{{ {_toml(SAMPLE_HEADER)} = {_toml(str(request.sample))} }}"
        lines += [
            "[model_providers.skillopt]",
            'name = "skillopt"',
            f"base_url = {_toml(options.base_url.removesuffix('/v1') + '/v1')}",
            f"env_key = {_toml(_KEY_VARIABLE)}",
            'wire_api = "responses"',
            "request_max_retries = 0",
            "stream_max_retries = 0",
            f"http_headers = {headers}",
        ]
    return "\n".join(lines) + "\n"


def _toml(value: str | bool) -> str:
    return json.dumps(value)  # for these two types JSON is TOML


def _note(steps: Steps, item: dict[str, Any]) -> None:
    kind, key = str(item.get("type")), str(item.get("id"))
    if kind == "agent_message":
        steps.say(text_of(item.get("text")))
    elif kind == "command_execution":
        steps.call(key, "shell", text_of(item.get("command")))
        code = item.get("exit_code")
        failed = code != 0
        shown = text_of(item.get("aggregated_output"))
        steps.result(key, f"{shown}\n(exit code {code})" if failed else shown, failed=failed)
    elif kind not in _QUIET_ITEMS:  # an `error` here is a mere warning
        rest = {name: value for name, value in item.items() if name not in ("id", "type", "status")}
        steps.call(key, kind, rest)
        steps.result(key, "", failed=item.get("status") == "failed")


def _usage(usage: dict[str, Any]) -> Usage:
    if not usage:
        return Usage(estimated=True)
    return Usage(
        count(usage.get("input_tokens")),
        count(usage.get("output_tokens")),
        count(usage.get("cached_input_tokens")),
    )
