from __future__ import annotations

from pathlib import Path

import pytest
from config_workspace import resolve_entry as entry

from skillopt.config.catalogue import (
    dump_catalogue,
    load_resolved,
    require_credentials,
    require_prices,
)
from skillopt.domain.agent import AgentAccess
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError


def agent(workspace, text: str) -> tuple[Backend, AgentAccess]:
    backend = entry(workspace, text)
    assert backend.agent is not None
    return backend, backend.agent


@pytest.mark.parametrize(
    ("text", "auth", "variable"),
    [
        ("{kind: claude_cli}", "api_key", "ANTHROPIC_API_KEY"),
        ("{kind: claude_cli, auth: oauth_token}", "oauth_token", "CLAUDE_CODE_OAUTH_TOKEN"),
        ("{kind: codex_cli}", "api_key", "OPENAI_API_KEY"),
        ("{kind: copilot_cli}", "oauth_token", "COPILOT_GITHUB_TOKEN"),
        (
            "{kind: copilot_cli, model: m, base_url: 'http://127.0.0.1:1'}",
            "api_key",
            "COPILOT_PROVIDER_API_KEY",
        ),
        ("{kind: claude_cli, api_key_env: MINE}", "api_key", "MINE"),
    ],
)
def test_each_program_has_a_usual_credential(workspace, text, auth, variable):
    backend, access = agent(workspace, text)
    assert (access.auth, backend.key_variables) == (auth, (variable,))
    assert (backend.timeout_s, access.version) == (600.0, "")


def test_a_login_file_is_found_from_where_it_is_written_and_lent_to_one_run_at_a_time(workspace):
    backend, access = agent(workspace, "{kind: codex_cli, login_file: keys/auth.json}")
    assert access.auth == "login_file"
    assert access.login_file == workspace.folder / "keys" / "auth.json"
    assert backend.limits.concurrency == 1 and backend.key_variables == ()
    wide, _ = agent(workspace, "{kind: codex_cli, auth: login_file, limits: {concurrency: 4}}")
    assert wide.limits.concurrency == 4


def test_the_usual_login_of_a_program_is_in_the_home_folder(workspace):
    _, access = agent(workspace, "{kind: claude_cli, auth: login_file}")
    assert access.login_file == Path.home() / ".claude" / ".credentials.json"


def test_a_login_that_cannot_be_read_is_named_before_anything_starts(workspace):
    backend, _ = agent(workspace, "{kind: codex_cli, login_file: auth.json}")
    with pytest.raises(
        ConfigError, match=r"'gpt' needs a login: .*auth\.json.*log in with 'codex'"
    ):
        require_credentials([backend], {})
    workspace.write("auth.json", "{}")
    require_credentials([backend], {})


def test_a_plan_costs_no_money_of_its_own_and_a_key_has_no_price_by_itself(workspace):
    plan, _ = agent(workspace, "{kind: claude_cli, auth: oauth_token}")
    assert (plan.price, plan.subscription) == (None, True)
    require_prices([plan], max_usd=1.0)
    keyed, _ = agent(workspace, "{kind: claude_cli}")
    with pytest.raises(ConfigError, match="'gpt' has no price"):
        require_prices([keyed], max_usd=1.0)
    priced, _ = agent(workspace, "{kind: claude_cli, auth: oauth_token, price: 0}")
    assert priced.price is not None and not priced.subscription


def test_a_path_starts_from_the_catalogue_and_a_bare_name_is_looked_up_later(workspace):
    _, by_path = agent(workspace, "{kind: codex_cli, executable: bin/codex}")
    assert by_path.command == str(workspace.folder / "bin" / "codex")
    _, by_name = agent(workspace, "{kind: codex_cli, executable: codex-beta}")
    assert by_name.command == "codex-beta"


def test_only_what_can_change_an_answer_is_in_the_fingerprint(workspace):
    def made(more: str) -> str:
        return entry(workspace, f"{{kind: codex_cli, {more}}}").fingerprint

    plain = made("version: '1.2.3'")
    for same in (
        "executable: other",
        "api_key_env: X",
        "auth: login_file, login_file: y",
        "timeout_s: 9",
        "limits: {rpm: 1}",
        "price: 0",
        "sandbox: workspace-write",
        "skill_delivery: prompt",
    ):
        assert made(f"version: '1.2.3', {same}") == plain, same
    others = [
        made("version: '1.2.4'"),
        made("version: '1.2.3', model: m"),
        made("version: '1.2.3', skill_delivery: file"),
        made("version: '1.2.3', sandbox: read-only"),
        made("version: '1.2.3', network: true"),
        made("version: '1.2.3', web_search: true"),
        made("version: '1.2.3', effort: low"),
        made("version: '1.2.3', revision: r"),
        made("version: '1.2.3', base_url: 'http://127.0.0.1:1'"),
        made("version: '1.2.3', base_url: 'http://127.0.0.1:2'"),
    ]
    assert len({plain, *others}) == len(others) + 1
    tools = entry(workspace, "{kind: claude_cli, tools: [Bash]}").fingerprint
    turns = entry(workspace, "{kind: claude_cli, max_turns: 3}").fingerprint
    assert len({entry(workspace, "{kind: claude_cli}").fingerprint, tools, turns}) == 3


