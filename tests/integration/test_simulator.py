"""The simulator over HTTP, as the real client sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from skillopt.domain.templates import fill
from skillopt.errors import ConfigError
from skillopt.loop.templates import packaged
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

TASK = "Write a note on whether the village library should open on Sundays."
DEADLINE_S = 20.0


class Provider:
    """A running simulator, with a client that does not retry."""

    def __init__(self, address):
        self.address = address
        self.client = self.client_with()

    def client_with(self, **options):
        defaults = {"base_url": self.address.base_url, "api_key": "any", "max_retries": 0}
        return openai.OpenAI(**defaults | {"timeout": DEADLINE_S} | options)

    def ask(self, text=TASK, *, system=None, client=None, **fields):
        messages = [{"role": "user", "content": text}]
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        client = client or self.client
        return client.chat.completions.create(**{"model": "sim", "messages": messages} | fields)

    def get(self, path):
        with urllib.request.urlopen(f"{self.address.root_url}{path}", timeout=DEADLINE_S) as reply:
            return json.load(reply)

    def control(self, **changes):
        request = urllib.request.Request(
            f"{self.address.root_url}/control", json.dumps(changes).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as reply:
            return json.load(reply)

    def stats_when(self, condition):
        """Give the statistics once they meet a condition."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            stats = self.get("/stats")
            if condition(stats):
                return stats
            assert time.monotonic() < deadline, stats
            time.sleep(0.01)


@pytest.fixture
def start():
    """Start simulators that end with the test."""
    opened = []

    def started(**options):
        context = running(SimulatorOptions(**options))
        provider = Provider(context.__enter__())
        opened.append((context, provider))
        return provider

    yield started
    for context, provider in opened:
        provider.client.close()
        context.__exit__(None, None, None)


def test_a_completion_has_the_shape_the_client_parses(start):
    reply = start().ask(system='Include "Certainty:" in the answer.')

    choice = reply.choices[0]
    assert (reply.object, reply.model, choice.finish_reason) == ("chat.completion", "sim", "stop")
    assert "Certainty:" in choice.message.content
    assert reply.usage.completion_tokens == -(-len(choice.message.content) // 4)
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


def test_a_stream_says_the_same_as_a_whole_reply(start):
    provider = start()
    chunks = list(provider.ask(stream=True, stream_options={"include_usage": True}))
    whole = provider.ask()

    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage == whole.usage
    assert provider.stats_when(lambda stats: stats["in_flight"] == 0)["by_status"] == {"200": 2}


def test_the_sample_comes_from_the_seed_or_the_header(start):
    provider = start()

    def text(**fields):
        return provider.ask(**fields).choices[0].message.content

    third = text(extra_headers={"X-Skillopt-Sample": "3"})
    assert third == text(seed=3)
    assert third != text()
    assert text() == text()


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_is_called_and_its_result_used(start, stream):
    provider = start()
    tools = [{"type": "function", "function": {
        "name": "lookup", "parameters": {
            "type": "object", "properties": {"query": {"type": "string"}}}}}]  # fmt: skip
    messages = [
        {"role": "system", "content": 'Always call the tool "lookup" first.'},
        {"role": "user", "content": TASK},
    ]
    reply = provider.ask(messages=messages, tools=tools, stream=stream)
    if stream:
        deltas = [c.choices[0] for c in reply]
        [call] = [d.delta.tool_calls[0] for d in deltas if d.delta.tool_calls]
        finish_reason = deltas[-1].finish_reason
    else:
        [call] = reply.choices[0].message.tool_calls
        finish_reason = reply.choices[0].finish_reason
    assert (call.function.name, finish_reason) == ("lookup", "tool_calls")
    assert json.loads(call.function.arguments)["query"]

    spoken = {"id": call.id, "type": "function",
              "function": {"name": "lookup", "arguments": call.function.arguments}}  # fmt: skip
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [spoken]},
        {"role": "tool", "tool_call_id": call.id, "content": "It has 4711 books"},
    ]
    final = provider.ask(messages=messages, tools=tools).choices[0]
    assert "4711" in final.message.content
    assert final.finish_reason == "stop"


def test_errors_have_the_types_and_codes_of_the_real_api(start):
    provider = start(api_key="right", models="sim,other", content_filter="forbidden fruit")
    right = provider.client_with(api_key="right")

    with right:
        with pytest.raises(openai.AuthenticationError) as wrong_key:
            provider.ask()
        with pytest.raises(openai.NotFoundError) as wrong_model:
            provider.ask(client=right, model="gone")
        with pytest.raises(openai.BadRequestError) as filtered:
            provider.ask("Tell me of the Forbidden Fruit.", client=right)
        with pytest.raises(openai.BadRequestError) as malformed:
            provider.ask(client=right, messages=[])
        assert provider.ask(client=right, model="other").model == "other"

    assert wrong_key.value.code == "invalid_api_key"
    assert wrong_model.value.code == "model_not_found"
    assert filtered.value.code == "content_filter"
    assert malformed.value.param == "messages"
    stats = provider.get("/stats")
    assert stats["by_status"] == {"200": 1, "400": 2, "401": 1, "404": 1}
    assert stats["calls"] == {"target": 3, "optimizer": 0, "judge": 0, "unreadable": 2, "total": 5}


