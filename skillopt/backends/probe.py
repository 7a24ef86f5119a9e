"""Trying a backend out with one short call."""

from __future__ import annotations

import time
from collections.abc import Callable

from skillopt.backends.base import ChatBackend
from skillopt.domain.backend import Backend, Params
from skillopt.domain.messages import Message
from skillopt.domain.probe import ProbeReport

PROMPT = "Reply with the word OK and nothing else."

#: Enough for a model that thinks before it speaks; one that does not needs two or three.
MAX_OUTPUT_TOKENS = 1_024


async def probe(
    chat: ChatBackend, backend: Backend, *, clock: Callable[[], float] = time.monotonic
) -> ProbeReport:
    """Make one short call; raises a `CallError` for anything that is not the model's own answer.

    A reply that was cut off or refused is one: the model is there. An agent program makes the call
    inside a home of its own, which proves its login.
    """
    began = clock()
    reply = await chat.complete(
        [Message(role="user", content=PROMPT)], params=_short_reply(backend)
    )
    return ProbeReport(
        latency_s=round(clock() - began, 3),
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        estimated=reply.usage.estimated,
        finish_reason=reply.finish_reason,
    )


def _short_reply(backend: Backend) -> Params | None:
    """Bound the reply. All else is sent as calls of a run would send it, so that a parameter which
    the model refuses is found; None means the backend's own.

    The bound is left alone beside an `extra_body`, which may hold what must fit within it; an
    agent program takes none.
    """
    params = backend.params
    if backend.agent is not None or params.extra_body:
        return None
    bound = min(params.max_output_tokens or MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS)
    return params.model_copy(update={"max_output_tokens": bound})
