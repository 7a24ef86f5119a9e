"""`skillopt serve`: the API of a team, and its dashboard."""

from __future__ import annotations

import os

from producer.cli.options import BackendsOption, default_store
from producer.cli.service_options import (
    API_PORT,
    LOOPBACK,
    HealthFileOption,
    HostOption,
    LogFormatOption,
    PortOption,
    RedisUrlOption,
    TeamStoreOption,
)


def serve(
    redis: RedisUrlOption = None,
    store: TeamStoreOption = None,
    backends: BackendsOption = None,
    host: HostOption = LOOPBACK,
    port: PortOption = API_PORT,
    log_format: LogFormatOption = "text",
    health_file: HealthFileOption = None,
) -> None:
    """Serve the HTTP API of the team's queue, and its dashboard.

    Every request needs a token; `skillopt token create` makes one. Names of backends in specs that
    are submitted stand for those of the catalogue here. An address that other machines can reach
    is refused while there is no token. The API speaks plain HTTP: put a proxy that encrypts in
    front of it.

    Examples:
      skillopt serve --store /srv/skillopt
      skillopt serve --host 0.0.0.0 --port 8484 --backends /etc/skillopt/backends.yaml
    """
    import logging

    from producer.api.server import ServeOptions
    from producer.api.server import serve as serve_api
    from producer.attached import attached
    from producer.queue.on_redis import RedisQueue
    from producer.queue.submission import SpecSubmitter
    from producer.services.pulse import telling_health
    from producer.services.redis_access import shared_redis
    from skillopt.config.runtime import timing
    from skillopt.telemetry.log_lines import set_up_logging

    set_up_logging(log_format)
    url, folder = shared_redis(redis, os.environ), store or default_store()
    log = logging.getLogger("skillopt")

    def told(at: str) -> None:
        log.info("API and dashboard at %s", at, extra={"event": "ready"})

    with (
        attached(url, folder) as state,
        telling_health(health_file, "serve", timing(os.environ)) as pulse,
    ):
        submitter = SpecSubmitter(
            state, folder / "runs", os.environ, backends_file=backends, local_webhooks=False
        )
        queue = RedisQueue(state, folder, submitter=submitter)
        options = ServeOptions(store=folder, host=host, port=port, on_turn=pulse.beat)
        serve_api(options, state, queue, ready=told)