def test_calls_over_the_limit_get_429_with_a_time_to_wait(start):
    provider = start(rpm=2, window_s=3600)
    provider.ask()
    provider.ask()
    with pytest.raises(openai.RateLimitError) as refused:
        provider.ask()

    headers = refused.value.response.headers
    assert 3500 < int(headers["retry-after"]) <= 3600
    assert 3_500_000 < int(headers["retry-after-ms"]) <= 3_600_000
    assert refused.value.code == "rate_limit_exceeded"
    assert provider.get("/stats")["violations"] == {"rpm": 1, "tpm": 0, "total": 1}


def test_the_clients_own_retry_succeeds_after_the_window(start):
    provider = start(rpm=1, window_s=0.2)
    with provider.client_with(max_retries=8) as patient:
        texts = {provider.ask(client=patient).choices[0].message.content for _ in range(3)}

    stats = provider.get("/stats")
    assert len(texts) == 1
    assert stats["ok"]["total"] == 3
    assert stats["by_status"].get("429", 0) == stats["violations"]["total"]


def test_token_limits_count_prompt_and_completion(start):
    provider = start(tpm=400, window_s=3600)
    provider.ask()
    with pytest.raises(openai.RateLimitError):
        provider.ask()

    assert provider.get("/stats")["violations"]["tpm"] == 1


def test_a_call_that_failed_can_succeed_when_it_is_asked_again(start):
    provider = start(error_rate=0.5)
    outcomes = []
    for number in range(8):
        for _ in range(40):
            try:
                provider.ask(f"Write note {number}.")
            except openai.InternalServerError as error:
                outcomes.append(error.status_code)
            else:
                break
        else:
            pytest.fail("no retry succeeded")

    assert 500 in outcomes
    assert provider.get("/stats")["ok"]["target"] == 8


def test_dropped_connections_are_connection_errors(start):
    provider = start(drop_rate=1.0)
    with pytest.raises(openai.APIConnectionError) as dropped:
        provider.ask()

    assert not isinstance(dropped.value, openai.APITimeoutError)
    assert provider.get("/stats")["by_status"] == {"dropped": 1}


def test_a_stalled_call_times_out_and_is_no_longer_in_flight(start):
    provider = start(stall_rate=1.0)
    with provider.client_with(timeout=0.2) as hasty, pytest.raises(openai.APITimeoutError):
        provider.ask(client=hasty)

    stats = provider.stats_when(lambda stats: stats["in_flight"] == 0)
    assert stats["by_status"] == {"abandoned": 1}


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("500", openai.InternalServerError),
        ("refuse", openai.APIConnectionError),
        ("stall", openai.APITimeoutError),
    ],
)
def test_an_outage_begins_and_ends_on_command(start, kind, error):
    provider = start()
    provider.ask()
    provider.control(outage_calls=2, outage_kind=kind)
    with provider.client_with(timeout=0.3 if kind == "stall" else DEADLINE_S) as client:
        for _ in range(2):
            with pytest.raises(error):
                provider.ask(client=client)
    provider.ask()

    provider.control(outage_s=3600)
    with pytest.raises(openai.InternalServerError):
        provider.ask()
    settings = provider.control(outage_s=0)
    assert settings["outage_s"] == 0
    provider.ask()


def test_faults_change_at_run_time_and_unknown_keys_are_refused(start):
    provider = start(error_rate=1.0)
    with pytest.raises(openai.InternalServerError):
        provider.ask()
    assert provider.control(error_rate=0, latency_s=0.01)["error_rate"] == 0
    provider.ask()
    assert provider.get("/stats")["calls"]["total"] == 2
    provider.control(reset_stats=True)
    assert provider.get("/stats")["calls"]["total"] == 0

    with pytest.raises(urllib.error.HTTPError) as refused:
        provider.control(eror_rate=1)
    assert refused.value.code == 400
    with refused.value:
        assert "eror_rate" in json.load(refused.value)["error"]["message"]
    provider.ask()


def test_garbage_and_truncated_replies_are_still_valid_completions(start):
    garbage = start(garbage_rate=1.0).ask(system='Include "Certainty:".').choices[0]
    cut = start(truncated_rate=1.0).ask().choices[0]

    assert "Certainty:" not in garbage.message.content
    assert cut.finish_reason == "length"


