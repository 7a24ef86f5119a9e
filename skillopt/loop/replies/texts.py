"""Replies that are mainly one text: a rewritten document, guidance, or a memory."""

from __future__ import annotations

from typing import Any

from skillopt.domain.json_reply import extract_objects, several
from skillopt.domain.skill import without_markers
from skillopt.errors import ReplyError
from skillopt.loop.replies.values import (
    MOST_DOCUMENT_CHARS,
    Reply,
    first_of,
    is_unicode,
    lines_of,
    reasoning_of,
    sort_of,
)

#: Guidance stands in every later attempt, a memory in every later optimizer prompt.
MOST_GUIDANCE_CHARS = 8_000
_SUMMARY_ROWS = 20
_SUMMARY_CHARS = 500


class RewriteReply(Reply):
    """`new_skill` is as the model wrote it; its protected parts are put back by others."""

    reasoning: str = ""
    change_summary: tuple[str, ...] = ()
    new_skill: str
    problems: tuple[str, ...] = ()


class GuidanceReply(Reply):
    reasoning: str = ""
    content: str
    problems: tuple[str, ...] = ()


def parse_rewrite(text: str) -> RewriteReply:
    """Read a rewritten document; raises ReplyError without one."""
    objects = extract_objects(text, "new_skill")
    reply = objects[-1]
    return RewriteReply(
        reasoning=reasoning_of(reply),
        change_summary=lines_of(reply.get("change_summary"), _SUMMARY_ROWS, _SUMMARY_CHARS),
        new_skill=_required(reply, "new_skill", MOST_DOCUMENT_CHARS),
        problems=several(objects, "new_skill", "the last one counts"),
    )


def parse_slow_update(text: str) -> GuidanceReply:
    """Read the guidance of an epoch; raises ReplyError without any."""
    return _guidance(text, "slow_update_content")


def parse_meta_skill(text: str) -> GuidanceReply:
    """Read what the optimizer wants to remember; raises ReplyError without any."""
    return _guidance(text, "meta_skill_content")


def _guidance(text: str, key: str) -> GuidanceReply:
    objects = extract_objects(text, key)
    reply = objects[-1]
    written = _required(reply, key, MOST_GUIDANCE_CHARS).strip()
    content = without_markers(written).strip() if "<!--" in written else written
    if not content:
        raise ReplyError(f"{key!r} holds nothing but region markers; leave them out")
    problems = list(several(objects, key, "the last one counts"))
    if content != written:
        problems.append(f"{key} had region markers; they are left out")
    return GuidanceReply(
        reasoning=reasoning_of(reply), content=content, problems=first_of(problems)
    )


def _required(reply: dict[str, Any], key: str, most: int) -> str:
    value = reply[key]
    if not isinstance(value, str):
        raise ReplyError(f"{key!r} must be a text, not {sort_of(value)}")
    if not value.strip():
        raise ReplyError(f"{key!r} must not be empty")
    if not is_unicode(value):
        raise ReplyError(f"{key!r} is not valid Unicode")
    if len(value) > most:
        raise ReplyError(f"{key!r} has {len(value)} characters; write at most {most}")
    return value
