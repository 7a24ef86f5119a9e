"""Headers of every response: what a browser must not do with it."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

API_PATH: Final = "/api/"

_NOTHING: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#: The page's own files and nothing else: no inline script or style, no other host.
DASHBOARD_POLICY: Final = (
    f"{_NOTHING}; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'"
)
#: A report is one file that holds its style and pictures, and no script.
REPORT_POLICY: Final = f"{_NOTHING}; style-src 'unsafe-inline'; img-src data:; sandbox"
API_POLICY: Final = _NOTHING

_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SecurityHeaders:
    """Adds them to each response; one that brings its own policy keeps it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_api = str(scope["path"]).startswith(API_PATH)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers[name] = value
                policy = API_POLICY if is_api else DASHBOARD_POLICY
                headers.setdefault("Content-Security-Policy", policy)
                # Data is for the holder of the token alone; files are asked for anew each time.
                headers["Cache-Control"] = "no-store" if is_api else "no-cache"
            await send(message)

        await self._app(scope, receive, send_with_headers)
