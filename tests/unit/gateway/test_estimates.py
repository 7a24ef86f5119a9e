from __future__ import annotations

import pytest

from skillopt.domain.item import Tool
from skillopt.domain.messages import IMAGE_TOKENS, Image, Message, ToolCall
from skillopt.domain.reply_schema import ReplySchema
from skillopt.gateway.estimates import (
    MESSAGE_TOKENS,
    MOST_IMAGE_TOKENS,
    largest_prompt,
    probable_prompt,
)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("", 0),
        ("a", 1),
        ("word " * 100, 250),
        # Three bytes each: models make about one token of such a character.
        ("漢字" * 50, 150),
        # Four bytes each.
        ("🦓" * 10, 20),
    ],
)
def test_two_bytes_are_at_least_a_token(text: str, most: int):
    assert largest_prompt([Message(role="user", content=text)]) == most + MESSAGE_TOKENS


def test_everything_that_is_sent_takes_room():
    plain = [Message(role="user", content="x" * 40)]
    asked = [Message(role="user", content="x" * 40), Message(role="assistant", content="")]
    called = asked[1].model_copy(update={"tool_calls": (ToolCall(id="1", name="find"),)})
    pictured = plain[0].model_copy(update={"images": (Image(media_type="image/png", sha256="0"),)})
    base = largest_prompt(plain)
    assert largest_prompt(asked) == base + MESSAGE_TOKENS
    assert largest_prompt([plain[0], called]) > largest_prompt(asked)
    assert largest_prompt([pictured]) == base + MOST_IMAGE_TOKENS
    assert largest_prompt(plain, [Tool(name="find")]) > base
    assert largest_prompt(plain, (), ReplySchema(name="form", body={"type": "object"})) > base


def test_what_is_probable_is_less_than_what_is_possible():
    picture = Image(media_type="image/png", sha256="0")
    message = Message(role="user", content="plain words " * 50, images=(picture,))
    assert probable_prompt([message]) == 150 + IMAGE_TOKENS
    assert probable_prompt([message]) < largest_prompt([message])
