from __future__ import annotations

import asyncio

import pytest

from skillopt.backends.anthropic_messages import AnthropicMessages, messages_url
from skillopt.backends.registry import open_backend
from skillopt.domain.backend import Backend, Params
from skillopt.errors import ConfigError

KEYED = Backend(
    name="claude",
    kind="anthropic_messages",
    model="m",
    api_key_env="MY_KEY",
    params=Params(max_output_tokens=9),
)


def opened(key: str = "one", **changes: object) -> AnthropicMessages:
    async def open_and_close() -> AnthropicMessages:
        chat = open_backend(KEYED.model_copy(update=changes), {"MY_KEY": key})
        assert isinstance(chat, AnthropicMessages)
        await chat.close()
        return chat

    return asyncio.run(open_and_close())


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (None, "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9/v1/messages"),
        ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/messages"),
        ("https://h/anthropic/", "https://h/anthropic/v1/messages"),
    ],
)
def test_a_base_url_may_end_in_v1_or_not(base_url, url) -> None:
    assert messages_url(base_url) == url


@pytest.mark.parametrize(
    "base_url", ["https://example.org", "http://api.anthropic.com", "http://example.org/v1"]
)
def test_a_worker_sends_no_key_to_a_host_that_nobody_named(base_url) -> None:
    with pytest.raises(ConfigError, match="'claude' would send its key to 'http"):
        opened(base_url=base_url)
    assert opened(base_url=base_url, api_key_env=None)


def test_a_worker_sends_the_key_to_a_host_that_was_named_but_only_encrypted() -> None:
    assert opened(base_url="https://example.org", allowed_hosts=("example.org",))
    with pytest.raises(ConfigError, match="use https"):
        opened(base_url="http://example.org", allowed_hosts=("example.org",))


@pytest.mark.parametrize("key", ["one\n", "ключ"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key) -> None:
    with pytest.raises(ConfigError, match="'MY_KEY' holds characters") as caught:
        opened(key)
    assert key.strip() not in str(caught.value)


def test_a_missing_key_and_a_missing_limit_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'MY_KEY'.*export MY_KEY="):
        opened("")
    with pytest.raises(ConfigError, match=r"no params\.max_output_tokens"):
        opened(params=Params())


def test_calls_of_one_key_at_one_address_are_held_together_and_no_others() -> None:
    at = "http://127.0.0.1:9"
    first, same = opened().credential, opened(model="other").credential
    others = {opened("two").credential, opened(base_url=at).credential}
    assert first == same
    assert len({first, *others}) == 3
    assert "one" not in first


def test_what_stays_on_this_machine_takes_no_proxy(monkeypatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example.org:3128")
    monkeypatch.setenv("https_proxy", "http://proxy.example.org:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert opened(base_url="http://127.0.0.1:9")._proxy is None
    assert opened()._proxy == "http://proxy.example.org:3128"
