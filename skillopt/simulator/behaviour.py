"""What the simulated model answers: a pure function of the request and the options."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from skillopt.domain.seeds import stream
from skillopt.domain.usage import Role
from skillopt.simulator import analyst, json_forms, merging
from skillopt.simulator.attempt import Attempt, attempt
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.request import ChatRequest

Form = Literal[
    "target",
    "failures",
    "successes",
    "merge",
    "rank",
    "slow_update",
    "meta_skill",
    "rewrite",
    "learning_rate",
    "rubric",
]

_CHARACTERS_PER_TOKEN = 4

#: The field names that a prompt mentions when it asks for a form, most telling first.
_FIELDS: tuple[tuple[Form, tuple[str, ...]], ...] = (
    ("failures", ("failure_summary",)),
    ("successes", ("success_patterns",)),
    ("rank", ("selected_indices",)),
    ("slow_update", ("slow_update_content",)),
    ("meta_skill", ("meta_skill_content",)),
    ("rewrite", ("new_skill",)),
    ("learning_rate", ("learning_rate", "risk_notes")),
    ("merge", ("support_count", "edits")),
    ("rubric", ("score", "reason")),
)
_FIELD_NAME = re.compile(r"[\"'`]([a-z_]+)[\"'`]")


@dataclass(frozen=True)
class Reply:
    """What the model says, before the transport does anything to it."""

    text: str
    role: Role
    finish_reason: Literal["stop", "length", "tool_calls"] = "stop"
    tool: str | None = None
    tool_arguments: str = "{}"

    @property
    def completion_tokens(self) -> int:
        said = self.text if self.tool is None else self.tool + self.tool_arguments
        return tokens(len(said))


def tokens(characters: int) -> int:
    """Count tokens as a quarter of the characters, rounded up."""
    return -(-characters // _CHARACTERS_PER_TOKEN)


def form_asked_for(request: ChatRequest) -> Form:
    """Tell from the text alone which form of reply is asked for.

    Instructions come first: what a system message asks for is never outweighed by field names
    that a document or an attempt in the user's message happens to mention.
    """
    for texts in (request.texts("system", "developer"), request.texts("user")):
        mentioned = {name for text in texts for name in _FIELD_NAME.findall(text)}
        for form, names in _FIELDS:
            if mentioned.issuperset(names):
                return form
    return "target"


def role_of(form: Form) -> Role:
    if form == "target":
        return "target"
    return "judge" if form == "rubric" else "optimizer"


def reply_to(request: ChatRequest, options: SimulatorOptions) -> Reply:
    """Answer a request; the same content and sample always get the same answer."""
    form = form_asked_for(request)
    rng = stream(options.seed, "reply", request.content, request.sample)
    noise = stream(options.seed, "noise", request.content, request.sample)
    if form == "target":
        reply = _said(attempt(request, options, rng))
    else:
        reply = Reply(_json_reply(form, request, options, rng), role_of(form))
    if reply.tool is None and noise.random() < options.garbage_rate:
        reply = Reply(_garbage(noise), reply.role)
    return _cut(reply, request, cut_off=noise.random() < options.truncated_rate)


def _said(made: Attempt) -> Reply:
    if made.tool is None:
        return Reply(made.text, "target")
    return Reply("", "target", "tool_calls", made.tool, made.tool_arguments)


def _json_reply(
    form: Form, request: ChatRequest, options: SimulatorOptions, rng: random.Random
) -> str:
    said = "\n\n".join(request.texts("user"))
    answer = _answers(options, rng)[form](said)
    if form != "rubric" and rng.random() < options.malformed_rate:
        return json_forms.malformed(answer, rng)
    return json.dumps(answer, ensure_ascii=False)


def _answers(
    options: SimulatorOptions, rng: random.Random
) -> dict[str, Callable[[str], dict[str, Any]]]:
    return {
        "failures": lambda said: analyst.reflect_on_failures(said, options, rng),
        "successes": lambda said: analyst.reflect_on_successes(said, options, rng),
        "merge": merging.merge,
        "rank": merging.rank,
        "slow_update": json_forms.slow_update,
        "meta_skill": json_forms.meta_skill,
        "rewrite": json_forms.rewrite,
        "learning_rate": json_forms.learning_rate,
        "rubric": json_forms.rubric_score,
    }


def _garbage(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_letters + " {}[]<>#@%&", k=80))


def _cut(reply: Reply, request: ChatRequest, *, cut_off: bool) -> Reply:
    """Cut a reply at the request's token limit, or in the middle if it is to be cut off."""
    body = request.body
    limit = body.max_completion_tokens or body.max_tokens
    room = len(reply.text) if limit is None else limit * _CHARACTERS_PER_TOKEN
    if cut_off:
        room = min(room, len(reply.text) // 2)
    if reply.tool is not None or room >= len(reply.text):
        return reply
    return Reply(reply.text[:room], reply.role, "length")
