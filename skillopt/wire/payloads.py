"""What a queue message says: "please try this job". Ids and hashes only, never a text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import WireError
from skillopt.wire.tasks import WIRE_VERSION

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]


class TryJob(BaseModel):
    """The one message of the queue.

    `judge` is a hint: the blob of the judge whose local judgement may be committed together with
    the rollout. Losing it costs one more message, never a result.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: Literal[1] = 1
    job: Sha256
    run: Name
    backend: Name
    lane: Literal["normal", "quarantine"] = "normal"
    judge: Sha256 | None = None
    judge_version: int | None = None


class Addressed(BaseModel):
    """What every version of the message says: whose job it is, and which backend shall do it."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    version: Annotated[int, Field(ge=1)]
    job: Sha256
    run: Name
    backend: Name


def addressed(payload: Any) -> Addressed | None:  # noqa: ANN401 - whatever arrived
    """Read whom a message is about, of whichever version it is; None if it is none of ours."""
    try:
        return Addressed.model_validate(payload)
    except ValidationError:
        return None


def decode(payload: Any) -> TryJob:  # noqa: ANN401 - whatever arrived
    """Read a message; anything unexpected is a typed error, never a guess."""
    try:
        return TryJob.model_validate(payload)
    except ValidationError as error:
        raise WireError(
            f"message of version {_version(payload)} is not understood by version {WIRE_VERSION}: "
            f"{error.error_count()} problem(s)"
        ) from None  # its cause would quote what arrived


def _version(payload: Any) -> str:  # noqa: ANN401
    found = payload.get("version") if isinstance(payload, dict) else None
    known = type(found) is int and 0 <= found < 1_000_000
    return str(found) if known else "unknown"
