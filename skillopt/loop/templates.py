"""The prompt templates that come with the package: markdown files with `{{name}}` slots.

A run pins the texts of its templates when it is submitted, so an upgrade in mid-run changes
nothing.
"""

from __future__ import annotations

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
    "repair",
)


def packaged() -> dict[str, str]:
    folder = files("skillopt.loop") / "prompts"
    return {name: (folder / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}
