"""`skillopt flower`: the team's view of the queue."""

from __future__ import annotations

import os

from producer.cli.service_options import (
    FLOWER_PORT,
    LOOPBACK,
    AllowRemoteOption,
    AuthFileOption,
    HealthFileOption,
    HostOption,
    LogFormatOption,
    PortOption,
    RedisUrlOption,
)


def flower(
    redis: RedisUrlOption = None,
    host: HostOption = LOOPBACK,
    port: PortOption = FLOWER_PORT,
    auth_file: AuthFileOption = None,
    allow_remote: AllowRemoteOption = False,
    log_format: LogFormatOption = "text",
    health_file: HealthFileOption = None,
) -> None:
    """Show workers, queues and tasks as they come, in a browser.

    Flower with our settings: every page asks for the user and password, and nothing can be changed
    there. A worker's name begins with its backend; a task shows its run, step, stage, item and
    sample, and in one word what came of it. Prompts and replies never get there. It forgets
    everything when it ends: what happened is in the runs.

    Examples:
      skillopt flower --auth-file ~/.config/skillopt/flower-auth
      SKILLOPT_FLOWER_AUTH=team:a-long-password skillopt flower --port 5555
    """
    import logging

    from producer.services.credentials_file import given_credentials
    from producer.services.flower import FlowerOptions, serve_flower
    from producer.services.redis_access import shared_redis
    from skillopt.config.runtime import timing
    from skillopt.telemetry.log_lines import set_up_logging

    set_up_logging(log_format)
    options = FlowerOptions(
        redis_url=shared_redis(redis, os.environ),
        credentials=given_credentials(os.environ, auth_file),
        host=host,
        port=port,
        allow_remote=allow_remote,
        health_file=health_file,
    )
    log = logging.getLogger("skillopt")

    def told(at: int) -> None:
        log.info("Flower at http://%s:%s", host, at, extra={"event": "ready"})

    serve_flower(options, timing(os.environ), told)
