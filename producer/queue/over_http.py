"""The team queue by way of its HTTP API."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import TypeAdapter

from producer.archives import ArchiveLimits, extract
from producer.exporting import MANIFEST, require_room
from producer.queue.http_connection import HttpConnection
from producer.queue.http_replies import read_reply, require_success
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
from producer.queue.packing import pack_spec
from producer.queue.port import SpendBy
from skillopt.errors import StateUnavailable

_Value = TypeVar("_Value")
_ENDED: Final = frozenset({"finished", "cancelled"})
#: A stream that says nothing for so long is dead: the server says something every 15 s.
_SILENCE_S: Final = 60.0
_CONNECT_S: Final = 10.0
_RECONNECT_S: Final = 1.0
#: Connections that break one after another without a word before the server counts as away.
_BREAKS: Final = 10
_LARGEST_MESSAGE_BYTES: Final = 64 * 1024**2
_EXPORT_LIMITS: Final = ArchiveLimits(files=60_000, file_bytes=4 * 1024**3, total_bytes=8 * 1024**3)


class HttpQueue:
    """Speaks to `skillopt serve`. Raises NotAllowed for what the token may not do, InputError for
    what is wrong with a request, StateUnavailable if the server stays away.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        plain_http: bool = False,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._http = HttpConnection(url, token, plain_http=plain_http, wait=wait)
        self._wait = wait

    def submit(self, spec: Path, tags: Tags, *, overrides: Sequence[str] = ()) -> RunRow:
        with tempfile.TemporaryDirectory(prefix="skillopt-submit-") as folder:
            packed = pack_spec(spec, Path(folder) / "spec.zip", overrides)
            query: dict[str, str | list[str]] = {
                "spec": packed.spec,
                "label": _written(tags.labels),
                "set": [*overrides, f"name={packed.name}"],
            }
            if "priority" in tags.model_fields_set:
                query["priority"] = tags.priority
            response = self._http.upload("/runs", packed.archive, query)
        return read_reply(response, TypeAdapter(RunRow))

    def runs(
        self,
        *,
        owner: str | None = None,
        phase: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        given = {"owner": owner, "phase": phase}
        query = {name: value for name, value in given.items() if value is not None}
        return self._get(
            "/runs",
            TypeAdapter(list[RunRow]),
            {**query, "label": _written(labels or {}), "limit": limit},
        )

    def status(self, run: str) -> RunStatus:
        return self._get(_path(run), TypeAdapter(RunStatus))

    def pause(self, run: str) -> ControlReply:
        return self._steer(run, "pause")

    def resume(self, run: str) -> ControlReply:
        return self._steer(run, "resume")

    def cancel(self, run: str) -> ControlReply:
        return self._steer(run, "cancel")

    def retune(self, run: str, retuning: Retuning) -> ControlReply:
        response = self._http.request("PATCH", _path(run), body=retuning.given())
        return read_reply(response, TypeAdapter(ControlReply))

    def curve(self, run: str) -> list[CurveRow]:
        return self._get(_path(run, "curve"), TypeAdapter(list[CurveRow]))

    def gates(self, run: str) -> list[GatePage]:
        return self._get(_path(run, "gates"), TypeAdapter(list[GatePage]))

    def diff(self, run: str, label: str = "best") -> DiffPage:
        return self._get(_path(run, "diff"), TypeAdapter(DiffPage), {"label": label})

    def blame(self, run: str) -> list[dict[str, Any]]:
        return self._get(_path(run, "blame"), TypeAdapter(list[dict[str, Any]]))

    def records(
        self,
        run: str,
        *,
        step: int | None = None,
        task: str | None = None,
        call: str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        given = {"step": step, "task": task, "call": call, "limit": limit}
        query = {name: value for name, value in given.items() if value is not None}
        return self._get(_path(run, "records"), TypeAdapter(list[dict[str, Any]]), query)

    def events(self, run: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        query = {"after": after, "limit": limit}
        return self._get(_path(run, "events"), TypeAdapter(list[EventRow]), query)

    def follow(self, run: str, *, after: int = 0) -> Iterator[EventRow | RunStatus]:
        """Give events and statuses as they come; a broken connection is taken up again."""
        breaks = 0
        while breaks < _BREAKS:
            try:
                for one in self._stream(run, after):
                    breaks = 0
                    if isinstance(one, EventRow):
                        after = one.seq
                    yield one
                    if isinstance(one, RunStatus) and one.row.phase in _ENDED:
                        return
            except (httpx2.TransportError, StateUnavailable):
                breaks += 1
            self._wait(_RECONNECT_S)
        raise StateUnavailable(
            f"the server at {self._http.url!r} broke off {_BREAKS} times in a row; is it up?"
        )

    def fleet(self) -> FleetPage:
        return self._get("/fleet", TypeAdapter(FleetPage))

    def set_limits(self, backend: str, limits: Mapping[str, float | None]) -> None:
        path = f"/backends/{quote(backend, safe='')}/limits"
        self._http.request("PATCH", path, body=dict(limits))

    def quotas(self) -> list[Quota]:
        return self._get("/quotas", TypeAdapter(list[Quota]))

    def set_quota(self, quota: Quota) -> None:
        change = quota.model_dump(include={"max_runs", "max_window"})
        self._http.request("PUT", f"/quotas/{quote(quota.owner, safe='')}", body=change)

    def spend(self, by: SpendBy, *, since_s: float | None = None) -> list[SpendRow]:
        query: dict[str, str | float] = {"by": by}
        if since_s is not None:
            query["since"] = since_s
        return self._get("/spend", TypeAdapter(list[SpendRow]), query)

    def export(self, run: str, destination: Path, *, records: bool = True) -> dict[str, Any]:
        """Bring a run's artifacts into a new or empty folder."""
        require_room(destination)
        with tempfile.TemporaryDirectory(prefix="skillopt-export-") as folder:
            archive = Path(folder) / "run.zip"
            self._http.download(_path(run, "export"), {"records": records}, archive)
            extract(archive, destination, _EXPORT_LIMITS)
        exported: dict[str, Any] = json.loads((destination / MANIFEST).read_text(encoding="utf-8"))
        return {**exported, "folder": str(destination.resolve())}

    def close(self) -> None:
        self._http.close()

    def _get(
        self,
        path: str,
        form: TypeAdapter[_Value],
        query: Mapping[str, str | int | float | bool | list[str]] | None = None,
    ) -> _Value:
        return read_reply(self._http.request("GET", path, query=query), form)

    def _steer(self, run: str, verb: str) -> ControlReply:
        # Asking twice changes nothing more.
        response = self._http.request("POST", _path(run, verb))
        return read_reply(response, TypeAdapter(ControlReply))

    def _stream(self, run: str, after: int) -> Iterator[EventRow | RunStatus]:
        timeout = httpx2.Timeout(_SILENCE_S, connect=_CONNECT_S)
        with self._http.client.sse(
            _path(run, "stream"),
            params={"after": after},
            timeout=timeout,
            max_event_size=_LARGEST_MESSAGE_BYTES,
        ) as source:
            require_success(source.response)
            for message in source:
                if message.event == "event":
                    yield EventRow.model_validate_json(message.data)
                elif message.event == "status":
                    yield RunStatus.model_validate_json(message.data)


def _path(run: str, *more: str) -> str:
    return "/".join(("/runs", quote(run, safe=""), *more))


def _written(labels: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in labels.items()]
