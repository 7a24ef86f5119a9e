"""What an optimizer says at the end of an epoch, and how it condenses notes."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from skillopt.simulator.criteria import Criterion, read_criteria
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.prompt_sections import listed, section, unfenced
from skillopt.simulator.prose import told
from skillopt.simulator.shown import Shown, criteria_lines, plain, read_prompt
from skillopt.simulator.wordings_of_edits import VAGUE, harmful

_CHANGE = re.compile(r"^###+ *(regressed|persistent|improved|stable)", re.IGNORECASE | re.MULTILINE)
#: Opens what is told of one of the two documents that are compared.
_WITH_PREVIOUS = re.compile(r"^With the previous\b", re.IGNORECASE)
_WITH_OTHER = re.compile(r"^(?:With the (?!previous)|#)", re.IGNORECASE)
#: Guidance and memories are asked to be short.
_MOST_LINES = 20
_TAKE_OVER = "- Take over literal texts from the failing criteria unchanged."


def slow_update(user_text: str, options: SimulatorOptions, rng: random.Random) -> dict[str, Any]:
    """Write guidance: what there is, and rules for what fails with the current document."""
    shown = read_prompt(user_text)
    lines = []
    for criterion in _still_failing(user_text, shown):
        draw = rng.random()
        if draw < options.harmful_rate:
            lines.append(harmful(criterion.kind, criterion.arg))
        elif draw < options.harmful_rate + options.vague_rate:
            lines.append(rng.choice(VAGUE))
        elif not shown.states(criterion):
            lines.append(criterion.wordings[0])
        elif not shown.recalls(criterion):
            lines.append(f"- {criterion.reminder}")
    guidance = [*_existing(user_text, "existing guidance"), *lines]
    return {
        "reasoning": "what failed across the epoch, as lasting guidance",
        "slow_update_content": _joined(guidance) or "- Keep to the rules above.",
    }


def meta_skill(user_text: str, options: SimulatorOptions, rng: random.Random) -> dict[str, Any]:
    """Write down what editing has taught: what is known, and which rules are still missed."""
    shown = read_prompt(user_text)
    missed = dict.fromkeys(criterion.kind for criterion in _still_failing(user_text, shown))
    draw = rng.random()
    if draw < options.harmful_rate:
        lesson = ["- Delete rules that seem too strict."]
    elif draw < options.harmful_rate + options.vague_rate:
        lesson = ["- Edit with care."]
    else:
        lesson = [_TAKE_OVER, *(f"- Rules of the kind {kind} are still missed." for kind in missed)]
    return {
        "reasoning": "what helped when the document was edited",
        "meta_skill_content": _joined([*_existing(user_text, "existing memory"), *lesson]),
    }


def consolidate(user_text: str, options: SimulatorOptions, rng: random.Random) -> dict[str, Any]:
    """Condense notes: each said once, and two in one if that alone makes the list no shorter.

    A vague reply leaves the list as it is, a harmful one keeps only the first note.
    """
    notes = listed(section(user_text, "notes") or user_text)
    draw = rng.random()
    if draw < options.harmful_rate:
        return {"appendix_notes": notes[:1]}
    if draw < options.harmful_rate + options.vague_rate:
        return {"appendix_notes": notes}
    distinct = list({plain(note).casefold().rstrip(".!;,: "): note for note in notes}.values())
    if len(distinct) == len(notes):
        distinct = [" ".join(distinct[at : at + 2]) for at in range(0, len(distinct), 2)]
    return {"appendix_notes": distinct}


def _still_failing(user_text: str, shown: Shown) -> dict[Criterion, int]:
    """Read what fails with the current document; a prompt without a comparison tells itself."""
    comparison = section(user_text, "comparison")
    if comparison is None:
        return shown.criteria
    pieces = _CHANGE.split(comparison)
    failing = [
        text
        for change, text in zip(pieces[1::2], pieces[2::2], strict=True)
        if change.lower() in ("regressed", "persistent")
    ]
    compared = "\n".join(failing) if len(pieces) > 1 else comparison
    return read_criteria(criteria_lines(_of_current(compared)).splitlines())


def _of_current(text: str) -> str:
    """Leave out what attempts said, and all that is told of those with the previous document."""
    kept, skipping = [], False
    for line in told(text):
        if _WITH_PREVIOUS.match(line):
            skipping = True
        elif _WITH_OTHER.match(line):
            skipping = False
        if not skipping:
            kept.append(line)
    return "\n".join(kept)


def _existing(user_text: str, title: str) -> list[str]:
    text = unfenced(section(user_text, title) or "").strip()
    return [] if text.casefold() in ("(none)", "none", "") else text.splitlines()


def _joined(lines: Sequence[str]) -> str:
    """Join distinct lines; the newest stay if there are too many."""
    return "\n".join(list(dict.fromkeys(filter(str.strip, lines)))[-_MOST_LINES:])
