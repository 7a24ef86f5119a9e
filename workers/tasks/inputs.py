"""The texts a job refers to."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.errors import StateCorrupt
from workers.container import Container, patiently


def load(container: Container, hashes: Sequence[str]) -> dict[str, bytes]:
    """Read blobs; a missing one gives the job back, and the coordinator stores it anew."""
    found = patiently(lambda: container.state.blobs.get(hashes))
    for wanted in hashes:
        if wanted not in found:
            raise StateCorrupt(f"the text {wanted[:16]} is not stored (any more)")
    return found
