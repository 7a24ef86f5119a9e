"""What a run is doing right now, as its coordinator tells people. Never used for a decision."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class RunView(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    #: "baseline", "step 3 / gate", "final test" …
    stage: str = ""
    done: int = 0
    total: int = 0
    in_flight: int = 0
    #: Results that this run had without paying for them.
    cache_hits: int = 0
    #: Backends that have suspected poison waiting for a worker of its own.
    quarantine: tuple[str, ...] = ()
    #: Why it does not move, in words; "" while it does.
    waiting: str = ""
