"""The other JSON forms that an optimizer or a judge may be asked for."""

from __future__ import annotations

import json
import random
from typing import Any

from skillopt.simulator.analyst import read_prompt
from skillopt.simulator.prompt_sections import edits_wanted, section
from skillopt.simulator.prose import sentences

_USUAL_LEARNING_RATE = 4


def slow_update(user_text: str) -> dict[str, Any]:
    return {
        "reasoning": "what failed across the epoch, as lasting guidance",
        "slow_update_content": _rules_learnt(user_text) or "- Keep to the rules above.",
    }


def meta_skill(user_text: str) -> dict[str, Any]:
    return {
        "reasoning": "what helped when the document was edited",
        "meta_skill_content": "- Take over literal texts from the failing criteria unchanged.",
    }


def rewrite(user_text: str) -> dict[str, Any]:
    """Rewrite the skill: as it is, with a rule for each failing criterion at its end."""
    skill = read_prompt(user_text).skill.rstrip()
    learnt = _rules_learnt(user_text)
    return {
        "reasoning": "the document with the rules it lacked",
        "change_summary": learnt.splitlines(),
        "new_skill": f"{skill}\n\n{learnt}\n" if learnt else f"{skill}\n",
    }


def learning_rate(user_text: str) -> dict[str, Any]:
    return {
        "learning_rate": edits_wanted(user_text, _USUAL_LEARNING_RATE),
        "reasoning": "as many edits as are allowed",
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


def _rules_learnt(user_text: str) -> str:
    prompt = read_prompt(user_text)
    return "\n".join(
        criterion.wordings[0]
        for criterion in prompt.criteria
        if not criterion.is_stated_in(prompt.skill)
    )
