"""What a run is doing right now, as its coordinator tells people. Never used for a decision."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class ShareView(BaseModel):
    """What a run has of one backend, and how much it may have and could use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str
    in_flight: int
    window: int
    wanted: int


class RunView(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    #: "baseline", "step 3 / gate", "final test" …
    stage: str = ""
    done: int = 0
    total: int = 0
    in_flight: int = 0
    #: Results that this run had without paying for them.
    cache_hits: int = 0
    #: Model replies it goes by, whoever paid for them.
    replies: int = 0
    #: Backends that have suspected poison waiting for a worker of its own.
    quarantine: tuple[str, ...] = ()
    shares: tuple[ShareView, ...] = ()
    #: Why it does not move, in words; "" while it does.
    waiting: str = ""


def read_view(stored: str | None) -> RunView:
    """Read what a coordinator told, which may be of another version: for people, so never refused.

    Nothing was told lately: an empty view.
    """
    if stored is None:
        return RunView()
    try:
        return RunView.model_validate_json(stored)
    except ValidationError:
        return RunView(waiting="its coordinator, of another version, tells nothing known here")
