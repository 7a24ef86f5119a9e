"""`skillopt simulate`: the simulated model on its own.

The flags are the fields of `SimulatorOptions`. That model takes time to import, so the command
that `--help` lists only passes its arguments on; the one with the flags is made when it runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.help_text import help_text
from producer.cli.options import JsonOption

if TYPE_CHECKING:
    from skillopt.simulator.options import SimulatorOptions
    from skillopt.simulator.server import Address

#: For the command in the list: take everything, `--help` too, as arguments.
PASS_ON = {
    "context_settings": {
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
    "add_help_option": False,
}

_EXAMPLE = """backends:
  sim:
    kind: simulated
    base_url: {url}"""


def simulate(context: typer.Context) -> None:
    """Serve a simulated model over HTTP, to try things without a key.

    Example: skillopt simulate --port 8808 --latency-s 0.5 --error-rate 0.05
    """
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    serve = command_with_flags()
    settings = {"help_option_names": ["-h", "--help"]}
    app.command(context_settings=settings, help=help_text(serve))(serve)
    command = typer.main.get_command(app)
    with command.make_context("skillopt simulate", list(context.args)) as inner:
        command.invoke(inner)


def command_with_flags() -> Callable[..., None]:
    """Make the command whose flags are the fields of the simulator's options."""
    from skillopt.simulator.options import SimulatorOptions

    def simulate(json: bool, port_file: Path | None, **values: Any) -> None:  # noqa: ANN401
        """Serve a simulated model over HTTP, for trying things out without a key.

        It speaks Chat Completions and Responses, both also on the paths of Azure, and Anthropic's
        Messages. As a target it obeys the rules that its prompt states; as an optimizer it
        proposes edits from what it is shown. It runs until interrupted.

        Example:
          skillopt simulate --port 8808 --latency-s 0.5 --error-rate 0.05
        """
        _serve(values, json=json, port_file=port_file)

    flags: dict[str, tuple[Any, Any]] = {
        name: (_annotation(name, field.annotation, field.description or ""), _default(field))
        for name, field in SimulatorOptions.model_fields.items()
    }
    flags["port_file"] = (
        Annotated[Path | None, typer.Option(help="file that receives the port in use")],
        None,
    )
    flags["json"] = (JsonOption, False)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in flags.items()
    ]
    simulate.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    simulate.__annotations__ = {name: annotation for name, (annotation, _) in flags.items()}
    return simulate


def _annotation(name: str, annotation: Any, help_text: str) -> Any:  # noqa: ANN401 - a type
    """Give a field's type as a flag; lists are written with commas, as the options read them."""
    kind = str | None if name == "models" else annotation
    return Annotated[kind, typer.Option(f"--{name.replace('_', '-')}", help=help_text)]


def _default(field: Any) -> Any:  # noqa: ANN401 - any field, any value
    return None if field.default == () else field.default


def _serve(values: dict[str, Any], *, json: bool, port_file: Path | None) -> None:
    from producer.cli.console import Terminal
    from skillopt.simulator.options import read_options
    from skillopt.simulator.server import serve

    terminal = Terminal.open(json=json)
    options = read_options({name: value for name, value in values.items() if value is not None})

    def announce(address: Address) -> None:
        _announce(terminal, options, address)

    serve(options, port_file=port_file, on_start=announce)


def _announce(terminal: Any, options: SimulatorOptions, address: Address) -> None:  # noqa: ANN401
    from producer.view.printable import safe

    entry = _EXAMPLE.format(url=address.base_url)
    terminal.show(
        safe(f"Simulator at {address.base_url} (behaviour {options.behaviour})", "bold"),
        safe("An entry for backends.yaml:"),
        safe(entry, "cyan"),
        safe("Ctrl-C stops it.", "dim"),
    )
    terminal.emit(
        {
            "url": address.base_url,
            "host": address.host,
            "port": address.port,
            "behaviour": options.behaviour,
            "backend": {"kind": "simulated", "base_url": address.base_url},
        }
    )
