"""`skillopt coordinator`: look after the runs of a team."""

from __future__ import annotations

import os

from producer.cli.options import default_store
from producer.cli.service_options import (
    LOOPBACK,
    CoordinatorsOption,
    HealthFileOption,
    LogFormatOption,
    MetricsHostOption,
    MetricsPortOption,
    RedisUrlOption,
    TeamStoreOption,
)


def coordinator(
    redis: RedisUrlOption = None,
    store: TeamStoreOption = None,
    coordinators: CoordinatorsOption = 1,
    log_format: LogFormatOption = "text",
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = LOOPBACK,
    health_file: HealthFileOption = None,
) -> None:
    """Look after the runs that the team submits.

    Any number may run, here and on other machines: each run has one of them at a time, and another
    takes it over when that one dies. All need the same store.

    Example: skillopt coordinator --store /srv/skillopt
    """
    from producer.cli.service_voice import service_voice
    from producer.services.children import MetricsPorts
    from producer.services.redis_access import shared_redis
    from producer.services.running import ServiceOptions, run_coordinators
    from skillopt.telemetry.log_lines import set_up_logging

    set_up_logging(log_format)
    options = ServiceOptions(
        redis_url=shared_redis(redis, os.environ),
        environ=os.environ,
        log_format=log_format,
        metrics=MetricsPorts(metrics_port, metrics_host),
        health_file=health_file,
    )
    folder = store or default_store()
    voice = service_voice(f"looking after runs; their folders are in {str(folder)!r}")
    run_coordinators(options, folder, coordinators=coordinators, voice=voice)
