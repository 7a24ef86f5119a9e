"""What a team does with its queue; `RedisQueue` and `HttpQueue` do it alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from producer.queue.models import (
    ControlReply,
    CurveRow,
    DiffPage,
    EventRow,
    FleetPage,
    GatePage,
    Quota,
    Retuning,
    RunRow,
    RunStatus,
    SpendRow,
    Tags,
)

SpendBy = Literal["owner", "team", "backend", "run"]


class Queue(Protocol):
    """RUN is an id, a name, a unique prefix of an id, or "last"; InputError names candidates."""

    def submit(self, spec: Path, tags: Tags, *, overrides: Sequence[str] = ()) -> RunRow: ...

    def runs(
        self,
        *,
        owner: str | None = None,
        phase: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]: ...

    def status(self, run: str) -> RunStatus: ...

    def pause(self, run: str) -> ControlReply: ...

    def resume(self, run: str) -> ControlReply: ...

    def cancel(self, run: str) -> ControlReply: ...

    def retune(self, run: str, retuning: Retuning) -> ControlReply: ...

    def curve(self, run: str) -> list[CurveRow]: ...

    def gates(self, run: str) -> list[GatePage]: ...

    def diff(self, run: str, label: str = "best") -> DiffPage: ...

    def blame(self, run: str) -> list[dict[str, Any]]: ...

    def records(
        self,
        run: str,
        *,
        step: int | None = None,
        task: str | None = None,
        call: str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """Give records as `skillopt show --json` prints them."""
        ...

    def events(self, run: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]: ...

    def follow(self, run: str, *, after: int = 0) -> Iterator[EventRow | RunStatus]:
        """Give events as they come, and the status whenever it changed, until the run ends."""
        ...

    def fleet(self) -> FleetPage: ...

    def set_limits(self, backend: str, limits: Mapping[str, float | None]) -> None: ...

    def quotas(self) -> list[Quota]: ...

    def set_quota(self, quota: Quota) -> None: ...

    def spend(self, by: SpendBy, *, since_s: float | None = None) -> list[SpendRow]: ...

    def export(self, run: str, destination: Path, *, records: bool = True) -> dict[str, Any]: ...

    def close(self) -> None: ...
