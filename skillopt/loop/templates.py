"""The prompt templates that come with the package: markdown files with `{{name}}` slots.

A run pins the texts of its templates when it is submitted, so an upgrade in mid-run changes
nothing. A person may bring other texts; `check_templates` says what is wrong with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files

NAMES = (
    "attempt",
    "reflect_failure",
    "reflect_success",
    "reflect_contrast",
    "skill_aware",
    "two_documents",
    "form_edits",
    "form_suggestions",
    "form_rewrite",
    "merge",
    "learning_rate",
    "rank",
    "rewrite",
    "compress",
    "consolidate",
    "slow_update",
    "meta_skill",
    "rubric",
    "repair",
)

_ANALYST = frozenset({"form", "skill_aware", "documents"})
#: The slots a template may have.
SLOTS: dict[str, frozenset[str]] = {
    **{name: frozenset[str]() for name in NAMES},
    "attempt": frozenset({"skill", "memory"}),
    "reflect_failure": _ANALYST,
    "reflect_success": _ANALYST,
    "reflect_contrast": _ANALYST,
    "merge": frozenset({"form", "documents"}),
    "repair": frozenset({"error"}),
}
#: Those it can do without: an attempt's memory follows at its end.
OPTIONAL_SLOTS: dict[str, frozenset[str]] = {"attempt": frozenset({"memory"})}

_SLOT = re.compile(r"\{\{(\s*\w+\s*)\}\}")


def packaged() -> dict[str, str]:
    folder = files("skillopt.loop") / "prompts"
    return {name: (folder / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}


def check_templates(templates: Mapping[str, str]) -> list[str]:
    """Say what is wrong with templates that a person wrote, one sentence each; none if nothing.

    A slot is left out on purpose nowhere but in OPTIONAL_SLOTS: one that is missing would drop
    what it stands for without a word.
    """
    problems: list[str] = []
    for name, text in sorted(templates.items()):
        if name not in SLOTS:
            near = get_close_matches(name, NAMES, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(NAMES)}"
            problems.append(f"template {name!r} is not known{hint}")
            continue
        problems += _slot_problems(name, text)
        if not text.strip():
            problems.append(f"template {name!r} is empty; write it, or remove the file")
    return problems


def _slot_problems(name: str, text: str) -> list[str]:
    written = [match.group(1) for match in _SLOT.finditer(text)]
    known = SLOTS[name]
    takes = ", ".join(f"{{{{{slot}}}}}" for slot in sorted(known)) or "none"
    problems = [
        f"template {name!r} has the slot {f'{{{{{slot}}}}}'!r}; its slots are {takes}"
        for slot in dict.fromkeys(written)
        if slot not in known
    ]
    missing = known - OPTIONAL_SLOTS.get(name, frozenset()) - set(written)
    return problems + [
        f"template {name!r} lacks the slot {f'{{{{{slot}}}}}'!r}; add it"
        for slot in sorted(missing)
    ]
