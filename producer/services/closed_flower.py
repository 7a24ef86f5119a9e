"""Flower behind a door of our own: nothing answers without credentials, nothing can be changed.

Flower's own authentication leaves some of its pages open, and its switch against changes is looked
at by each of its handlers. Here the question is asked once, before any handler is chosen, so that
a route that a later version brings is closed as well.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

import tornado.web
from flower.app import Flower
from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest

from producer.services.credentials_file import Credentials

READING: Final = frozenset({"GET", "HEAD"})
#: Pages that ask for what they show by a POST; they change nothing.
READ_BY_POST: Final = frozenset({"/tasks/datatable"})


class _EveryMethod(Container[str]):
    """Whatever a request calls its method."""

    def __contains__(self, method: object) -> bool:
        return True


@tornado.web.stream_request_body
class Refusal(tornado.web.RequestHandler):
    """Refuses whatever is asked, in any way, without reading what came with it."""

    SUPPORTED_METHODS = _EveryMethod()  # type: ignore[assignment]  # any collection does

    def initialize(self, status: int, words: str) -> None:
        self._refused_with = status
        self._words = words

    def prepare(self) -> None:
        self.set_status(self._refused_with)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        if self._refused_with == 401:
            self.set_header("WWW-Authenticate", 'Basic realm="skillopt flower", charset="UTF-8"')
        self.finish(f"{self._words}\n")

    def data_received(self, chunk: bytes) -> None:
        """Nothing is kept of it."""

    def check_xsrf_cookie(self) -> None:
        """Nothing can be done here, so nothing need be checked."""


class ClosedFlower(Flower):  # type: ignore[misc]  # Flower has no types
    """Answers who has the credentials, and only what they read."""

    def __init__(self, credentials: Credentials, **named: Any) -> None:  # noqa: ANN401 - Flower's
        self._credentials = credentials
        super().__init__(**named)

    def find_handler(self, request: HTTPServerRequest, **named: Any) -> HTTPMessageDelegate:  # noqa: ANN401
        if not self._credentials.opened_by(request.headers.get("Authorization", "")):
            return self._refused(request, 401, "Flower asks for its user and password.")
        if not _reads(request):
            return self._refused(request, 403, "Flower only shows; nothing is changed here.")
        found: HTTPMessageDelegate = super().find_handler(request, **named)
        return found

    def _refused(self, request: HTTPServerRequest, status: int, words: str) -> HTTPMessageDelegate:
        arguments = {"status": status, "words": words}
        refused: HTTPMessageDelegate = self.get_handler_delegate(request, Refusal, arguments)
        return refused


def _reads(request: HTTPServerRequest) -> bool:
    by_post = request.method == "POST" and request.path in READ_BY_POST
    return by_post or request.method in READING
