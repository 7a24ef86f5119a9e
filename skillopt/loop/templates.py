"""Prompt templates: markdown files with `{{name}}` slots, identified by hash.

A run pins the texts of its templates when it is submitted, so an upgrade in mid-run changes
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from skillopt.domain.fingerprint import text_hash

NAMES = ("attempt", "reflect_failure", "reflect_success", "merge", "rank", "repair")
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def packaged() -> dict[str, str]:
    """Read the templates that come with the package."""
    folder = files("skillopt.loop") / "prompts"
    return {name: (folder / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill the slots in one pass, so that a value which looks like a slot stays as it is."""
    return _SLOT.sub(lambda match: values[match.group(1)], template)


def template_hash(text: str) -> str:
    return text_hash(text)
