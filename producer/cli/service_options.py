"""Options that mean the same in every service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

RedisUrlOption = Annotated[
    str | None,
    typer.Option(
        "--redis",
        metavar="URL",
        envvar="SKILLOPT_REDIS_URL",
        help="The team's Redis. One with a password is named by the variable: others can see a "
        "command's arguments.",
        show_default=False,
        show_envvar=True,
    ),
]
TeamStoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Where the run folders live; coordinators and the API of a team share it. By default "
        ".skillopt in the working directory.",
        show_default=False,
    ),
]
LogFormatOption = Annotated[
    Literal["text", "json"],
    typer.Option(
        "--log-format",
        envvar="SKILLOPT_LOG_FORMAT",
        help="Log lines for people, or as JSON with run, job, backend and attempt.",
    ),
]
MetricsPortOption = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        metavar="PORT",
        min=1,
        max=65535,
        help="Give figures for Prometheus from here on: each process has the next port.",
        show_default=False,
    ),
]
MetricsHostOption = Annotated[
    str,
    typer.Option(
        "--metrics-host",
        metavar="ADDRESS",
        help="The address for the figures. They ask for no credential: keep it within your "
        "network.",
    ),
]
HealthFileOption = Annotated[
    Path | None,
    typer.Option(
        "--health-file",
        metavar="PATH",
        help="Where to say how it is; `python -m skillopt.health [--ready] PATH` asks.",
        show_default=False,
    ),
]
CoordinatorsOption = Annotated[
    int, typer.Option("--coordinators", metavar="N", min=1, max=16, help="Coordinator processes.")
]
ServedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="Serve this backend only. Repeatable. By default every backend of the catalogue "
        "whose credential is there.",
        show_default=False,
    ),
]
PortOption = Annotated[
    int,
    typer.Option("--port", metavar="PORT", min=0, max=65535, help="0 takes a free one."),
]
FlowerPortOption = Annotated[
    int,
    typer.Option(
        "--flower-port", metavar="PORT", min=0, max=65535, help="Of Flower; 0 takes a free one."
    ),
]
AuthFileOption = Annotated[
    Path | None,
    typer.Option(
        "--auth-file",
        metavar="FILE",
        help="Holds user:password, for its owner alone; made if it is not there. The variable "
        "SKILLOPT_FLOWER_AUTH goes before it.",
        show_default=False,
    ),
]
AllowRemoteOption = Annotated[
    bool,
    typer.Option(
        "--allow-remote",
        help="Let other machines reach it, where a proxy encrypts: the password would cross the "
        "network in the clear.",
    ),
]
HostOption = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="The address to listen at.")
]

LOOPBACK = "127.0.0.1"
API_PORT = 8484
FLOWER_PORT = 5555
