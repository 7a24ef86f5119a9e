"""`skillopt submit`: hand a run to the team's queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from producer.cli.options import JsonOption, QuietOption, SetOption, SpecArgument
from producer.cli.queue_options import QueueRedisOption, QueueStoreOption, UrlOption

if TYPE_CHECKING:
    from producer.queue.models import Tags


def submit(
    spec: SpecArgument,
    priority: Annotated[
        Literal["low", "normal", "high"] | None,
        typer.Option(
            "--priority",
            help="Its share among the runs of its owner: 1, 2 or 4 parts. By default, as the spec "
            "says.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="NAME=VALUE",
            help="Something to find it by. Repeatable.",
            show_default=False,
        ),
    ] = None,
    set_: SetOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Watch it, as `skillopt watch` does.")
    ] = False,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: QueueStoreOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Submit a run to the team's queue, which does it elsewhere.

    A server is sent the spec with the files that it names; backends are those of its catalogue.
    The same content again is the same run: it goes on if it was paused or cancelled, and is shown
    if it is finished. Whose run it is, a server knows by the token; over a Redis `owner:` and
    `team:` of the spec, SKILLOPT_OWNER and SKILLOPT_TEAM say so.

    Examples:
      export SKILLOPT_URL=https://queue.example.org SKILLOPT_TOKEN=…
      skillopt submit my-skill/spec.yaml
      skillopt submit my-skill/spec.yaml --priority high --label ticket=H-17 --watch
      skillopt submit my-skill/spec.yaml --set train.num_epochs=1 --redis redis://host:6379/0 --json
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.cli.watch import watch_run
    from producer.view.runs_page import submitted_page

    terminal = Terminal.open(json=json, quiet=quiet)
    tags = _tags(priority, label)
    with opened_queue(url, redis, store) as queue:
        row = queue.submit(spec, tags, overrides=tuple(set_ or ()))
        if watch:
            watch_run(queue, row.run, terminal)
            return
    terminal.show(*submitted_page(row))
    terminal.emit(row.model_dump(mode="json"))


def _tags(priority: str | None, label: list[str] | None) -> Tags:
    """Give what a run is submitted as: what is not given is left to the spec."""
    from pydantic import ValidationError

    from producer.cli.queue_options import read_pairs
    from producer.queue.models import LABEL, Tags
    from skillopt.errors import InputError

    given: dict[str, Any] = {"labels": read_pairs("--label", label)}
    if priority is not None:
        given["priority"] = priority
    try:
        return Tags.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]["input"]
        raise InputError(
            f"--label: {wrong!r} does not fit; a name is like {LABEL}, a value has up to 200 "
            "characters"
        ) from error
