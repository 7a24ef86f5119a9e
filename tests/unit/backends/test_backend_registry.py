from __future__ import annotations

import asyncio

import pytest

from skillopt.backends.openai_chat import OPENAI_URL, OpenAIChat
from skillopt.backends.registry import open_backend
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError

KEYED = Backend(name="gpt", kind="openai_chat", model="m", api_key_env="MY_KEY")


async def opened(backend: Backend, **environ: str) -> OpenAIChat:
    chat = open_backend(backend, environ)
    assert isinstance(chat, OpenAIChat)
    await chat.close()
    return chat


@pytest.mark.parametrize("environ", [{}, {"MY_KEY": ""}])
def test_a_missing_key_names_the_variable_and_the_fix(environ) -> None:
    with pytest.raises(ConfigError, match=r"'gpt' needs .* 'MY_KEY'.*export MY_KEY="):
        open_backend(KEYED, environ)


@pytest.mark.parametrize("kind", ["openai_compatible", "simulated"])
def test_a_backend_without_an_address_is_refused(kind) -> None:
    with pytest.raises(ConfigError, match="'local' has no base_url"):
        open_backend(Backend(name="local", kind=kind, model="m"), {})


def test_calls_of_one_key_at_one_address_are_held_together_and_no_others() -> None:
    at = KEYED.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})

    async def credentials() -> list[str]:
        chats = [
            await opened(KEYED, MY_KEY="one"),
            await opened(KEYED.model_copy(update={"model": "other"}), MY_KEY="one"),
            await opened(KEYED, MY_KEY="two"),
            await opened(at, MY_KEY="one"),
        ]
        return [chat.credential for chat in chats]

    first, same, other_key, other_address = asyncio.run(credentials())
    assert first == same
    assert len({first, other_key, other_address}) == 3


def test_the_name_of_a_credential_does_not_hold_the_key() -> None:
    chat = asyncio.run(opened(KEYED, MY_KEY="abc"))
    assert "abc" not in chat.credential
    assert len(chat.credential) == 16


def test_no_variable_of_the_environment_redirects_a_backend(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    chat = asyncio.run(opened(KEYED, MY_KEY="one"))
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert chat.credential == asyncio.run(opened(KEYED, MY_KEY="one")).credential
    assert OPENAI_URL.startswith("https://")
