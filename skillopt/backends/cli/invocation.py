"""One run of a program in words: arguments, environment, input; and what every program offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from skillopt.backends.cli.options import CliOptions
from skillopt.backends.cli.trace import Trace
from skillopt.backends.cli.workspace import Workspace


@dataclass(frozen=True)
class Request:
    """What is asked of a program."""

    system: str
    user: str
    #: The program must be able to run commands and read files.
    needs_shell: bool = False
    #: Name of the skill that lies in the program's own skill folder.
    native_skill: str | None = None
    images: tuple[Path, ...] = ()
    schema: Mapping[str, Any] | None = None
    sample: int = 0

    @property
    def joined(self) -> str:
        """System and user prompt as one text, for programs with one input."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True)
class Invocation:
    """Everything a run needs; no secret is in `argv` or `stdin`."""

    argv: tuple[str, ...]
    stdin: str
    environment: Mapping[str, str] = field(repr=False)
    #: A secret that is handed over by a pipe, and the variable that names its descriptor.
    secret_by_pipe: tuple[str, str] | None = field(default=None, repr=False)


class AgentProgram(Protocol):
    """What differs between programs."""

    #: Whether it can hold an answer to a JSON schema.
    has_schemas: bool

    def login_path(self, workspace: Workspace) -> Path | None:
        """Where the program looks for its login; None if it has none in a file."""
        ...

    def skill_folder(self, workspace: Workspace) -> Path:
        """The folder whose subfolders the program takes as skills."""
        ...

    def invocation(
        self, options: CliOptions, workspace: Workspace, request: Request, secret: str | None
    ) -> Invocation:
        """Write what the program reads from files, and say how to start it."""
        ...

    def trace(self, stdout: str, workspace: Workspace) -> Trace:
        """Read what a run printed."""
        ...
