"""The optimizer as analyst: edits from the failing criteria that its prompt shows, nothing else."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillopt.simulator.criteria import Criterion, read_criteria
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.prompt_sections import edits_wanted, section, sections, unfenced
from skillopt.simulator.wordings_of_edits import VAGUE, harmful

_USUAL_EDITS = 4
_OF_ATTEMPTS = re.compile(r"\bfailed in \d+ of (\d+)")
#: Sections that never say what failed.
_NOT_EVIDENCE = ("current skill", "earlier steps", "edits wanted")


@dataclass(frozen=True)
class AnalystPrompt:
    """What an analyst's prompt shows."""

    skill: str
    edits_wanted: int
    criteria: dict[Criterion, int]
    rejected: str
    attempts: int


def read_prompt(user_text: str) -> AnalystPrompt:
    """Read an analyst's prompt; what it does not show stays empty."""
    skill = section(user_text, "current skill", "skill")
    failing = section(user_text, "failing criteria", "failed criteria")
    if failing is None:
        failing = "\n".join(
            text
            for title, text in sections(user_text).items()
            if not title.startswith(_NOT_EVIDENCE)
        )
    criteria = read_criteria(failing.splitlines())
    return AnalystPrompt(
        skill=unfenced(skill or ""),
        edits_wanted=edits_wanted(user_text, _USUAL_EDITS),
        criteria=criteria,
        rejected=section(user_text, "earlier steps", "rejected") or "",
        attempts=max((int(n) for n in _OF_ATTEMPTS.findall(failing)), default=len(criteria)),
    )


def reflect_on_failures(
    user_text: str, options: SimulatorOptions, rng: random.Random
) -> dict[str, Any]:
    """Answer a failure prompt. Without criteria to go by, the edits are vague."""
    prompt = read_prompt(user_text)
    edits = _edits(prompt, options, rng)
    if not prompt.criteria:
        edits = _vague_edits(prompt, rng)
    return {
        "batch_size": prompt.attempts,
        "failure_summary": [
            {
                "failure_type": criterion.kind,
                "count": count,
                "description": f"the answers do not meet {criterion.kind} {criterion.arg}".strip(),
            }
            for criterion, count in prompt.criteria.items()
        ],
        "patch": {
            "reasoning": f"{len(edits)} rule(s) for what failed most often",
            "edits": edits[: prompt.edits_wanted],
        },
    }


def reflect_on_successes(
    user_text: str, options: SimulatorOptions, rng: random.Random
) -> dict[str, Any]:
    """Answer a success prompt: nothing is missing, unless this reply is a vague one."""
    prompt = read_prompt(user_text)
    vague = rng.random() < options.vague_rate
    edits = _vague_edits(prompt, rng) if vague else []
    return {
        "batch_size": prompt.attempts,
        "success_patterns": ["the answers follow the rules of the document"],
        "patch": {
            "reasoning": "the document already asks for what worked",
            "edits": edits[: prompt.edits_wanted],
        },
    }


def _edits(
    prompt: AnalystPrompt, options: SimulatorOptions, rng: random.Random
) -> list[dict[str, str]]:
    edits: list[dict[str, str]] = []
    for criterion in prompt.criteria:
        draw = rng.random()
        if draw < options.harmful_rate:
            edits.extend(_append(prompt, [harmful(criterion.kind, criterion.arg)]))
        elif draw < options.harmful_rate + options.vague_rate:
            edits.extend(_vague_edits(prompt, rng))
        else:
            edits.extend(_helpful(prompt, criterion))
    return list({edit["content"]: edit for edit in edits}.values())


def _helpful(prompt: AnalystPrompt, criterion: Criterion) -> list[dict[str, str]]:
    """Write the rule down, in place of a line that says the opposite; not if it is there."""
    for line in prompt.skill.splitlines():
        if criterion.is_contradicted_by(line) and prompt.skill.count(line) == 1:
            fresh = _fresh(prompt, criterion.wordings)
            return [{"op": "replace", "target": line, "content": text} for text in fresh[:1]]
    if criterion.is_stated_in(prompt.skill):
        return []
    return _append(prompt, criterion.wordings)


def _append(prompt: AnalystPrompt, texts: Sequence[str]) -> list[dict[str, str]]:
    fresh = _fresh(prompt, texts)
    return [{"op": "append", "target": "", "content": text} for text in fresh[:1]]


def _fresh(prompt: AnalystPrompt, texts: Sequence[str]) -> list[str]:
    """Leave out what was rejected before and what the skill says already."""
    known = _plain(f"{prompt.rejected}\n{prompt.skill}")
    return [text for text in texts if not any(form in known for form in _forms(text))]


def _vague_edits(prompt: AnalystPrompt, rng: random.Random) -> list[dict[str, str]]:
    return _append(prompt, rng.sample(VAGUE, len(VAGUE)))


def _forms(text: str) -> tuple[str, str]:
    """Give an edit as a document holds it and as JSON writes it, without its bullet."""
    plain = _plain(text.removeprefix("- "))
    return plain, json.dumps(plain, ensure_ascii=False)[1:-1]


def _plain(text: str) -> str:
    return " ".join(text.split())
