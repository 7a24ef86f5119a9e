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

import re
import unicodedata
from typing import Any

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
_FENCE = re.compile(r"---[ \t]*\r?\n?")


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
        *_problems_of_name(document, folder),
        *_problems_of_text(document, "description", required=True),
        *_problems_of_text(document, "license"),
        *_problems_of_text(document, "compatibility"),
        *_problems_of_text(document, "allowed-tools"),
        *_problems_of_metadata(document),
        *_unknown_keys(document),
    ]
    return [shortened(problem) for problem in problems]
