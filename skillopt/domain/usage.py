"""Tokens and money of model calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["target", "optimizer", "judge"]
ROLES: tuple[Role, ...] = ("target", "optimizer", "judge")

MICRO = 1_000_000

#: No call, and no run of an agent, takes more; a provider that says so has miscounted.
MOST_TOKENS_OF_A_CALL = 1_000_000_000
#: A dollar for each token: more is a slip of the pen, and sums of it would not fit into a counter.
MOST_USD_PER_MILLION = 1_000_000


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0, le=MOST_USD_PER_MILLION)
    output: float = Field(ge=0, le=MOST_USD_PER_MILLION)
    cached_input: float | None = Field(default=None, ge=0, le=MOST_USD_PER_MILLION)


@dataclass(frozen=True)
class Usage:
    """Tokens of one or several calls, as the provider reported them unless `estimated`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.estimated or other.estimated,
        )

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def credible(self) -> bool:
        """Whether it can be what one call took."""
        return self.total_tokens <= MOST_TOKENS_OF_A_CALL


def cost_micro_usd(usage: Usage, price: Price | None) -> int:
    """Cost in millionths of a dollar, rounded up so that a budget is never undercounted."""
    if price is None:
        return 0
    cached = min(usage.cached_input_tokens, usage.input_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    dollars_per_million = (
        (usage.input_tokens - cached) * price.input
        + cached * cached_price
        + usage.output_tokens * price.output
    )
    return -int(-dollars_per_million // 1)
