"""The documents to train, read as they are: a markdown file, or a folder in the Agent Skills
layout with SKILL.md and whatever belongs to it.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from skillopt.config.origins import Origin
from skillopt.config.skill_listing import COMPANIONS, is_inside, read_files
from skillopt.config.skill_standard import front_matter_problems
from skillopt.config.text_file import read_text
from skillopt.domain.regions import BOM, end_marker, start_marker, stray_markers
from skillopt.domain.skill import SkillDocument
from skillopt.domain.skill_folder import SKILL_FILE, SkillFile
from skillopt.errors import ConfigError

MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class SkillSource:
    """A skill and where it came from; `path` is that of the document itself.

    `files` is None for a file of its own. A folder has a tuple, an empty one too: it is hashed
    and written back as a folder, so that the first file put beside SKILL.md changes nothing else.
    """

    path: Path
    text: str
    files: tuple[SkillFile, ...] | None = None


def read_skill_source(path: Path, where: Origin) -> SkillSource:
    """Read a skill, be it a file or a folder.

    Raises ConfigError if it is missing, empty, too large or not UTF-8, or if the folder holds
    something that cannot be kept (see `skill_listing.read_files`).
    """
    if not path.exists():
        raise ConfigError(
            f"{where}: skill: {str(path)!r} does not exist; name a markdown file, or a folder "
            f"with {SKILL_FILE}"
        )
    if not path.is_dir():
        return SkillSource(path, _skill_text(path))
    file = path / SKILL_FILE
    if not file.is_file():
        raise ConfigError(f"{where}: skill: the folder {str(path)!r} has no {SKILL_FILE}; add it")
    if not is_inside(file, path):
        raise ConfigError(
            f"{where}: skill: {str(file)!r} is a link that leads out of its folder; put the file "
            "itself there"
        )
    return SkillSource(file, _skill_text(file), read_files(path, where))


def read_memory(path: Path, where: Origin) -> str:
    """Read a memory document; it may be empty, but it must be there."""
    if not path.exists():
        raise ConfigError(
            f"{where}: memory: {str(path)!r} does not exist; create it (it may be empty)"
        )
    return _exact_text(path, "a memory document")


def skill_warnings(source: SkillSource) -> list[str]:
    """Name what keeps a skill from being used as its author meant, though it can be trained."""
    document = SkillDocument.parse(source.text)
    is_folder = source.files is not None
    warnings: list[str] = []
    if document.front_matter:
        folder = _folder_name(source.path) if is_folder else None
        problems = front_matter_problems(document.front_matter, Origin(str(source.path)), folder)
        warnings += problems
    elif is_folder:
        warnings.append(
            f"{source.path}: has no front matter; begin it with `name` and `description` between "
            "two lines of `---`, or agents will not find the skill"
        )
    warnings += [
        f"{source.path}:{stray.line}: {stray.text!r} belongs to no region and protects nothing; "
        f"write {start_marker('FROZEN')!r} before and {end_marker('FROZEN')!r} behind the text, "
        "or take it out"
        for stray in stray_markers(source.text)
    ]
    beside = [name for name in COMPANIONS if (source.path.parent / name).is_dir()]
    if not is_folder and source.path.name == SKILL_FILE and beside:
        warnings.append(
            f"{source.path}: {', '.join(beside)} beside it is left out; name the folder "
            f"{str(source.path.parent)!r} to have it with the skill"
        )
    return warnings


def _skill_text(path: Path) -> str:
    text = _exact_text(path, "a skill document")
    if not text.strip(f" \t\r\n{BOM}"):
        raise ConfigError(f"{path}: is empty; write at least a sentence on how to do the job")
    return text


def _exact_text(path: Path, what: str) -> str:
    """Read a text with its byte order mark: what is written back has the bytes that were read."""
    text = read_text(path, what=what, error=ConfigError, max_bytes=MAX_BYTES)
    with path.open("rb") as stream:
        marked = stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    return BOM + text if marked else text


def _folder_name(skill_file: Path) -> str:
    """Name the folder as it was given; `.` and `..` stand for another name."""
    folder = skill_file.parent
    return folder.name if folder.name not in {"", ".."} else folder.resolve().name
