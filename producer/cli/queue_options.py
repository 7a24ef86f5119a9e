"""Where the team's queue is: options of every command that asks it, and the queue they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from producer.queue.port import Queue

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="The server of the queue (`skillopt serve`); SKILLOPT_URL without it. It asks for the "
        "token in SKILLOPT_TOKEN.",
        show_default=False,
    ),
]
QueueRedisOption = Annotated[
    str | None,
    typer.Option(
        "--redis",
        metavar="URL",
        help="The team's Redis itself, instead of a server; SKILLOPT_REDIS_URL without it, where a "
        "password belongs: others can see a command's arguments.",
        show_default=False,
    ),
]
QueueStoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="With a Redis: where run folders lie, if they lie on this machine. By default "
        ".skillopt in the working directory.",
        show_default=False,
    ),
]
QueueRunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id, a unique beginning of it, its name, or `last`.",
        show_default=False,
    ),
]


@contextmanager
def opened_queue(url: str | None, redis: str | None, store: Path | None = None) -> Iterator[Queue]:
    """Give the queue that options or variables name.

    Raises InputError if both options are given, or one that does not fit; ConfigError if nothing
    names a queue.
    """
    from producer.queue.open import open_queue
    from skillopt.errors import InputError
    from skillopt.state.urls import redacted

    if url is not None and redis is not None:
        raise InputError(
            f"--url {url!r} and --redis {redacted(redis)!r} are two queues; give one of them"
        )
    if redis is not None and redis.startswith(("http://", "https://")):
        raise InputError(f"--redis {redis!r} is a server's URL; give it as --url")
    for option, value in (("--url", url), ("--redis", redis)):
        if value is not None and not value.strip():
            raise InputError(f"{option} {value!r} is no URL; leave it out, or give one")
    queue = open_queue(url or redis, store=store)
    try:
        yield queue
    finally:
        queue.close()


def read_pairs(option: str, written: list[str] | None) -> dict[str, str]:
    """Read `name=value` of an option that may be repeated; raises InputError."""
    from skillopt.errors import InputError

    pairs = {}
    for one in written or ():
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise InputError(f"{option}: {one!r} is not understood; write name=value")
        pairs[name.strip()] = value.strip()
    return pairs
