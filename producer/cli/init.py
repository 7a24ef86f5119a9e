"""`skillopt init`: a working example to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from producer.cli.options import JsonOption

_NAMED_FILES = 5


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to write it; made if it is missing.")
    ] = Path("my-skill"),
    json: JsonOption = False,
) -> None:
    """Write an example to start from: spec, skill, tasks, backends.

    The files are commented. The spec passes `skillopt check` as it is and runs on the simulator.
    Existing files are never overwritten.

    Example:
      skillopt init my-skill
    """
    from producer.cli.console import Terminal
    from producer.view.printable import safe
    from skillopt.config.packaged import configs_dir

    terminal = Terminal.open(json=json)
    written = copy_example(configs_dir() / "example", folder)
    spec = folder / "spec.yaml"
    steps = [f"skillopt {command} {spec}" for command in ("check", "plan", "run")]
    terminal.show(
        safe(f"Wrote {len(written)} files to {folder}:"),
        *(safe(f"  {path}", "dim") for path in written),
        safe("Next:", "bold"),
        *(safe(f"  {step}", "cyan") for step in steps),
    )
    terminal.emit({"folder": str(folder), "files": [str(path) for path in written], "next": steps})


def copy_example(source: Path, target: Path) -> list[Path]:
    """Copy every file below `source` into `target`; returns what was written.

    Raises ConfigError naming the files that exist already, before anything is written.
    """
    from skillopt.errors import ConfigError

    if target.exists() and not target.is_dir():
        raise ConfigError(f"{str(target)!r} is a file; name a folder that is new or empty")
    files = sorted(path for path in source.rglob("*") if path.is_file() and not _internal(path))
    copies = {path: target / path.relative_to(source) for path in files}
    taken = [str(copy) for copy in copies.values() if copy.exists() or copy.is_symlink()]
    if taken:
        named = ", ".join(repr(path) for path in taken[:_NAMED_FILES])
        more = f" and {len(taken) - _NAMED_FILES} more" if len(taken) > _NAMED_FILES else ""
        raise ConfigError(f"{named}{more} would be overwritten; name another folder or move it")
    try:
        for original, copy in copies.items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("xb") as stream:
                stream.write(original.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"{str(target)!r} cannot be written to ({error.strerror}); name another folder"
        ) from error
    return list(copies.values())


def _internal(path: Path) -> bool:
    return "__pycache__" in path.parts or path.name == "__init__.py"
