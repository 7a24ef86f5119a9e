"""What earlier steps tried: nobody should propose again what was measured and rejected.

Told are the steps of this epoch, and those of any epoch whose candidate was rejected from the very
document that is edited now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from skillopt.domain.changes import Change, Suggestion
from skillopt.domain.edits import Edit
from skillopt.domain.events import Verdict
from skillopt.domain.run import RunState, StepState
from skillopt.loop.gate import PROTECTED_WORSE
from skillopt.loop.prompt_parts import CHARACTERS_PER_TOKEN, cut, section

#: Characters of one change that are told.
CHANGE_LIMIT = 600
_TARGET_LIMIT = 120
_WORDS: dict[Verdict, str] = {
    "accept": "ACCEPTED",
    "reject": "REJECTED",
    "underpowered": "NOT ACCEPTED",
    "indecisive": "undecided",
}


def earlier_steps_section(state: RunState, step: StepState) -> list[str]:
    """Give the section on earlier steps, the newest of them if not all fit; none without any."""
    told = [_entry(one) for one in state.steps if _matters(one, step)]
    told = [entry for entry in told if entry]
    limit = state.plan.settings.gradient.history_tokens * CHARACTERS_PER_TOKEN
    kept: list[str] = []
    for entry in reversed(told):
        if kept and sum(map(len, kept)) + len(entry) > limit:
            break
        kept.insert(0, cut(entry, limit))
    if not kept:
        return []
    left_out = len(told) - len(kept)
    if left_out:
        kept.insert(0, f"- {left_out} earlier steps are left out here.")
    return [section("Earlier steps", "\n".join(kept))]


def _matters(one: StepState, now: StepState) -> bool:
    if not one.ended or one.started.step >= now.started.step:
        return False
    if one.started.epoch == now.started.epoch:
        return True
    rejected = one.gated is not None and not one.gated.adopted
    return rejected and one.proposed is not None and one.proposed.parent == now.started.skill


def _entry(step: StepState) -> str:
    number = step.started.step
    if step.skipped:
        detail = f": {step.skipped.detail}" if step.skipped.detail else ""
        lines = [f"- Step {number} had no candidate ({step.skipped.reason}{detail})."]
        return "\n".join([*lines, *_tried(step)])
    if step.gated is None:
        return ""
    word, reason = _WORDS[step.gated.verdict], _without_names(step.gated.reason)
    if step.gated.forced and step.gated.verdict != "accept":
        word += " by the gate and kept all the same"
    return "\n".join([f"- Step {number} was {word}: {reason}. What it tried:", *_tried(step)])


def _without_names(reason: str) -> str:
    """Leave out which val tasks got worse: nothing of a held-out task reaches a prompt."""
    told, worse, _ = reason.partition(PROTECTED_WORSE)
    return told + worse


def _tried(step: StepState) -> Iterator[str]:
    for change in step.selected.edits if step.selected else ():
        yield from _change(change)
    for note in step.noted.added if step.noted else ():
        yield f"  - note: {_quoted(note)}"


def _change(change: Change) -> Iterator[str]:
    if isinstance(change, Edit):
        where = f" (at {_quoted(change.target, _TARGET_LIMIT)})" if change.target else ""
        what = f"{_quoted(change.content)}{where}" if change.content else _quoted(change.target)
        yield f"  - {change.op}: {what}"
    elif isinstance(change, Suggestion):
        yield f"  - {change.type}: {_quoted(change.instruction)}"
    else:
        yield f"  - rewrite: {_quoted(change.title or 'a complete new version')}"
        yield from (f"    - {_quoted(line)}" for line in change.change_summary)


def _quoted(text: str, limit: int = CHANGE_LIMIT) -> str:
    return json.dumps(cut(text, limit), ensure_ascii=False)
