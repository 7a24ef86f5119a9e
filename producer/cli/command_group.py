"""A command that has commands of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import typer

from producer.cli.help_text import help_text


def command_group(
    about: Callable[[], None], commands: Mapping[str, Callable[..., None]]
) -> typer.Typer:
    """Put commands together, in this order; `about` does nothing, its docstring is their help.

    Without a command, the help is shown and the exit code is that of bad input.
    """
    app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})
    app.callback(invoke_without_command=True, help=help_text(about))(help_without_command)
    for name, command in commands.items():
        app.command(name, help=help_text(command))(command)
    return app


def help_without_command(context: typer.Context) -> None:
    """Show the help of a group whose commands were not asked for anything."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
