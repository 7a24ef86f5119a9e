"""Serves the API and the dashboard over HTTP, to this machine unless there are tokens."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import uvicorn
from fastapi import FastAPI

from producer.api.app import create_app
from producer.api.parts import SharedQueue
from producer.api.settings import ApiSettings
from producer.run_folder import RunFolder
from producer.view.report import report_html
from skillopt.domain.hosts import is_loopback
from skillopt.errors import ConfigError
from skillopt.state.ports import State, Tokens

log = logging.getLogger(__name__)

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8484
#: Connections at a time; beyond them the answer is 503.
_CONNECTIONS: Final = 1000
#: Seconds that requests under way have when the server ends.
_GRACE_S: Final = 5
_BACKLOG: Final = 256
_TURN_S: Final = 1
_LARGEST_HEAD_BYTES: Final = 32 * 1024


@dataclass(frozen=True)
class ServeOptions:
    #: Uploads and exports lie in `<store>/api` while they are worked on.
    store: Path
    host: str = DEFAULT_HOST
    #: 0: any that is free.
    port: int = DEFAULT_PORT
    settings: ApiSettings = field(default_factory=ApiSettings)
    #: Called about once a second while the server's loop turns.
    on_turn: Callable[[], None] = lambda: None


def check_bind(host: str, tokens: Tokens) -> None:
    """Raise ConfigError for an address that others can reach while no token is in force."""
    if not is_loopback(host) and not tokens.all():
        raise ConfigError(
            f"--host {host!r} can be reached from other machines, and no token is in force; make "
            "one first (`skillopt token create NAME --role admin --owner OWNER`), or leave --host "
            "out"
        )


class ApiServer:
    """Listens from the start; `run` answers, until a signal or `stop`."""

    def __init__(
        self,
        options: ServeOptions,
        state: State,
        queue: SharedQueue,
        report: Callable[[RunFolder], str],
    ) -> None:
        """Raises ConfigError for an address that cannot be had, or not without tokens."""
        check_bind(options.host, state.tokens)
        self._listening = _listen(options.host, options.port)
        self.url = _url(options.host, self._listening.getsockname()[1])
        app = create_app(
            state,
            queue,
            folder=options.store / "api",
            report=report,
            settings=options.settings,
            stopping=lambda: self._server.should_exit,
        )
        self._server = uvicorn.Server(_config(app, options.on_turn))

    def run(self) -> None:
        """Answer requests; SIGINT and SIGTERM end it if this is the main thread."""
        with self._listening:
            self._server.run(sockets=[self._listening])

    def stop(self) -> None:
        """Let `run` end, from another thread: at once but for requests under way."""
        self._server.should_exit = True


def serve(
    options: ServeOptions, state: State, queue: SharedQueue, *, ready: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is told the URL once connections are taken.

    Raises ConfigError for an address that cannot be had, or not without tokens.
    """
    server = ApiServer(options, state, queue, report_html)
    ready(server.url)
    server.run()


def _config(app: FastAPI, on_turn: Callable[[], None]) -> uvicorn.Config:
    async def turned() -> None:
        on_turn()

    return uvicorn.Config(
        app,
        log_config=None,  # ours
        access_log=False,  # ours, without queries
        server_header=False,
        # What a stranger writes into X-Forwarded-For is not where they are.
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=_LARGEST_HEAD_BYTES,
        http="h11",
        ws="none",
        lifespan="off",
        callback_notify=turned,
        timeout_notify=_TURN_S,
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"{host!r} port {port!r} cannot be served: {error.strerror or error}; give another "
            "--host or --port"
        ) from error


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
