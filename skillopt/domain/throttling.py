"""Why a call has to wait for its turn, in words for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

#: What stands in a call's way: a pause that the provider asked for, an endpoint that fails, the
#: calls at a time, the requests or the tokens per minute.
ThrottleReason = Literal["hold", "breaker", "slots", "rpm", "tpm"]

#: Shorter waits are told without a time: it would change faster than anybody reads.
SHORT_S = 5.0


@dataclass(frozen=True)
class Waiting:
    """What calls of a backend wait for now, and for how long still."""

    why: ThrottleReason
    for_s: float
    #: The last failure of an endpoint; the calls allowed at a time.
    detail: str = ""


def waiting_for(backend: str, waiting: Waiting, now: datetime) -> str:
    """Say what calls of a backend wait for, and until when; `now` is in UTC."""
    until = _clock(waiting.for_s, now) if waiting.for_s >= SHORT_S else ""
    if waiting.why == "breaker":
        again = f"it is tried again at {until}" if until else "it is being tried again"
        return f"the endpoint of backend {backend!r} is down ({waiting.detail}): {again}"
    cause = {
        "hold": "the provider asked for a pause",
        "slots": f"{waiting.detail} {'call' if waiting.detail == '1' else 'calls'} at a time",
        "rpm": "requests per minute",
        "tpm": "tokens per minute",
    }[waiting.why]
    return f"throttled by {backend!r}{f' until {until}' if until else ''} ({cause})"


def _clock(after_s: float, now: datetime) -> str:
    return f"{now + timedelta(seconds=after_s):%H:%M:%S} UTC"
