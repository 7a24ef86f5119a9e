"""The form a reply must have, as a JSON schema that a server can enforce."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class ReplySchema(BaseModel):
    """Requested where a server can do it; a reply is validated by us all the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Letters, digits, `_` and `-`: servers put it into their logs and errors.
    name: str
    #: Every object closed (`additionalProperties: false`) and every property required, as strict
    #: servers want it; what may be missing is nullable instead.
    body: dict[str, Any]
