"""The optimizer as analyst: changes from what its prompt shows, nothing else."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from typing import Any

from skillopt.simulator.extraction import extract, reminders
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.proposals import Proposal, form_in, thoughts_on, vague
from skillopt.simulator.shown import Shown, read_prompt

NOTES = "appendix_notes"


def reflect_on_failures(
    user_text: str, asked: Collection[str], options: SimulatorOptions, rng: random.Random
) -> dict[str, Any]:
    """Answer a failure prompt. Without criteria to go by, what is proposed is vague.

    `asked` are the names of the fields that the prompt asks for.
    """
    shown = read_prompt(user_text)
    thoughts = thoughts_on(shown, options, rng, notes_wanted=NOTES in asked)
    proposals = thoughts.proposals if shown.criteria else vague(shown, rng)
    reply: dict[str, Any] = {
        "batch_size": shown.attempts,
        "failure_summary": [
            {
                "failure_type": criterion.kind,
                "count": count,
                "description": f"the answers do not meet {criterion.kind} {criterion.arg}".strip(),
            }
            for criterion, count in shown.criteria.items()
        ],
        "patch": {
            "reasoning": f"{len(proposals)} rule(s) for what failed most often",
            **_payload(proposals, shown, asked),
        },
    }
    if NOTES in asked:
        reply[NOTES] = list(thoughts.notes)
    return reply


def reflect_on_successes(
    user_text: str, asked: Collection[str], options: SimulatorOptions, rng: random.Random
) -> dict[str, Any]:
    """Answer a success prompt: nothing is missing, unless this reply is a vague one.

    Asked for notes, it stresses the first rule that no note stresses yet.
    """
    shown = read_prompt(user_text)
    proposals = vague(shown, rng) if rng.random() < options.vague_rate else []
    reply: dict[str, Any] = {
        "batch_size": shown.attempts,
        "success_patterns": ["the answers follow the rules of the document"],
        "patch": {
            "reasoning": "the document already asks for what worked",
            **_payload(proposals, shown, asked),
        },
    }
    if NOTES in asked:
        reply[NOTES] = _stressed(shown.text)
    return reply


def _payload(
    proposals: Sequence[Proposal], shown: Shown, asked: Collection[str]
) -> dict[str, list[dict[str, Any]]]:
    """Put the proposals into the form asked for, the first of them up to the number wanted.

    A whole document takes them all up.
    """
    key, form = form_in(asked)
    wanted = None if key == "skill_candidates" else shown.edits_wanted
    return {key: form(proposals[:wanted], shown)}


def _stressed(text: str) -> list[str]:
    known = reminders(text)
    for line in text.splitlines():
        rules = extract(line)
        if line.startswith("- ") and rules and not set(rules) <= known:
            rule = line.removeprefix("- ")
            return [f"Remember: {rule[:1].lower()}{rule[1:]}"]
    return []
