"""One log line for each request, and an answer to a request that met a defect.

The line holds no header and no query: nothing of a token can be in it.
"""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from producer.api.failures import internal_failure
from producer.view.printable import one_line

log = logging.getLogger(__name__)
_LONGEST_PATH = 200


class Journal:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception:
            log.exception("a request failed", extra={"event": "api_failed"})
            if status:
                raise  # half an answer is out already: only the connection can be ended
            await internal_failure()(scope, receive, noting)
        finally:
            self._note(scope, status, time.monotonic() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        caller = scope.get("state", {}).get("caller")
        log.info(
            "request",
            extra={
                "event": "api_request",
                "method": scope["method"],
                "path": one_line(scope["path"], _LONGEST_PATH),
                "status": status,
                "caller": caller.name if caller is not None else "",
                "milliseconds": round(seconds * 1000, 1),
            },
        )
