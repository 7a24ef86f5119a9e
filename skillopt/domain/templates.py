"""Filling `{{name}}` slots of a prompt template."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill the slots in one pass, so that a value which looks like a slot stays as it is."""
    return _SLOT.sub(lambda match: values[match.group(1)], template)
