"""A provider for agent programs: Messages, Responses and Chat Completions, streamed, on loopback.

It answers `ANSWER`, after one shell call if the request says `RUN: <command>` and no result of a
tool is in it yet. `failure` makes it answer every request with that HTTP status.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

ANSWER = "- four DONE"
_RUN = re.compile(r"RUN: ([^\n\"\\]+)")
_USED = ('"tool_result"', '"function_call_output"', '"role": "tool"')
_SHELLS = {"Bash": "command", "bash": "command", "exec_command": "cmd", "shell": "command"}


class AgentProvider:
    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.failure: int | None = None
        self.stalled = False
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 26)
        app.add_routes(
            [
                web.post("/v1/messages", self._messages),
                web.post("/v1/responses", self._responses),
                web.post("/v1/chat/completions", self._chat),
            ]
        )
        return app

    async def _take(self, http: web.Request) -> tuple[dict[str, Any], str | None]:
        body = await http.json()
        self.requests.append(body)
        self.headers.append(dict(http.headers))
        if self.stalled:
            await asyncio.sleep(3600)
        if self.failure is not None:
            error = {"type": "error", "code": "refused", "message": "no such luck"}
            raise _status(self.failure, error)
        text = json.dumps(body)
        wanted = _RUN.search(text)
        if wanted is None or any(mark in text for mark in _USED) or not body.get("tools"):
            return body, None
        return body, wanted.group(1).strip()

    async def _messages(self, http: web.Request) -> web.StreamResponse:
        body, command = await self._take(http)
        name = _shell_of([tool.get("name") for tool in body.get("tools", [])])
        if command is not None and name:
            block: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
            part = json.dumps({_SHELLS[name]: command, "description": "run it"})
            delta = {"type": "input_json_delta", "partial_json": part}
            stop = "tool_use"
        else:
            block = {"type": "text", "text": ""}
            delta, stop = {"type": "text_delta", "text": ANSWER}, "end_turn"
        usage = {"input_tokens": 11, "output_tokens": 0, "cache_read_input_tokens": 3}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return await _stream(
            http,
            [
                {"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": stop, "stop_sequence": None},
                    "usage": {"output_tokens": 5},
                },
                {"type": "message_stop"},
            ],
        )

    async def _responses(self, http: web.Request) -> web.StreamResponse:
        body, command = await self._take(http)
        name = _shell_of([tool.get("name") for tool in body.get("tools", [])])
        if command is not None and name:
            item: dict[str, Any] = {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": name,
                "arguments": json.dumps({_SHELLS[name]: command}),
            }
        else:
            item = {
                "type": "message",
                "id": "m_1",
                "role": "assistant",
                "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
            }
        done = {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "output": [item],
            "usage": {
                "input_tokens": 11,
                "input_tokens_details": {"cached_tokens": 3},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 16,
            },
        }
        return await _stream(
            http,
            [
                {"type": "response.created", "response": {"id": "resp_1"}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": done},
            ],
        )

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        body, command = await self._take(http)
        names = [tool.get("function", {}).get("name") for tool in body.get("tools", [])]
        name = _shell_of(names)
        if command is not None and name:
            arguments = json.dumps({_SHELLS[name]: command, "description": "run it"})
            call = {"id": "call_1", "type": "function", "index": 0}
            call["function"] = {"name": name, "arguments": arguments}  # type: ignore[assignment]
            said: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
            reason = "tool_calls"
        else:
            said, reason = {"role": "assistant", "content": ANSWER}, "stop"
        usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
        common = {"id": "c_1", "created": 0, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": reason}
            return web.json_response(
                {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
            )
        chunk = {**common, "object": "chat.completion.chunk"}
        return await _stream(
            http,
            [
                {**chunk, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                {**chunk, "choices": [], "usage": usage},
            ],
            end=b"data: [DONE]\n\n",
        )


def _status(status: int, error: dict[str, str]) -> web.HTTPException:
    kind: dict[int, type[web.HTTPException]] = {
        400: web.HTTPBadRequest,
        401: web.HTTPUnauthorized,
        429: web.HTTPTooManyRequests,
        500: web.HTTPInternalServerError,
    }
    text = json.dumps({"type": "error", "error": error})
    return kind[status](text=text, content_type="application/json", headers={"retry-after": "1"})


def _shell_of(names: list[str | None]) -> str | None:
    return next((name for name in names if name in _SHELLS), None)


async def _stream(
    http: web.Request, events: list[dict[str, Any]], end: bytes = b""
) -> web.StreamResponse:
    stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await stream.prepare(http)
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        await stream.write(f"{name}data: {json.dumps(event)}\n\n".encode())
    await stream.write(end)
    await stream.write_eof()
    return stream


@contextmanager
def agent_provider() -> Iterator[AgentProvider]:
    """Serve a provider from a thread of its own until the block ends."""
    provider = AgentProvider()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> web.AppRunner:
        runner = web.AppRunner(provider.app(), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    runner = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield provider
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
