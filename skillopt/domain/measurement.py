"""Scores: of one item, and of a document on a set of items."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.item import SplitName


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ItemScore(_Record):
    """One item's score, the mean over its samples.

    `scored` items have both values; others have none. `left_out`: a person decided so.
    """

    status: Literal["scored", "invalid", "missing", "left_out"]
    hard: float | None = None
    soft: float | None = None


class Measurement(_Record):
    """A document on a set of items. Means are over scored items and null if there are none."""

    skill: str
    split: SplitName
    items: dict[str, ItemScore]

    @property
    def scored(self) -> list[ItemScore]:
        return [score for score in self.items.values() if score.status == "scored"]

    @property
    def n(self) -> int:
        return len(self.scored)

    @property
    def coverage(self) -> float:
        """Scored items as a share of those that can be scored at all; an item that a person
        left out still counts as one without a score.
        """
        return self._share_of("scored", "missing", "left_out")

    @property
    def completeness(self) -> float:
        """Scored items as a share of those that a result is still wanted for."""
        return self._share_of("scored", "missing")

    def _share_of(self, *statuses: str) -> float:
        counted = sum(score.status in statuses for score in self.items.values())
        return self.n / counted if counted else 0.0

    @property
    def hard(self) -> float | None:
        return _mean([score.hard for score in self.scored if score.hard is not None])

    @property
    def soft(self) -> float | None:
        return _mean([score.soft for score in self.scored if score.soft is not None])


def _mean(values: list[float]) -> float | None:
    # Exactly rounded: a gate's order of the items is not that of the file.
    return math.fsum(values) / len(values) if values else None
