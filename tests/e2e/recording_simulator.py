"""The simulator with an ear at its door: every request and its answer, as they went over HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from skillopt.simulator.app import make_app
from skillopt.simulator.options import SimulatorOptions


@dataclass(frozen=True)
class Exchange:
    headers: dict[str, str]
    body: dict[str, Any]
    answer: dict[str, Any]

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def reply(self) -> str:
        return str(self.answer["choices"][0]["message"]["content"])


@dataclass
class RecordingSimulator:
    base_url: str = ""
    exchanges: list[Exchange] = field(default_factory=list)

    def record(self, request: web.Request, body: bytes, answer: web.StreamResponse) -> None:
        assert isinstance(answer, web.Response)
        assert isinstance(answer.body, bytes)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.exchanges.append(Exchange(headers, json.loads(body), json.loads(answer.body)))


@contextmanager
def recording() -> Iterator[RecordingSimulator]:
    """Serve in a thread of this process for the length of a `with` block."""
    simulator = RecordingSimulator()
    started: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    @web.middleware
    async def listen(request: web.Request, handler: Handler) -> web.StreamResponse:
        body = await request.read()
        answer = await handler(request)
        if request.method == "POST":
            simulator.record(request, body, answer)
        return answer

    async def serve() -> None:
        stop = asyncio.Event()
        app = make_app(SimulatorOptions())
        app.middlewares.append(listen)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        simulator.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        started.put((asyncio.get_running_loop(), stop))
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    loop, stop = started.get(timeout=20)
    try:
        yield simulator
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
