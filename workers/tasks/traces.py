"""What a job keeps of its calls: what was said in them, and what they took."""

from __future__ import annotations

import time

from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.messages import Message, encode_messages
from skillopt.domain.results import Receipt
from skillopt.gateway.gateway import JobCalls
from workers.container import Container
from workers.patience import patiently

#: Longer conversations are kept without their middle.
TRAJECTORY_LIMIT = 256_000


def receipt_of(container: Container, calls: JobCalls, started: float) -> Receipt:
    """Sum the calls of a job up, which began at `started` on the monotonic clock."""
    return Receipt(
        worker=container.name,
        seconds=round(time.monotonic() - started, 3),
        calls=calls.calls,
        input_tokens=calls.usage.input_tokens,
        output_tokens=calls.usage.output_tokens,
        cost_micro_usd=calls.micro_usd,
        estimated=calls.usage.estimated,
    )


def store_trajectory(container: Container, messages: tuple[Message, ...]) -> str:
    """Store a conversation; gives the name of its blob."""
    kept = encode_messages(messages)
    if len(kept) > TRAJECTORY_LIMIT:
        room = TRAJECTORY_LIMIT // (2 * len(messages))
        cut = tuple(
            message.model_copy(update={"content": _ends(message.content, room)})
            for message in messages
        )
        kept = encode_messages(cut)
    patiently(lambda: container.state.blobs.put([kept]))
    return sha256_hex(kept)


def _ends(text: str, room: int) -> str:
    return text if len(text) <= 2 * room else f"{text[:room]}\n[… cut …]\n{text[-room:]}"
