"""Options that mean the same in every command that has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

CacheMode = Literal["on", "refresh", "off"]

SpecArgument = Annotated[
    Path, typer.Argument(metavar="SPEC", help="The spec file (YAML).", show_default=False)
]
OptionalSpecArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[SPEC]", help="A spec file (YAML).", show_default=False),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id, a unique prefix of it, its name, its folder, or `last`.",
        show_default=False,
    ),
]
BackendsOption = Annotated[
    Path | None,
    typer.Option(
        "--backends",
        metavar="FILE",
        help="Catalogue of backends. Without it: SKILLOPT_BACKENDS, backends.yaml beside the "
        "spec, the user's configuration folder, the packaged catalogue.",
        show_default=False,
    ),
]
RedisOption = Annotated[
    str | None,
    typer.Option(
        "--redis",
        metavar="URL",
        envvar="SKILLOPT_REDIS_URL",
        help="A shared Redis. Without it, a private one is started for this command. A password "
        "in it belongs into the variable: others can see a command's arguments.",
        show_default=False,
    ),
]
#: Of commands that look at what runs left, or at one that is going on.
PresentRedisOption = Annotated[
    str | None,
    typer.Option(
        "--redis",
        metavar="URL",
        envvar="SKILLOPT_REDIS_URL",
        help="A shared Redis. Without it, that of the store.",
        show_default=False,
    ),
]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Where the private Redis and the run folders live. By default .skillopt beside the "
        "spec; for a command without a spec, in the working directory.",
        show_default=False,
    ),
]
WorkersOption = Annotated[
    int,
    typer.Option(
        "--workers", metavar="N", min=1, max=64, help="Worker processes for each backend."
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        metavar="N",
        min=1,
        max=512,
        help="Calls in flight from one worker process. By default, limits.concurrency of the "
        "backend, or 16; that limit also holds for all workers together.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        help="Set one value of the spec, e.g. --set train.num_epochs=1. Repeatable.",
        show_default=False,
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        help="Use at most N tasks of every split, for a smoke run.",
        show_default=False,
    ),
]
CacheOption = Annotated[
    CacheMode | None,
    typer.Option(
        "--cache",
        help="on: share results with every run. refresh, off: make new ones, for this run alone. "
        "By default, as the spec says.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]
QuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Plain log lines instead of the live view, no hints."),
]
LeaveOutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out",
        metavar="TASK",
        help="Leave a task out of every comparison from now on, for one that cannot be run. "
        "It is recorded and lowers the coverage shown. Repeatable.",
        show_default=False,
    ),
]
NewOption = Annotated[
    bool,
    typer.Option(
        "--new",
        help="Start a new run even if the same one exists or is finished. Results are still "
        "reused; --cache refresh makes new ones.",
    ),
]

DEFAULT_STORE_NAME = ".skillopt"
DEFAULT_WORKERS = 1


def default_store(spec: Path | None = None) -> Path:
    """Give the store of a command that names none: beside its spec, else where we are."""
    return Path(DEFAULT_STORE_NAME) if spec is None else spec.resolve().parent / DEFAULT_STORE_NAME
