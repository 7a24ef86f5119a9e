"""`python -m workers --backend NAME`: one worker process, pinned to one backend."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from contextlib import ExitStack
from pathlib import Path

from skillopt.config.catalogue import load_resolved
from skillopt.config.runtime import override, timing
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError, SkillOptError
from skillopt.gateway.retry import RetryPolicy
from skillopt.state.redis.connect import connect
from skillopt.state.urls import broker_url
from skillopt.telemetry.endpoint import MetricsAddress, MetricsEndpoint
from skillopt.telemetry.log_lines import log_format, set_up_logging
from skillopt.telemetry.process_options import add_telemetry_options
from skillopt.wire.tasks import queue_of
from workers.container import build
from workers.lifecycle import serve
from workers.telemetry import WorkerTelemetry


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("--backend", required=True, help="name of the backend to serve")
    parser.add_argument("--backends", required=True, type=Path, help="resolved catalogue file")
    parser.add_argument("--name", default="1", help="distinguishes workers of one backend")
    parser.add_argument("--concurrency", type=_positive, default=8, help="jobs at a time")
    parser.add_argument("--quarantine", action="store_true", help="serve suspected poison alone")
    parser.add_argument(
        "--health-file",
        type=Path,
        metavar="PATH",
        help="where to say how it is; `python -m skillopt.health [--ready] PATH` asks",
    )
    add_telemetry_options(parser)
    options = parser.parse_args(argv)
    url = os.environ.get("SKILLOPT_REDIS_URL")
    if not url:
        parser.error("SKILLOPT_REDIS_URL is not set; export the URL of the shared Redis")
    try:
        set_up_logging(log_format(options.log_format))
        backend = _backend(options.backend, options.backends)
        durations = timing(os.environ)
        concurrency = 1 if options.quarantine else options.concurrency
        suffix = ".q" if options.quarantine else ""
        telemetry = WorkerTelemetry(options.backend)
        container = build(
            name=f"{options.backend}{suffix}-{options.name}@{os.uname().nodename}",
            backend=backend,
            lane="quarantine" if options.quarantine else "normal",
            concurrency=concurrency,
            state=telemetry.watching(connect(url, durations)),
            timing=durations,
            policy=override(RetryPolicy(), "SKILLOPT_RETRY_", os.environ),
            environ=os.environ,
        )
        queue = queue_of(options.backend, quarantine=options.quarantine)
        with ExitStack() as opened:
            if options.metrics_port is not None:
                address = MetricsAddress(options.metrics_port, options.metrics_host)
                opened.enter_context(MetricsEndpoint(address, telemetry.registry))
            return serve(
                container,
                broker_url(url),
                queue=queue,
                concurrency=concurrency,
                health_path=options.health_file,
            )
    except SkillOptError as error:
        logging.getLogger(__name__).error("%s", error)
        return 2


def _backend(name: str, catalogue: Path) -> Backend:
    known = load_resolved(catalogue)
    if name not in known:
        raise ConfigError(
            f"--backend {name!r} is not in {str(catalogue)!r}; give one of "
            f"{', '.join(sorted(known)) or 'those you add to it'}"
        )
    return known[name]


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not 1 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
