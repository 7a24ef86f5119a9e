"""The prompt templates of a run: the packaged ones, and a folder's in their place."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from skillopt.config.origins import Origin, Problems
from skillopt.config.suggest import did_you_mean
from skillopt.config.text_file import read_text
from skillopt.errors import ConfigError
from skillopt.loop.templates import NAMES, check_templates, packaged

_SUFFIX = ".md"
_MAX_BYTES = 1_000_000


def read_templates(folder: Path | None, where: Origin) -> dict[str, str]:
    """Give every template by name; raises ConfigError with all that is wrong with the folder.

    A file takes the place of the packaged template of its name; hidden files do not count.
    """
    templates = packaged()
    if folder is None:
        return templates
    if not folder.is_dir():
        fault = "is not a folder" if folder.exists() else "does not exist"
        raise ConfigError(
            f"{where}: prompts: {str(folder)!r} {fault}; name a folder with templates such as "
            f"{NAMES[0]}{_SUFFIX}"
        )
    problems = Problems()
    own: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.suffix != _SUFFIX or path.stem not in NAMES:
            known = [f"{name}{_SUFFIX}" for name in NAMES]
            hint = did_you_mean(path.name, known, "templates")
            problems.add(Origin(str(path)), f"is not a known template; {hint}")
            continue
        text = problems.attempt(partial(_read, path))
        if text is None:
            continue
        own[path.stem] = text
        for fault in check_templates({path.stem: text}):
            problems.add(Origin(str(path)), fault)
    problems.raise_any(ConfigError)
    if not own:
        raise ConfigError(
            f"{where}: prompts: {str(folder)!r} holds no template; add files such as "
            f"{NAMES[0]}{_SUFFIX}, or remove the key"
        )
    return templates | own


def _read(path: Path) -> str:
    return read_text(path, what="a prompt template", error=ConfigError, max_bytes=_MAX_BYTES)
