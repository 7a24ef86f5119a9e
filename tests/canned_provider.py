"""A provider that answers what a test tells it to, and a real client that asks it, over HTTP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from aiohttp import web

from skillopt.backends.base import ChatReply
from skillopt.backends.registry import open_backend
from skillopt.domain.backend import Backend
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message

KEY = "sk-planted-0123456789abcdef"
PROMPT = (Message(role="user", content="Say hello."),)

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Received:
    headers: dict[str, str]
    body: dict[str, Any]
    #: Path and query.
    path: str = ""


@dataclass
class CannedProvider:
    port: int
    received: list[Received] = field(default_factory=list)

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.root_url}/v1"


@contextmanager
def answering(answer: Answer) -> Iterator[CannedProvider]:
    """Serve in a thread of this process for the length of a `with` block."""
    provider = CannedProvider(port=0)
    started: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    async def receive(request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        provider.received.append(Received(headers, await request.json(), request.path_qs))
        return await answer(request)

    async def serve() -> None:
        stop = asyncio.Event()
        app = web.Application()
        app.router.add_post("/{path:.*}", receive)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        provider.port = runner.addresses[0][1]
        started.put((asyncio.get_running_loop(), stop))
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    loop, stop = started.get(timeout=20)
    try:
        yield provider
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def canned(
    body: Any = None, *, status: int = 200, text: str | None = None, **headers: str
) -> Answer:
    """Answer every request with the same thing: JSON, or a text as it is."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answer(request: web.Request) -> web.StreamResponse:
        if text is not None:
            return web.Response(text=text, status=status, headers=named, content_type="text/html")
        return web.json_response(body, status=status, headers=named)

    return answer


def failing(status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
    error = {"message": message, "type": "error", "param": None, "code": code}
    return canned({"error": error}, status=status, **headers)


async def hanging(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(600)
    return web.Response()


async def dropping(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def dropping_in_the_middle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = 1000
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.abort()
    return response


def completion(message: Any, finish_reason: str = "stop", **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion", "choices": [choice], **fields}


def backend(base_url: str, **changes: Any) -> Backend:
    fields: dict[str, Any] = {
        "name": "b",
        "kind": "openai_compatible",
        "model": "some-model",
        "base_url": base_url,
        "api_key_env": "PLANTED_KEY",
        "timeout_s": 10,
    }
    return Backend(**{**fields, **changes})


def ask(
    base_url: str,
    *,
    key: str = KEY,
    messages: tuple[Message, ...] = PROMPT,
    tools: tuple[Tool, ...] = (),
    sample: int = 0,
    **changes: Any,
) -> ChatReply:
    async def call() -> ChatReply:
        chat = open_backend(backend(base_url, **changes), {"PLANTED_KEY": key})
        try:
            return await chat.complete(messages, tools=tools, sample=sample)
        finally:
            await chat.close()

    return asyncio.run(call())
