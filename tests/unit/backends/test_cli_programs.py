"""The command line of each program, exactly, and what options it takes."""

from __future__ import annotations

import tomllib

import pytest
from fake_programs import SECRET, URL
from pydantic import ValidationError

from skillopt.backends.cli.claude import Claude
from skillopt.backends.cli.codex import Codex
from skillopt.backends.cli.copilot import Copilot
from skillopt.backends.cli.invocation import Request
from skillopt.backends.cli.options import CliOptions

PLAIN = Request(system="S", user="U", sample=2)
SHELL = Request(system="S", user="U", needs_shell=True)
SCHEMA = {"type": "object"}


def options(program, **changed):
    usual = {"program": program, "model": "m-1", "api_key_env": "K", "base_url": URL}
    return CliOptions(**{**usual, **changed})


def test_claude_arguments(workspace):
    made = Claude().invocation(options("claude"), workspace, PLAIN, SECRET)
    system = workspace.control / "system.txt"
    assert made.argv == (
        *("claude", "-p", "--strict-mcp-config", "--setting-sources", ""),
        *("--disable-slash-commands", "--no-session-persistence"),
        *("--output-format", "stream-json", "--verbose"),
        *("--system-prompt-file", str(system), "--permission-mode", "dontAsk"),
        *("--tools", "", "--model", "m-1"),
    )
    assert (made.stdin, system.read_text()) == ("U", "S")
    assert made.environment["ANTHROPIC_BASE_URL"] == URL.removesuffix("/v1")
    assert made.environment["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert SECRET not in repr(made)


def test_claude_options_become_arguments(workspace):
    chosen = options("claude", max_turns=7, effort="low", web_search=True)
    request = Request(system="", user="U", needs_shell=True, schema=SCHEMA)
    argv = Claude().invocation(chosen, workspace, request, None).argv
    tail = argv[argv.index("--tools") :]
    tools = "Bash,Read,WebSearch,WebFetch"
    assert tail == (
        *("--tools", tools, "--allowedTools", tools, "--model", "m-1", "--effort", "low"),
        *("--max-turns", "7", "--json-schema", '{"type": "object"}'),
    )


def test_a_native_skill_is_the_only_setting_claude_reads(workspace):
    request = Request(system="S", user="U", native_skill="brief")
    argv = Claude().invocation(options("claude"), workspace, request, None).argv
    assert argv[argv.index("--setting-sources") + 1] == "user"
    assert "--disable-slash-commands" not in argv
    assert argv[argv.index("--tools") + 1] == "Skill"


def test_an_oauth_token_goes_to_claude_by_its_own_pipe(workspace):
    chosen = options("claude", auth="oauth_token", base_url=None)
    made = Claude().invocation(chosen, workspace, PLAIN, SECRET)
    assert made.secret_by_pipe == ("CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR", SECRET)
    assert "ANTHROPIC_BASE_URL" not in made.environment


def test_codex_arguments(workspace):
    made = Codex().invocation(options("codex"), workspace, SHELL, SECRET)
    assert made.argv == (
        *("codex", "exec", "--skip-git-repo-check", "--ephemeral"),
        *("--disable", "plugins", "--disable", "apps"),
        *("--disable", "goals", "--disable", "multi_agent"),
        *("--json", "--color", "never", "-C", str(workspace.work)),
        *("--sandbox", "workspace-write", "-m", "m-1", "-"),
    )
    assert made.stdin == "S\n\nU"
    assert made.environment == {
        "CODEX_HOME": str(workspace.config),
        "SKILLOPT_AGENT_KEY": SECRET,
    }


def test_codex_without_need_of_a_shell_has_none(workspace):
    argv = Codex().invocation(options("codex"), workspace, PLAIN, SECRET).argv
    assert "shell_tool" in argv and "unified_exec" in argv
    assert argv[argv.index("--sandbox") + 1] == "read-only"


def test_codex_configuration(workspace):
    chosen = options("codex", effort="high", network=True, web_search=True)
    Codex().invocation(chosen, workspace, PLAIN, SECRET)
    text = (workspace.config / "config.toml").read_text()
    config = tomllib.loads(text)
    assert SECRET not in text
    assert (config["approval_policy"], config["web_search"]) == ("never", "live")
    assert config["model_reasoning_effort"] == "high"
    assert config["sandbox_workspace_write"] == {"network_access": True}
    assert config["shell_environment_policy"] == {"inherit": "core"}
    provider = config["model_providers"][config["model_provider"]]
    assert provider["base_url"] == URL and provider["env_key"] == "SKILLOPT_AGENT_KEY"
    assert provider["request_max_retries"] == provider["stream_max_retries"] == 0
    assert provider["http_headers"] == {"X-Skillopt-Sample": "2"}


def test_codex_uses_its_own_provider_without_a_base_url(workspace):
    made = Codex().invocation(options("codex", base_url=None), workspace, PLAIN, SECRET)
    assert made.environment["CODEX_API_KEY"] == SECRET
    config = tomllib.loads((workspace.config / "config.toml").read_text())
    assert "model_provider" not in config and "model_providers" not in config


def test_codex_schema_and_images_are_files(workspace):
    image = workspace.work / "a.png"
    request = Request(system="", user="U", schema=SCHEMA, images=(image,))
    argv = Codex().invocation(options("codex"), workspace, request, None).argv
    schema = workspace.control / "schema.json"
    assert argv[-5:] == ("-i", str(image), "--output-schema", str(schema), "-")
    assert schema.read_text() == '{"type": "object"}'


def test_copilot_arguments(workspace):
    made = Copilot().invocation(options("copilot"), workspace, PLAIN, SECRET)
    assert made.argv == (
        *("copilot", "--output-format", "json", "--stream", "off", "--no-color"),
        *("--log-level", "none", "--no-custom-instructions", "--disable-builtin-mcps"),
        *("--no-auto-update", "--no-ask-user", "--secret-env-vars=COPILOT_PROVIDER_API_KEY"),
        *("-C", str(workspace.work)),
        *("--usage-output-file", str(workspace.control / "usage.json")),
        *("--available-tools=none", "--model", "m-1"),
    )
    assert made.stdin == "S\n\nU"
    assert made.environment["COPILOT_OFFLINE"] == "true"
    assert made.environment["COPILOT_PROVIDER_BASE_URL"] == URL
    # Whatever is in this variable is starred out of the program's own output.
    assert "COPILOT_PROVIDER_HEADERS" not in made.environment


def test_copilot_gets_only_the_tools_it_needs(workspace):
    argv = Copilot().invocation(options("copilot"), workspace, SHELL, SECRET).argv
    assert "--available-tools=bash,view" in argv and "--allow-all-tools" in argv
    assert "--allow-all-paths" not in argv


def test_a_token_of_copilot_goes_to_its_vendor(workspace):
    chosen = options("copilot", auth="oauth_token", base_url=None)
    made = Copilot().invocation(chosen, workspace, PLAIN, SECRET)
    assert made.environment["COPILOT_GITHUB_TOKEN"] == SECRET
    assert "--secret-env-vars=COPILOT_GITHUB_TOKEN" in made.argv
    assert "COPILOT_OFFLINE" not in made.environment


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"program": "claude", "auth": "login_file", "base_url": None}, "needs login_file"),
        ({"program": "claude", "api_key_env": None}, "needs api_key_env"),
        ({"program": "claude", "api_key_env": "sk-key"}, "String should match"),
        ({"program": "codex", "auth": "oauth_token"}, "'oauth_token': codex takes no such token"),
        ({"program": "codex", "auth": "login_file", "login_file": "x"}, "remove base_url"),
        ({"program": "copilot", "auth": "login_file", "login_file": "x"}, "no login in a file"),
        ({"program": "copilot", "base_url": None}, "give base_url"),
        ({"program": "copilot", "auth": "oauth_token"}, "remove base_url"),
        ({"program": "copilot", "model": None}, "give model"),
        (
            {"program": "codex", "max_turns": 3},
            "max_turns: 3: codex has no limit of turns; remove it",
        ),
        ({"program": "codex", "tools": ("Bash",)}, "tools: .'Bash'.: codex has a fixed set"),
        ({"program": "codex", "effort": "max"}, "effort: 'max': codex has no such effort"),
        (
            {"program": "claude", "sandbox": "read-only"},
            "sandbox: 'read-only': claude has no sandbox",
        ),
        ({"program": "claude", "network": True}, "network: True: it opens codex's sandbox"),
        (
            {"program": "codex", "sandbox": "read-only", "network": True},
            "network: True: .* nothing else; remove it",
        ),
        ({"program": "copilot", "web_search": True}, "remove it"),
        ({"program": "claude", "base_url": "ftp://h"}, "not a URL"),
        ({"program": "claude", "base_url": "http://host/v1"}, "unencrypted to 'host'"),
        ({"program": "claude", "base_url": "https://u:p@h"}, "more than scheme"),
        (
            {"program": "claude", "auth": "oauth_token", "base_url": "https://h"},
            "only to its vendor, not to 'h'",
        ),
        ({"program": "gemini"}, "Input should be"),
        ({"program": "claude", "colour": "red"}, "Extra inputs"),
    ],
)
def test_what_a_program_cannot_do_is_refused_with_the_fix(changed, words):
    with pytest.raises(ValidationError, match=words):
        options(**changed)
