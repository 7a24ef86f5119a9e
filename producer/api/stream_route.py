"""A run as it goes on, as server-sent events that a reader can take up again where it stopped."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated, Final

import anyio
from anyio import to_thread
from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from producer.api.access import Asking, CallersQueue, Parts, SeenRun
from producer.api.caller import Caller
from producer.api.failures import Refusal
from producer.api.parts import ApiParts
from producer.api.reading_routes import MOST_EVENTS
from producer.queue.models import EventRow, RunStatus
from producer.queue.port import Queue
from skillopt.errors import StateUnavailable

_PAGE: Final = 500
_ENDED: Final = frozenset({"finished", "cancelled"})
#: How long a reader whose connection broke waits before it comes back.
_RETRY_MS: Final = 2000
#: What passes by itself is no news.
_PASSING: Final = {"row": {"active_s", "eta_s"}}


def stream_routes() -> APIRouter:
    router = APIRouter(tags=["runs"])
    router.add_api_route(
        "/runs/{run}/stream",
        stream,
        methods=["GET"],
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    return router


async def stream(
    parts: Parts,
    caller: Asking,
    queue: CallersQueue,
    run: SeenRun,
    after: Annotated[int, Query(ge=0, le=MOST_EVENTS)] = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Send the run's events from `after` (or Last-Event-ID) on, and its status when it changes.

    It ends with the run. Comments say that the connection is alive.
    """
    parts.streams.check(caller.name)
    follower = _Follower(parts, caller, queue, run, _start(after, last_event_id))
    return StreamingResponse(
        follower.messages(),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},  # proxies must not hold it back
    )


def _start(after: int, last_event_id: str | None) -> int:
    if not last_event_id:
        return after
    if not (last_event_id.isascii() and last_event_id.isdigit()) or len(last_event_id) > 15:
        raise Refusal(
            422,
            "bad_request",
            f"Last-Event-ID: {last_event_id[:50]!r} is no number",
            fix="give back the id of the last event, or leave it out",
        )
    return int(last_event_id)


class _Revoked(Exception):
    """The token of an open stream is not in force any more."""


class _Follower:
    def __init__(self, parts: ApiParts, caller: Caller, queue: Queue, run: str, after: int) -> None:
        self._parts = parts
        self._caller = caller
        self._queue = queue
        self._run = run
        self._after = after
        self._shown = ""
        self._checked = time.monotonic()

    async def messages(self) -> AsyncIterator[str]:
        with self._parts.streams.counted(self._caller.name):
            yield f"retry: {_RETRY_MS}\n\n"
            said = time.monotonic()
            while not self._parts.stopping():
                try:
                    rows, status = await self._look()
                except _Revoked:
                    return
                except StateUnavailable:
                    rows, status = [], None  # Redis may come back: the reader stays
                for row in rows:
                    self._after = row.seq
                    yield _message("event", row, row.seq)
                if status is not None and self._is_news(status):
                    yield _message("status", status)
                    said = time.monotonic()
                if status is not None and status.row.phase in _ENDED and len(rows) < _PAGE:
                    return
                if time.monotonic() - said > self._parts.settings.heartbeat_s:
                    said = time.monotonic()
                    yield ": still here\n\n"
                if len(rows) < _PAGE:
                    await anyio.sleep(self._parts.settings.poll_s)

    async def _look(self) -> tuple[list[EventRow], RunStatus]:
        return await to_thread.run_sync(self._read, limiter=self._parts.polls)

    def _read(self) -> tuple[list[EventRow], RunStatus]:
        now = time.monotonic()
        if now - self._checked > self._parts.settings.heartbeat_s:
            self._checked = now
            if self._parts.state.tokens.find(self._caller.digest) is None:
                raise _Revoked
        # In this order: the events of a run whose status says that it ended are all there.
        status = self._caller.shown(self._queue.status(self._run))
        return self._queue.events(self._run, after=self._after, limit=_PAGE), status

    def _is_news(self, status: RunStatus) -> bool:
        shown = status.model_dump_json(exclude=_PASSING)
        is_news, self._shown = shown != self._shown, shown
        return is_news


def _message(kind: str, value: BaseModel, number: int | None = None) -> str:
    """Give one message; JSON has no line ends of its own."""
    identity = "" if number is None else f"id: {number}\n"
    return f"{identity}event: {kind}\ndata: {value.model_dump_json()}\n\n"
