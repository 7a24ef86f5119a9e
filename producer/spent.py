"""Calls and tokens of a run, as its summary has them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from skillopt.domain.usage import ROLES
from skillopt.state.ports import Spend


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Calls(_Block):
    target: int
    optimizer: int
    judge: int
    total: int


class Tokens(_Block):
    """`estimated`: so many of them are our own count, as the provider reported none."""

    input: int
    output: int
    estimated: int = 0


def calls_of(spend: Spend) -> Calls:
    by_role = {role: spend.calls.get(role, 0) for role in ROLES}
    return Calls(**by_role, total=sum(by_role.values()))


def tokens_of(spend: Spend) -> Tokens:
    return Tokens(
        input=spend.input_tokens,
        output=spend.output_tokens,
        estimated=spend.estimated_tokens,
    )
