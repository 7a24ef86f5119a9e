"""What a server sends too much of: an answer without an end, an error that is a whole page."""

from __future__ import annotations

import pytest
from aiohttp import ClientConnectionResetError, web
from canned_provider import answering, failing
from wire_kinds import HTTP_WIRES, Wire, ask, named

from skillopt.backends.redaction import MESSAGE_LIMIT, as_message
from skillopt.errors import BadRequest, ServerFailed

every_kind = pytest.mark.parametrize(**named(HTTP_WIRES))


async def _without_end(request: web.Request) -> web.StreamResponse:
    stream = web.StreamResponse(headers={"Content-Type": "application/json"})
    await stream.prepare(request)
    try:
        while True:
            await stream.write(b" " * 1_000_000)
    except ClientConnectionResetError:  # the client has had enough
        return stream


@every_kind
def test_an_answer_without_an_end_is_given_up(wire: Wire) -> None:
    with answering(_without_end) as server, pytest.raises(ServerFailed) as raised:
        ask(wire.backend(server.root_url, timeout_s=60))
    assert "has more than 32000000 bytes" in str(raised.value)
    assert raised.value.may_be_billed


@every_kind
def test_an_error_that_is_one_long_word_is_shortened(wire: Wire) -> None:
    """It may quote a picture of the request, in base64."""
    refusing = failing(400, "bad picture " + "iVBORw0KGgo" * 100_000)
    with answering(refusing) as server, pytest.raises(BadRequest) as raised:
        ask(wire.backend(server.root_url))
    assert "bad picture iVBORw0KGgo" in str(raised.value)
    assert len(str(raised.value)) <= MESSAGE_LIMIT


@pytest.mark.parametrize("word", ["x", "a-", "x *", "**", "sk", "key."])
def test_a_long_text_is_looked_through_once(word: str) -> None:
    assert len(as_message(word * 1_000_000)) <= MESSAGE_LIMIT
