"""What the simulated model answers: a pure function of the request and the options."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from skillopt.domain.seeds import stream
from skillopt.domain.usage import Role
from skillopt.simulator import analyst, epoch_forms, json_forms, judging, merging, rewriting
from skillopt.simulator.attempt import Attempt, attempt
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.reply_form import in_form
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
    "consolidate",
    "learning_rate",
    "rubric",
]

_CHARACTERS_PER_TOKEN = 4

#: The field names that a prompt mentions when it asks for a form, most telling first. A form that
#: may list different things (edits, suggestions, documents) stands there once for each.
_FIELDS: tuple[tuple[Form, tuple[str, ...]], ...] = (
    ("failures", ("failure_summary",)),
    ("successes", ("success_patterns",)),
    ("rank", ("selected_indices",)),
    ("slow_update", ("slow_update_content",)),
    ("meta_skill", ("meta_skill_content",)),
    ("merge", ("reasoning", "skill_candidates")),
    ("rewrite", ("new_skill",)),
    ("learning_rate", ("learning_rate", "risk_notes")),
    ("merge", ("reasoning", "revise_suggestions")),
    ("merge", ("reasoning", "edits", "op")),
    ("merge", ("support_count", "edits")),
    ("consolidate", ("appendix_notes",)),
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
    return _asked(request)[0]


def _asked(request: ChatRequest) -> tuple[Form, frozenset[str]]:
    """Give the form asked for, and the field names that the asking text mentions."""
    for texts in (request.texts("system", "developer"), request.texts("user")):
        mentioned = frozenset(name for text in texts for name in _FIELD_NAME.findall(text))
        for form, names in _FIELDS:
            if mentioned.issuperset(names):
                return form, mentioned
    return "target", frozenset()


def role_of(form: Form) -> Role:
    if form == "target":
        return "target"
    return "judge" if form == "rubric" else "optimizer"


def reply_to(request: ChatRequest, options: SimulatorOptions) -> Reply:
    """Answer a request; the same content and sample always get the same answer."""
    form, fields = _asked(request)
    rng = stream(options.seed, "reply", request.content, request.sample)
    noise = stream(options.seed, "noise", request.content, request.sample)
    if form == "target":
        reply = _formed(_said(attempt(request, options, rng)), request)
    else:
        reply = Reply(_json_reply(form, fields, request, options, rng), role_of(form))
    if reply.tool is None and noise.random() < options.garbage_rate:
        reply = Reply(_garbage(noise), reply.role)
    return _cut(reply, request, cut_off=noise.random() < options.truncated_rate)


def _said(made: Attempt) -> Reply:
    if made.tool is None:
        return Reply(made.text, "target")
    return Reply("", "target", "tool_calls", made.tool, made.tool_arguments)


def _formed(reply: Reply, request: ChatRequest) -> Reply:
    asked = request.body.response_format
    if reply.tool is not None or asked is None or not asked.wants_json:
        return reply
    return replace(reply, text=in_form(reply.text, asked))


def _json_reply(
    form: Form,
    fields: frozenset[str],
    request: ChatRequest,
    options: SimulatorOptions,
    rng: random.Random,
) -> str:
    said = "\n\n".join(request.texts("user"))
    answer = _answers(fields, options, rng)[form](said)
    if rng.random() < options.malformed_rate:
        return json_forms.malformed(answer, rng)
    return json.dumps(answer, ensure_ascii=False)


def _answers(
    fields: frozenset[str], options: SimulatorOptions, rng: random.Random
) -> dict[str, Callable[[str], dict[str, Any]]]:
    return {
        "failures": lambda said: analyst.reflect_on_failures(said, fields, options, rng),
        "successes": lambda said: analyst.reflect_on_successes(said, fields, options, rng),
        "merge": lambda said: merging.merge(said, fields),
        "rank": merging.rank,
        "slow_update": lambda said: epoch_forms.slow_update(said, options, rng),
        "meta_skill": lambda said: epoch_forms.meta_skill(said, options, rng),
        "rewrite": lambda said: rewriting.rewrite(said, options, rng),
        "consolidate": lambda said: epoch_forms.consolidate(said, options, rng),
        "learning_rate": json_forms.learning_rate,
        "rubric": judging.rubric_verdict,
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
