"""The other JSON forms that an optimizer or a judge may be asked for, and how replies go wrong."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from skillopt.simulator import merging
from skillopt.simulator.prompt_sections import edits_wanted, section
from skillopt.simulator.prose import sentences

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


def rubric_score(user_text: str) -> dict[str, Any]:
    """Score an answer by the share of the rubric's quoted texts that it has."""
    rubric = section(user_text, "rubric", "criteria") or user_text
    answer = section(user_text, "answer", "response", "reply") or ""
    if not answer.strip():
        return {"score": 0.0, "reason": "there is no answer"}
    quoted = {q.text for sentence in sentences(rubric) for q in sentence.quotations}
    missing = sorted(text for text in quoted if text.lower() not in answer.lower())
    share = 1.0 if not quoted else 1 - len(missing) / len(quoted)
    reason = f"missing: {json.dumps(missing)}" if missing else "it has all that was asked for"
    return {"score": round(share, 4), "reason": reason}


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
