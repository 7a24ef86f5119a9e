"""The budget that an optimizer may be asked for, and how replies of any form go wrong."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from skillopt.simulator import merging
from skillopt.simulator.prompt_sections import edits_wanted, section

_USUAL_LEARNING_RATE = 4
_HARD = re.compile(r"\bhard\b\W{0,5}([01](?:\.\d{1,9})?)", re.IGNORECASE)


def learning_rate(user_text: str) -> dict[str, Any]:
    usual = edits_wanted(user_text, _USUAL_LEARNING_RATE)
    hard = _HARD.search(section(user_text, "batch") or "")
    share = float(hard.group(1)) if hard else None
    return {
        "learning_rate": merging.learning_rate(
            user_text, share, _USUAL_LEARNING_RATE if usual is None else usual
        ),
        "reasoning": "the more goes wrong, the more is changed at once",
        "confidence": 0.5,
        "risk_notes": [],
    }


def malformed(form: dict[str, Any], rng: random.Random) -> str:
    """Spoil a reply: prose instead of JSON, JSON cut off, or values of the wrong type."""
    text = json.dumps(form, ensure_ascii=False)
    kind = rng.choice(("prose", "truncated", "wrong types"))
    if kind == "prose":
        return "I looked at the material and would suggest a few improvements to the document."
    if kind == "truncated":
        return text[: max(1, len(text) * 2 // 3)]
    return json.dumps({key: 7 if isinstance(value, dict | list) else [value]
                       for key, value in form.items()})  # fmt: skip
