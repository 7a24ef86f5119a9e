"""Flower for our fleet: its app, what it shows, where it listens."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import tornado.web
from flower.options import default_options
from flower.urls import settings
from tornado.ioloop import IOLoop, PeriodicCallback

from producer.dispatch import celery_app
from producer.services.binding import LOOPBACK, require_loopback
from producer.services.closed_flower import ClosedFlower
from producer.services.credentials_file import Credentials
from producer.services.pulse import telling_health
from skillopt.domain.timing import Timing
from skillopt.errors import ConfigError
from skillopt.state.urls import broker_url

log = logging.getLogger(__name__)

BEAT_MS: Final = 1_000
ASK_WORKERS_MS: Final = 15_000
#: Model calls take from a part of a second to minutes.
RUNTIME_BUCKETS_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
#: Tasks are a live view only: what happened is in the runs.
TASKS_KEPT: Final = 10_000
#: Workers that are gone for so long are shown no more.
OFFLINE_S: Final = 300
#: Run / step / stage / item / sample are the arguments, the outcome is the result.
COLUMNS: Final = "name,args,result,state,worker,received,runtime,uuid"


@dataclass(frozen=True)
class FlowerOptions:
    redis_url: str
    credentials: Credentials
    host: str = LOOPBACK
    port: int = 5555
    #: Other machines may reach it: something in between encrypts what they send.
    allow_remote: bool = False
    health_file: Path | None = None


def serve_flower(
    options: FlowerOptions, durations: Timing, on_start: Callable[[int], None] = lambda port: None
) -> None:
    """Serve Flower until SIGINT or SIGTERM; `on_start` is told the port.

    Raises ConfigError for an address that is open to others without leave, or that is taken.
    """
    if not options.allow_remote:
        require_loopback(
            options.host,
            "Flower",
            "its password would cross the network in the clear: leave --host out, or add "
            "--allow-remote where a proxy encrypts",
        )
    with telling_health(options.health_file, "flower", durations) as pulse:
        flower = build_flower(options)
        port = _listen(flower, options)
        heart = PeriodicCallback(pulse.beat, BEAT_MS)
        heart.start()
        pulse.beat()
        # Workers come and go; Flower by itself asks who they are only once.
        PeriodicCallback(flower.update_workers, ASK_WORKERS_MS).start()
        logging.getLogger("flower.inspector").setLevel(logging.ERROR)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: _end(flower))
        on_start(port)
        flower.start()


def build_flower(options: FlowerOptions) -> ClosedFlower:
    """Build the app; it watches the broker once it is started."""
    chosen = {
        "address": options.host,
        "port": options.port,
        "basic_auth": [options.credentials.joined],
        "read_only": True,
        "max_tasks": TASKS_KEPT,
        "tasks_columns": COLUMNS,
        "purge_offline_workers": OFFLINE_S,
        "task_runtime_metric_buckets": list(RUNTIME_BUCKETS_S),
    }
    # Flower reads some options from there, whatever its app was given: one Flower to a process.
    for name, value in chosen.items():
        setattr(default_options, name, value)
    capp = celery_app(broker_url(options.redis_url))
    tls = _tls(options.redis_url)
    if tls:
        capp.conf.broker_use_ssl = tls
    return ClosedFlower(options.credentials, options=default_options, capp=capp, **_settings())


def _settings() -> dict[str, Any]:
    return {**settings, "debug": False, "log_function": _log_request}


def _log_request(handler: tornado.web.RequestHandler) -> None:
    """Keep requests out of the log: they come every few seconds, and say nothing."""


def _tls(url: str) -> dict[str, str]:
    """Give the options of an encrypted connection, which Flower's own client reads from here."""
    parts = urlsplit(url)
    if parts.scheme != "rediss":
        return {}
    given = dict(pair for pair in parse_qsl(parts.query) if pair[0].startswith("ssl_"))
    return {"ssl_cert_reqs": "required", **given}


def _listen(flower: ClosedFlower, options: FlowerOptions) -> int:
    try:
        port: int = flower.start_http_server()
    except OSError as error:
        raise ConfigError(
            f"Flower cannot listen at {options.host!r}, port {options.port!r} ({error}): give "
            "another --port"
        ) from error
    return port


def _end(flower: ClosedFlower) -> None:
    IOLoop.current().add_callback_from_signal(flower.stop)