def test_a_resolved_entry_reaches_a_worker_unchanged(workspace):
    text = "{kind: claude_cli, login_file: a, tools: [Bash, Read], version: '2.1.326'}"
    backend = entry(workspace, text)
    path = workspace.write("resolved", dump_catalogue({"gpt": backend}))
    assert load_resolved(path) == {"gpt": backend}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{kind: claude_cli, params: {temperature: 0}}",
            "params is not for agent programs, which take no request parameters; remove it, and "
            "choose with effort",
        ),
        ("{kind: codex_cli, max_turns: 3}", "max_turns: 3: codex has no limit of turns; remove it"),
        ("{kind: claude_cli, effort: minimal}", "effort: 'minimal': claude has no such effort"),
        ("{kind: codex_cli, effort: max}", "effort: 'max': codex has no such effort"),
        ("{kind: claude_cli, sandbox: read-only}", "sandbox: 'read-only': claude has no sandbox"),
        ("{kind: claude_cli, network: true}", "network: True: it opens codex's sandbox"),
        ("{kind: copilot_cli, web_search: true}", "web_search: True: copilot has none; remove it"),
        ("{kind: codex_cli, tools: [Bash]}", "tools: ['Bash']: codex has a fixed set of tools"),
        ("{kind: claude_cli, tools: ['--x']}", "tools[0]: '--x' is not the name of a tool"),
        ("{kind: codex_cli, auth: oauth_token}", "auth: 'oauth_token': codex takes no such token"),
        ("{kind: copilot_cli, auth: login_file}", "auth: 'login_file': copilot keeps no login"),
        ("{kind: copilot_cli, auth: api_key}", "auth: 'api_key': copilot uses a key only for a"),
        ("{kind: copilot_cli, base_url: 'http://127.0.0.1:1'}", "model is missing; copilot needs"),
        (
            "{kind: codex_cli, auth: login_file, base_url: 'http://127.0.0.1:1'}",
            "auth: 'login_file': codex sends it only to its vendor; remove base_url",
        ),
        (
            "{kind: claude_cli, login_file: x, api_key_env: Y}",
            "api_key_env is not used with auth 'login_file'; remove it, or change auth",
        ),
        (
            "{kind: claude_cli, auth: api_key, login_file: x}",
            "login_file is not used with auth 'api_key'; remove it, or change auth",
        ),
        ("{kind: claude_cli, api_key_env: sk-1}", "is not the name of an environment variable"),
        ("{kind: claude_cli, version: latest}", "version: 'latest' is not a version; write it as"),
        ("{kind: claude_cli, base_url: host}", "base_url is not a URL; write it like"),
        (
            "{kind: claude_cli, base_url: 'http://example.org', api_key_env: X}",
            "base_url would send the key of 'X' unencrypted to 'example.org'; use https",
        ),
        (
            "{kind: claude_cli, base_url: 'https://example.org'}",
            "base_url would send the key of 'ANTHROPIC_API_KEY' to 'example.org'; name the "
            "variable of that server's key as api_key_env",
        ),
        (
            "{kind: claude_cli, auth: oauth_token, base_url: 'https://example.org'}",
            "base_url would send a login to 'example.org', which is not its vendor",
        ),
        ("{kind: claude_cli, exeutable: x}", "exeutable is not a known key; did you mean"),
        ("{kind: claude_cli, skill_delivery: post}", "skill_delivery: 'post'"),
    ],
)
def test_what_a_program_cannot_honour_is_refused_with_line_key_value_and_fix(
    workspace, text, message
):
    with pytest.raises(ConfigError) as caught:
        entry(workspace, text)
    assert "my-backends.yaml:2: backends.gpt" in str(caught.value)
    assert message in str(caught.value)


# --- versions -----------------------------------------------------------------------------------


def spec_with(workspace, text: str) -> None:
    workspace.spec(f"backends: {{gpt: {text}}}\n", model="{target: gpt}")


def test_a_plan_holds_the_version_that_the_program_tells(workspace):
    spec_with(workspace, "{kind: claude_cli, api_key_env: K}")
    one = workspace.load(publish_revision=lambda backend: "1.0.0")
    two = workspace.load(publish_revision=lambda backend: "1.0.1")
    assert one.backends["gpt"].agent.version == "1.0.0"
    assert one.plan.run_id != two.plan.run_id
    use = one.plan.backends["target"]
    assert use.agent and use.fingerprint == one.backends["gpt"].fingerprint
    told = one.explained["backends.gpt.version"]
    assert (told.value, told.origin) == ("1.0.0", "default (told by the program)")


def test_a_pinned_version_needs_no_program_here(workspace):
    def nobody(backend: Backend) -> str:
        raise AssertionError(f"{backend.name} was asked")

    spec_with(workspace, "{kind: codex_cli, version: 0.169.0}")
    assert workspace.load(publish_revision=nobody).backends["gpt"].agent.version == "0.169.0"


def test_a_program_that_is_not_here_is_named_with_both_ways_out(workspace):
    from producer.published import published_revision

    spec_with(workspace, "{kind: codex_cli, executable: no-such-program}")
    with pytest.raises(ConfigError) as caught:
        workspace.load(publish_revision=published_revision)
    said = str(caught.value)
    assert "spec.yaml:4: backends.gpt: the program 'no-such-program' is not found here" in said
    assert "install it" in said and "version: '1.2.3'" in said