def test_statistics_tell_roles_repeats_and_concurrency(start):
    provider = start(latency_s=0.2)
    optimizer = 'Reply with {"reasoning": "", "selected_indices": []}.'
    judge = 'Reply with {"score": 1, "reason": ""}.'
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(provider.ask, f"Write note {n % 4}.") for n in range(8)]
        for call in calls:
            call.result()
    provider.control(latency_s=0)
    provider.ask("## Edits\n\n[]", system=optimizer)
    provider.ask("## Answer\n\nYes.", system=judge)

    stats = provider.get("/stats")
    assert stats["calls"] == {"target": 8, "optimizer": 1, "judge": 1, "unreadable": 0, "total": 10}
    assert stats["ok"] == {"target": 8, "optimizer": 1, "judge": 1, "total": 10}
    assert (stats["distinct_contents"], stats["max_repeats"]) == (6, 2)
    assert 2 <= stats["peak_concurrency"] <= 8
    assert stats["in_flight"] == 0


def ask_optimizer(provider, stage, user, mode="form_edits"):
    """Ask as the loop does: a packaged prompt and the sections it speaks of."""
    texts = packaged()
    slots = {"form": texts[mode], "skill_aware": texts["skill_aware"], "documents": ""}
    reply = provider.ask(user, system=fill(texts[stage], slots))
    return json.loads(reply.choices[0].message.content)


def test_every_form_of_the_loop_is_answered_and_counted_as_the_optimizers(start):
    provider = start()
    skill = "## Current skill\n\n~~~~\n# Notes\n~~~~\n\n"
    failing = f'{skill}## Failing criteria\n\n- the answer contains "Alpha" (failed in 2 of 2)\n'
    rows = [{"index": 0, "type": "add_rule", "instruction": 'Add "Alpha".', "support": 2}]
    listed = json.dumps(rows, indent=1)

    suggested = ask_optimizer(provider, "reflect_failure", failing, "form_suggestions")
    [suggestion] = suggested["patch"]["revise_suggestions"]
    assert "Alpha" in suggestion["instruction"]
    assert suggested["appendix_notes"] == []
    merged = ask_optimizer(
        provider, "merge", f"{skill}## Proposed suggestions\n\n{listed}", "form_suggestions"
    )
    assert len(merged["revise_suggestions"]) == 1
    rewritten = ask_optimizer(provider, "rewrite", f"{skill}## Suggestions\n\n{listed}")
    assert 'Add "Alpha".' in rewritten["new_skill"]
    condensed = ask_optimizer(provider, "consolidate", '## Notes\n\n["A.", "B."]')
    assert condensed == {"appendix_notes": ["A. B."]}
    comparison = '### regressed: 1 task\n\nFailed:\n- the answer contains "Alpha": it lacks it'
    guided = ask_optimizer(provider, "slow_update", f"{skill}## Comparison\n\n{comparison}")
    assert "Alpha" in guided["slow_update_content"]

    assert provider.get("/stats")["ok"]["optimizer"] == 5


def test_a_megabyte_of_prompt_is_answered(start):
    provider = start()
    skill = "".join(f"Remark {n} on what notes are like.\n\n" for n in range(30_000))
    shorter = ask_optimizer(
        provider,
        "compress",
        f"## Current skill\n\n~~~~\n{skill}\n~~~~\n\n## Limit\n\nat most 1000 characters",
    )

    assert len(skill) > 1_000_000
    assert 0 < len(shorter["new_skill"]) <= 1_000


def test_samples_differ_by_chance_if_noise_is_asked_for(start):
    provider = start(sample_noise=0.5)
    replies = [
        provider.ask(system='Include "Certainty:".', extra_headers={"X-Skillopt-Sample": str(n)})
        for n in range(20)
    ]
    followed = ["Certainty:" in reply.choices[0].message.content for reply in replies]

    assert set(followed) == {True, False}


def test_the_behaviour_is_published(start):
    provider = start(seed=3)
    behaviour = SimulatorOptions(seed=3).behaviour

    assert provider.get("/behaviour") == {"behaviour": behaviour}
    [entry] = provider.get("/v1/models")["data"]
    assert (entry["id"], entry["behaviour"]) == ("sim", behaviour)
    assert [model.id for model in provider.client.models.list()] == ["sim"]
    assert provider.get("/health") == {"status": "ok"}


def test_a_port_in_use_is_a_plain_error(start):
    port = start().address.port

    with (
        pytest.raises(ConfigError, match="choose another port"),
        running(SimulatorOptions(port=port)),
    ):
        pytest.fail("two servers on one port")


def test_the_module_serves_until_it_is_told_to_stop(tmp_path):
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "skillopt.simulator", "--seed", "7", "--port-file"]
    process = subprocess.Popen([*command, str(port_file)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith("simulator listening on http://127.0.0.1:")
        url = f"http://127.0.0.1:{int(port_file.read_text())}/behaviour"
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as reply:
            assert json.load(reply) == {"behaviour": SimulatorOptions(seed=7).behaviour}
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert [path.name for path in tmp_path.iterdir()] == ["port"]


def test_the_module_refuses_other_hosts():
    command = [sys.executable, "-m", "skillopt.simulator", "--host", "0.0.0.0"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert finished.returncode == 2
    assert "'0.0.0.0'" in finished.stderr
    assert "Traceback" not in finished.stderr
