"""The web application: the model behind several APIs, with faults, limits, statistics, controls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from skillopt.config.json_source import require_plain
from skillopt.simulator import responses
from skillopt.simulator.behaviour import Reply, form_asked_for, reply_to, role_of
from skillopt.simulator.dialect import DIALECTS, Call, Dialect
from skillopt.simulator.faults import Fault, Outage, fault_of
from skillopt.simulator.limits import SlidingWindow
from skillopt.simulator.options import Control, SimulatorOptions
from skillopt.simulator.request import ChatRequest, RequestError
from skillopt.simulator.responses import ApiError
from skillopt.simulator.stats import Stats

_LARGEST_BODY = 64 * 1024 * 1024
_MODEL = "sim"


class _DroppedError(Exception):
    """The connection is to be cut without an answer."""


class Simulator:
    """One simulated provider: its options, and what it remembers of the calls so far."""

    def __init__(self, options: SimulatorOptions) -> None:
        self._options = options
        self._stats = Stats()
        self._window = SlidingWindow(options.window_s)
        self._outage = Outage()
        #: Outlives a reset of the statistics: a retry stays a retry.
        self._asked: Counter[str] = Counter()

    def routes(self) -> list[web.RouteDef]:
        return [
            *(web.post(path, self._answering(dialect)) for path, dialect in DIALECTS),
            web.get("/v1/models", self.models),
            web.get("/models", self.models),
            web.get("/behaviour", self.behaviour),
            web.get("/stats", self.stats),
            web.post("/control", self.control),
            web.get("/health", self.health),
        ]

    def _answering(
        self, dialect: Dialect
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(http: web.Request) -> web.StreamResponse:
            return await self._answer(http, dialect)

        return answer

    async def _answer(self, http: web.Request, dialect: Dialect) -> web.StreamResponse:
        """Answer one call, and count how it ended."""
        self._stats.arrived()
        status = "500"
        try:
            response = await self._reply(http, dialect)
            status = str(response.status)
            return response
        except asyncio.CancelledError:
            status = "abandoned"
            raise
        except ApiError as error:
            status = str(error.status)
            body = dialect.error(error)
            return web.json_response(body, status=error.status, headers=error.headers)
        except _DroppedError:
            status = "dropped"
            if http.transport is not None:
                http.transport.abort()
            return web.Response()
        finally:
            self._stats.left(status)

    async def _reply(self, http: web.Request, dialect: Dialect) -> web.StreamResponse:
        request = await self._read(http, dialect)
        role = role_of(form_asked_for(request))
        self._stats.read(request.key, role, request.pictures)
        asked_before = self._asked[request.key]
        self._asked[request.key] += 1
        await self._suffer(self._outage.strikes(_now_s()) or "none")
        self._refuse_by_content(request)
        reply = reply_to(request, self._options)
        used = responses.prompt_tokens(request)
        self._refuse_by_limit(used + reply.completion_tokens)
        fault = fault_of(self._options, request.key, asked_before)
        if fault.kind != "500":  # a server error is an answer, and nobody pays for it
            self._stats.charged(used, reply.completion_tokens)
        await self._wait(fault)
        response = await self._send(http, dialect, request, reply)
        self._stats.replied(request.key, role, used, reply.completion_tokens)
        return response

    async def _read(self, http: web.Request, dialect: Dialect) -> ChatRequest:
        call = Call(http.headers, http.query, http.match_info)
        try:
            expected = self._options.api_key
            if expected is not None and dialect.key(call) != expected:
                raise responses.wrong_key()
            try:
                raw = await http.json()
                require_plain(raw)
            except (ValueError, RecursionError) as error:
                message = f"could not parse the JSON body of your request: {error}"
                raise responses.bad_request(message) from error
            try:
                return dialect.read(raw, call)
            except RequestError as error:
                raise responses.bad_request(str(error), error.param) from error
        except ApiError:
            self._stats.calls["unreadable"] += 1
            raise

    def _refuse_by_content(self, request: ChatRequest) -> None:
        models = self._options.models
        if models and request.body.model not in models:
            raise responses.unknown_model(request.body.model)
        phrase = self._options.content_filter
        said = "\n".join(message.text for message in request.body.messages)
        if phrase is not None and phrase.lower() in said.lower():
            raise responses.filtered()

    def _refuse_by_limit(self, tokens: int) -> None:
        refusal = self._window.admit(_now_s(), tokens, rpm=self._options.rpm, tpm=self._options.tpm)
        if refusal is not None:
            self._stats.violations[refusal.limit] += 1
            raise responses.over_limit(refusal)

    async def _wait(self, fault: Fault) -> None:
        await asyncio.sleep(fault.latency_s)
        await self._suffer(fault.kind)

    async def _suffer(self, kind: str) -> None:
        if kind == "500":
            raise responses.server_error()
        if kind == "529":
            raise responses.overloaded()
        if kind == "refuse":
            raise _DroppedError
        if kind == "stall":
            await asyncio.sleep(self._options.stall_s)

    async def _send(
        self, http: web.Request, dialect: Dialect, request: ChatRequest, reply: Reply
    ) -> web.StreamResponse:
        created = int(datetime.now(UTC).timestamp())
        if not request.body.stream:
            return web.json_response(dialect.whole(request, reply, created))
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(http)
        for piece in dialect.stream(request, reply, created):
            await stream.write(piece)
        await stream.write_eof()
        return stream

    async def models(self, http: web.Request) -> web.Response:
        entry = {"object": "model", "created": 0, "owned_by": "skillopt"}
        behaviour = self._options.behaviour
        names = self._options.models or (_MODEL,)
        data = [{"id": name, **entry, "behaviour": behaviour} for name in names]
        return web.json_response({"object": "list", "data": data})

    async def behaviour(self, http: web.Request) -> web.Response:
        return web.json_response({"behaviour": self._options.behaviour})

    async def stats(self, http: web.Request) -> web.Response:
        return web.json_response(self._stats.as_json())

    async def health(self, http: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def control(self, http: web.Request) -> web.Response:
        """Change faults and limits from now on; an unknown key changes nothing."""
        try:
            control = Control.model_validate_json(await http.read())
        except ValidationError as error:
            message = "; ".join(
                f"{'.'.join(map(str, entry['loc']))!r}: {entry['msg']}"
                for entry in error.errors(include_url=False)
            )
            known = ", ".join(Control.model_fields)
            refused = responses.bad_request(f"{message} (known keys: {known})")
            return web.json_response(refused.body, status=400)
        self._options = control.applied_to(self._options)
        self._outage.change(control, _now_s())
        if control.reset_stats:
            self._stats = Stats(self._stats.in_flight, self._stats.in_flight)
        return web.json_response(self._settings())

    def _settings(self) -> dict[str, Any]:
        left_s = max(0.0, self._outage.until_s - _now_s())
        return {
            **self._options.model_dump(mode="json", exclude={"api_key"}),
            "outage_s": left_s,
            "outage_calls": self._outage.calls_left,
            "outage_kind": self._outage.kind,
        }


def make_app(options: SimulatorOptions) -> web.Application:
    """Make the web application of one simulator."""
    app = web.Application(client_max_size=_LARGEST_BODY)
    app.add_routes(Simulator(options).routes())
    return app


def _now_s() -> float:
    return asyncio.get_running_loop().time()
