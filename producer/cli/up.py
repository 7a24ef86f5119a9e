"""`skillopt up`: everything a team needs, on this machine."""

from __future__ import annotations

import getpass
import os
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.options import (
    DEFAULT_WORKERS,
    BackendsOption,
    ConcurrencyOption,
    JsonOption,
    StoreOption,
    WorkersOption,
    default_store,
)
from producer.cli.service_options import (
    API_PORT,
    FLOWER_PORT,
    CoordinatorsOption,
    FlowerPortOption,
    LogFormatOption,
    MetricsPortOption,
    PortOption,
    RedisUrlOption,
    ServedOption,
)

if TYPE_CHECKING:
    from rich.text import Text

    from producer.cli.console import Terminal
    from producer.services.backends import Served
    from producer.services.up import Everything, UpOptions


def up(
    backend: ServedOption = None,
    backends: BackendsOption = None,
    redis: RedisUrlOption = None,
    store: StoreOption = None,
    workers: WorkersOption = DEFAULT_WORKERS,
    concurrency: ConcurrencyOption = None,
    coordinators: CoordinatorsOption = 1,
    port: PortOption = API_PORT,
    flower_port: FlowerPortOption = FLOWER_PORT,
    flower: Annotated[bool, typer.Option("--flower/--no-flower", help="Start Flower.")] = True,
    log_format: LogFormatOption = "text",
    metrics_port: MetricsPortOption = None,
    json: JsonOption = False,
) -> None:
    """Run the whole queue on this machine, and say where it is.

    A private Redis in the store (or the one of --redis), workers of each backend, coordinators,
    the API with its dashboard, and Flower; all listen on this machine alone. The first time, a
    token and Flower's password are made and shown, once. Whatever dies is started again; logs are
    in the store. Ctrl-C ends everything; runs go on when it is started again.

    From another shell:
      export SKILLOPT_URL=http://127.0.0.1:8484 SKILLOPT_TOKEN=…
      skillopt submit my-skill/spec.yaml

    Examples:
      skillopt up
      skillopt up --backend gpt --workers 2 --store /srv/skillopt
    """
    from producer.cli.console import Terminal
    from producer.services.backends import served_here
    from producer.services.children import MetricsPorts
    from producer.services.redis_access import without_password_in_view
    from producer.services.up import UpOptions

    options = UpOptions(
        store=store or default_store(),
        environ=os.environ,
        owner=own_name(),
        backends_file=backends,
        redis_url=without_password_in_view(redis, os.environ),
        workers=workers,
        concurrency=concurrency,
        coordinators=coordinators,
        port=port,
        flower_port=flower_port,
        flower=flower,
        log_format=log_format,
        metrics=MetricsPorts(metrics_port),
    )
    _run(options, served_here(os.environ, backends, backend or ()), Terminal.open(json=json))


def own_name() -> str:
    """Name the user of this machine as an owner of runs is named."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", getpass.getuser())[:64].lstrip("._-")
    return name or "me"


def _run(options: UpOptions, served: Served, terminal: Terminal) -> None:
    from producer.services.up import UpVoice, run_up

    for name, why in served.left_out.items():
        terminal.warn(f"backend {name!r} is left out: {why}")

    def told(everything: Everything) -> None:
        terminal.show(*_page(everything))
        terminal.emit(_object(everything))

    run_up(options, served, UpVoice(up=told, tell=terminal.warn))


def _page(up: Everything) -> list[Text]:
    from producer.view.printable import safe

    lines = [
        safe(f"Dashboard and API  {up.url}", "bold"),
        safe(f"Backends           {', '.join(up.backends)}"),
        safe(f"Redis              {up.redis}"),
        safe(f"Logs               {up.store / 'logs'}"),
    ]
    if up.flower_url is not None:
        lines.insert(1, safe(f"Flower             {up.flower_url}", "bold"))
        lines.append(safe(f"Flower's password  {_flower_words(up)}"))
    if up.token is None:
        lines.append(safe("Token              yours; `skillopt token create` makes another"))
    else:
        lines += [
            safe("Token, shown this once (an administrator's; keep it):"),
            safe(f"  export SKILLOPT_URL={up.url} SKILLOPT_TOKEN={up.token}", "cyan"),
        ]
    return [*lines, safe("Ctrl-C ends everything; runs go on when it is started again.", "dim")]


def _flower_words(up: Everything) -> str:
    made = up.flower_credentials
    kept = f"in {up.flower_auth_file}"
    return kept if made is None else f"{made.password} (user {made.user}; kept {kept})"


def _object(up: Everything) -> dict[str, Any]:
    made = up.flower_credentials
    return {
        "url": up.url,
        "flower_url": up.flower_url,
        "redis": up.redis,
        "backends": list(up.backends),
        "store": str(up.store),
        "token": up.token,
        "flower_user": made.user if made else None,
        "flower_password": made.password if made else None,
        "flower_auth_file": str(up.flower_auth_file) if up.flower_auth_file else None,
    }
