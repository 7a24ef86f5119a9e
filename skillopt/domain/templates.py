"""Filling `{{name}}` slots of a prompt template."""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillopt.errors import NotUnderstood

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill the slots in one pass, so that a value which looks like a slot stays as it is.

    Raises NotUnderstood for a slot that there is no value for: a template is checked when a run
    is planned, so this one was planned by a version that knows more slots.
    """

    def value_of(match: re.Match[str]) -> str:
        try:
            return values[match.group(1)]
        except KeyError:
            known = ", ".join(f"{{{{{name}}}}}" for name in values)
            raise NotUnderstood(
                f"a template of the run has the slot {match.group()!r}, which is not known here; "
                f"known are {known}"
            ) from None

    return _SLOT.sub(value_of, template)
