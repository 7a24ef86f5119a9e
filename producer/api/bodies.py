"""How large a request's body may be, and how long it may keep us waiting."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from producer.api.failures import Refusal
from producer.api.settings import ApiSettings

UPLOAD_PATH: Final = "/api/v1/runs"


class BodyLimits:
    """Refuses by the length that is announced, and by what really comes."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._most(scope)
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdigit() or int(announced) > most:
            await Refusal(413, "too_large", _too_large(most)).response()(scope, receive, send)
            return
        await self._app(scope, self._limited(receive, most), send)

    def _most(self, scope: Scope) -> int:
        is_upload = scope["method"] == "POST" and scope["path"] == UPLOAD_PATH
        return self._settings.max_upload_bytes if is_upload else self._settings.max_json_bytes

    def _limited(self, receive: Receive, most: int) -> Receive:
        got, complete = 0, False

        async def counted() -> Message:
            nonlocal got, complete
            if complete:  # what follows is the end of the connection, whenever it comes
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), self._settings.body_silence_s)
            except TimeoutError:
                raise HTTPException(408, "the body did not come in time; send it again") from None
            got += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if got > most:
                raise HTTPException(413, _too_large(most))
            return message

        return counted


def _too_large(most: int) -> str:
    return f"the body has more than {most} bytes, the most that is taken here; send less"
