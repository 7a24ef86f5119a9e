"""The form a reply must have, as a JSON schema that a server can enforce."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.domain.misread import in_short
from skillopt.errors import NotUnderstood


class ReplySchema(BaseModel):
    """Requested where a server can do it; a reply is validated by us all the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Letters, digits, `_` and `-`: servers put it into their logs and errors.
    name: str
    #: Every object closed (`additionalProperties: false`) and every property required, as strict
    #: servers want it; what may be missing is nullable instead.
    body: dict[str, Any]

    @cached_property
    def encoded(self) -> bytes:
        """The bytes that are stored and hashed.

        Properties keep their order, unlike in canonical JSON: a server lets the model write them
        in it, so a model that should reason first needs them so.
        """
        return json.dumps(
            {"name": self.name, "body": self.body}, separators=(",", ":"), ensure_ascii=False
        ).encode()


def decode_schema(encoded: bytes) -> ReplySchema:
    """Read a stored schema; raises NotUnderstood for anything else."""
    try:
        return ReplySchema.model_validate_json(encoded)
    except ValidationError as error:
        raise NotUnderstood(
            f"a stored reply schema is not understood: {in_short(error)}"
        ) from error
