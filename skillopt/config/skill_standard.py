"""The front matter of a skill, by the public Agent Skills standard.

| key           | required | form                                                                |
|---------------|----------|---------------------------------------------------------------------|
| name          | yes      | 1-64 lowercase letters, digits, single hyphens; the folder's name   |
| description   | yes      | 1-1024 characters                                                   |
| license       |          | text                                                                |
| compatibility |          | 1-500 characters                                                    |
| metadata      |          | keys and values of any kind                                         |
| allowed-tools |          | text, tools separated by spaces                                     |
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from skillopt.config.origins import Origin, shortened
from skillopt.config.suggest import nearest
from skillopt.config.yaml_source import Document, parse_document
from skillopt.errors import ConfigError

MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_LONGEST = {
    "name": MAX_NAME,
    "description": MAX_DESCRIPTION,
    "compatibility": MAX_COMPATIBILITY,
}


def front_matter_problems(front_matter: str, where: Origin, folder: str | None) -> list[str]:
    """Say in which ways a front matter, fences included, departs from the standard.

    `folder` is the name of the skill's folder; None if the skill is a file of its own.
    """
    lines = front_matter.splitlines(keepends=True)
    # The first fence becomes an empty line, so that line numbers are those of the file.
    text = "\n" + "".join(lines[1:-1])
    try:
        document = parse_document(text, where)
    except ConfigError as error:
        return [shortened(f"{line} (front matter)") for line in str(error).splitlines()]
    problems = [
        *_problems_of_text(document, "name", required=True),
        *_problems_of_name(document, folder),
        *_problems_of_text(document, "description", required=True),
        *_problems_of_text(document, "license"),
        *_problems_of_text(document, "compatibility"),
        *_problems_of_text(document, "allowed-tools"),
        *_problems_of_other_keys(document),
    ]
    return [shortened(problem) for problem in problems]


def _problems_of_text(document: Document, key: str, *, required: bool = False) -> Iterator[str]:
    where, value = document.origin((key,)), document.data.get(key)
    if key not in document.data:
        if required:
            yield f"{where}: {key} is missing in the front matter; add `{key}: ...`"
    elif isinstance(value, list):
        yield f"{where}: {key}: {value!r} is a list; write one line, parted by spaces"
    elif value is not None and not isinstance(value, str):
        yield f"{where}: {key}: {value!r} is not text; put it in quotes"
    elif not (value or "").strip():
        yield f"{where}: {key} is empty; write it, or take the key out"
    elif len(value or "") > _LONGEST.get(key, len(value or "")):
        yield (
            f"{where}: {key} has {len(value or '')} characters; {_LONGEST[key]} are the most, "
            "shorten it"
        )


def _problems_of_name(document: Document, folder: str | None) -> Iterator[str]:
    name, where = document.data.get("name"), document.origin(("name",))
    if not isinstance(name, str) or not name.strip():
        return
    name = _composed(name)
    allowed = all(character.isalnum() or character == "-" for character in name)
    if not allowed or name != name.lower():
        yield (
            f"{where}: name: {name!r} may have lowercase letters, digits and hyphens only; "
            "rename the skill"
        )
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield f"{where}: name: {name!r} has a hyphen at an end or two in a row; take them out"
    if folder is not None and name != _composed(folder):
        yield (
            f"{where}: name: {name!r} is not the name of the skill's folder {folder!r}; rename "
            "one of them"
        )


def _problems_of_other_keys(document: Document) -> Iterator[str]:
    metadata = document.data.get("metadata")
    if "metadata" in document.data and not isinstance(metadata, dict):
        where = document.origin(("metadata",))
        yield f"{where}: metadata: {metadata!r} is not a section; write `key: value` lines in it"
    for key in document.data:
        if key in _KEYS:
            continue
        guess = nearest(key, _KEYS, cutoff=0.8)
        fix = f"did you mean {guess!r}?" if guess else "move it into `metadata`"
        yield f"{document.origin((key,))}: the standard does not know the key {key!r}; {fix}"


def _composed(name: str) -> str:
    """Give a name in the one form that file systems do not agree on."""
    return unicodedata.normalize("NFC", name)
