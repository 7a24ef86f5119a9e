"""`skillopt worker`: serve backends from this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from producer.cli.options import (
    DEFAULT_WORKERS,
    BackendsOption,
    ConcurrencyOption,
    WorkersOption,
)
from producer.cli.service_options import (
    LOOPBACK,
    HealthFileOption,
    LogFormatOption,
    MetricsHostOption,
    MetricsPortOption,
    RedisUrlOption,
)


def worker(
    backend: Annotated[
        list[str],
        typer.Option(
            "--backend", metavar="NAME", help="A backend of the catalogue to serve. Repeatable."
        ),
    ],
    backends: BackendsOption = None,
    redis: RedisUrlOption = None,
    workers: WorkersOption = DEFAULT_WORKERS,
    concurrency: ConcurrencyOption = None,
    log_format: LogFormatOption = "text",
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = LOOPBACK,
    health_file: HealthFileOption = None,
) -> None:
    """Serve one or more backends to the team, from this machine.

    Every worker process is pinned to one backend and has its key alone. A process that dies or
    hangs is started again; a job that kills its workers gets a process of its own. A simulated
    backend without a URL is started with them. Ctrl-C or SIGTERM lets calls in flight finish (up
    to five minutes); once more cuts them and gives the jobs back.

    Examples:
      skillopt worker --backend gpt
      skillopt worker --backend gpt --backend local --workers 2 --concurrency 32
    """
    from producer.cli.service_voice import service_voice
    from producer.services.backends import served_here
    from producer.services.children import MetricsPorts
    from producer.services.redis_access import shared_redis
    from producer.services.running import ServiceOptions, run_workers
    from skillopt.telemetry.log_lines import set_up_logging

    set_up_logging(log_format)
    options = ServiceOptions(
        redis_url=shared_redis(redis, os.environ),
        environ=os.environ,
        log_format=log_format,
        metrics=MetricsPorts(metrics_port, metrics_host),
        health_file=health_file,
    )
    served = served_here(os.environ, backends, backend)
    voice = service_voice(f"serving {', '.join(served.backends)}")
    run_workers(options, served, workers=workers, concurrency=concurrency, voice=voice)
