"""A command that has commands of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from producer.cli.help_text import help_text

_HELP_OPTIONS = ("-h", "--help")


class FirstByDefault(TyperGroup):
    """A group whose first command is meant where none is named, whatever else is given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - no public type
        if not args or args[0] not in (*self.commands, *_HELP_OPTIONS):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def command_group(
    about: Callable[[], None],
    commands: Mapping[str, Callable[..., None]],
    cls: type[TyperGroup] = TyperGroup,
) -> typer.Typer:
    """Put commands together, in this order; `about` does nothing, its docstring is their help.

    Without a command, the help is shown and the exit code is that of bad input; unless `cls` finds
    one that is meant.
    """
    app = typer.Typer(cls=cls, context_settings={"help_option_names": list(_HELP_OPTIONS)})
    app.callback(invoke_without_command=True, help=help_text(about))(help_without_command)
    for name, command in commands.items():
        app.command(name, help=help_text(command))(command)
    return app


def help_without_command(context: typer.Context) -> None:
    """Show the help of a group whose commands were not asked for anything."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
