"""Servers that repeat the key they were sent wherever a server can: in errors and in answers."""

from __future__ import annotations

import asyncio
import json
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler
from planted_secrets import masked

from skillopt.simulator.app import make_app
from skillopt.simulator.options import SimulatorOptions

FAR = "4000000000"  # seconds since 1970


@contextmanager
def echoing(keys: Mapping[str, str], token: str, answered: set[str]) -> Iterator[dict[str, str]]:
    """Serve one simulator per key, and a machine's service that hands out `token`.

    Gives the address of each by its name, the service's as "identity"; the names of those that
    were called with their key are added to `answered`. A simulator answers its
    second call with a server error; below `/refuse/STATUS` it refuses every call.
    """
    started: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event, dict[str, str]]]
    started = SimpleQueue()

    async def serve() -> None:
        apps = {name: _echoing_app(key, partial(answered.add, name)) for name, key in keys.items()}
        apps["identity"] = _identity(token)
        stop, addresses, runners = asyncio.Event(), {}, []
        for name, app in apps.items():
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            runners.append(runner)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            addresses[name] = f"http://127.0.0.1:{runner.addresses[0][1]}"
        started.put((asyncio.get_running_loop(), stop, addresses))
        await stop.wait()
        for runner in runners:
            await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    loop, stop, addresses = started.get(timeout=20)
    try:
        yield addresses
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def _echoing_app(key: str, called: Callable[[], None]) -> web.Application:
    app = make_app(SimulatorOptions(api_key=key))
    calls = 0

    @web.middleware
    async def echo(request: web.Request, handler: Handler) -> web.StreamResponse:
        nonlocal calls
        calls += request.method == "POST"
        if calls == 2 and request.method == "POST":
            return _error(500, request)
        answer = await handler(request)
        if not isinstance(answer, web.Response) or not isinstance(answer.body, bytes):
            return answer
        if answer.status == 200 and request.method == "POST":
            called()
        return web.json_response(_with_key(json.loads(answer.body), key), status=answer.status)

    async def refuse(request: web.Request) -> web.Response:
        return _error(int(request.match_info["status"]), request)

    app.router.add_post("/refuse/{status}/{rest:.*}", refuse)
    app.middlewares.append(echo)
    return app


def _error(status: int, request: web.Request) -> web.Response:
    """Refuse with everything that a careless server repeats."""
    sent = {name: value for name, value in request.headers.items() if "key" in name.lower()}
    sent["Authorization"] = request.headers.get("Authorization", "")
    said = " ".join(sent.values())
    text = f"no: {said} / {masked(said.split()[-1])} / {b64encode(said.encode()).decode()}"
    error = {"message": text, "type": "error", "code": said, "param": said}
    headers = {"X-Echo": said, "Retry-After-Ms": "1"}
    return web.json_response({"type": "error", "error": error}, status=status, headers=headers)


def _with_key(value: Any, key: str) -> Any:
    if isinstance(value, list):
        return [_with_key(part, key) for part in value]
    if not isinstance(value, dict):
        return value
    echoed = {name: _with_key(part, key) for name, part in value.items()}
    for name in ("content", "text"):
        if isinstance(echoed.get(name), str):
            echoed[name] = _said(echoed[name], key)
    if isinstance(echoed.get("arguments"), str):
        echoed["arguments"] = json.dumps({"given": echoed["arguments"], "key": key})
    if echoed.get("type") == "tool_use":
        echoed["input"] = {**echoed["input"], "key": key}
    return echoed


def _said(text: str, key: str) -> str:
    """Put the key into an answer; into one that must have a form, without breaking it."""
    try:
        formed = json.loads(text)
    except ValueError:
        return f"{text}\n\nYou are {key}, that is {b64encode(key.encode()).decode()}."
    return json.dumps(_in_sentences(formed, key))


def _in_sentences(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _in_sentences(part, key) for name, part in value.items()}
    if isinstance(value, list):
        return [_in_sentences(part, key) for part in value]
    return f"{value} {key}" if isinstance(value, str) and " " in value else value


def _identity(token: str) -> web.Application:
    async def hand_out(request: web.Request) -> web.Response:
        resource = "https://cognitiveservices.azure.com"
        named = {"access_token": token, "expires_on": FAR, "token_type": "Bearer"}
        return web.json_response({**named, "resource": resource})

    app = web.Application()
    app.router.add_get("/metadata/identity/oauth2/token", hand_out)
    return app
