"""Owning a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lead:
    """Proof of owning a run: a fence that only grows, and the owner's own nonce."""

    run: str
    owner: str
    fence: int
