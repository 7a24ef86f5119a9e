"""The document to train, read as it is."""

from __future__ import annotations

from pathlib import Path

from skillopt.config.origins import Origin
from skillopt.config.text_file import read_text
from skillopt.errors import ConfigError

SKILL_FILE = "SKILL.md"
MAX_BYTES = 1_000_000
#: Subfolders of the Agent Skills layout whose files the document refers to.
_COMPANIONS = ("scripts", "references", "assets")


def find_skill(path: Path, where: Origin) -> Path:
    """Give the file of a skill: the file itself, or SKILL.md of a folder that has nothing else."""
    if not path.exists():
        raise ConfigError(
            f"{where}: skill: {str(path)!r} does not exist; name a markdown file, or a folder "
            f"with {SKILL_FILE}"
        )
    if not path.is_dir():
        return path
    file = path / SKILL_FILE
    if not file.is_file():
        raise ConfigError(f"{where}: skill: the folder {str(path)!r} has no {SKILL_FILE}; add it")
    others = [name for name in _COMPANIONS if any((path / name).glob("*"))]
    if others:
        raise ConfigError(
            f"{where}: skill: the folder {str(path)!r} also has {', '.join(others)}, which this "
            f"version does not give to the model; name {str(file)!r} to train that file alone"
        )
    return file


def read_skill(path: Path) -> str:
    """Read the document; raises ConfigError if it is missing, empty, too long or not UTF-8."""
    text = read_text(path, what="a skill document", error=ConfigError, max_bytes=MAX_BYTES)
    if not text.strip():
        raise ConfigError(f"{path}: is empty; write at least a sentence on how to do the job")
    return text
