"""What an analyst would change, before it is put into one of the forms that prompts ask for."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from skillopt.domain.documents import DocumentName
from skillopt.simulator.criteria import Criterion
from skillopt.simulator.document_lines import add_lines
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.shown import Shown
from skillopt.simulator.wordings_of_edits import VAGUE, harmful

#: Opens the second line of a suggestion that replaces a line of the document.
REPLACES = "This replaces the line: "


@dataclass(frozen=True)
class Proposal:
    """A line to write, at the end of a document or in place of the line `target`."""

    content: str
    document: DocumentName
    target: str = ""
    about: str = ""
    #: Attempts that speak for it.
    count: int = 1


@dataclass(frozen=True)
class Thoughts:
    """What an analyst makes of a prompt: changes, and reminders of rules that exist."""

    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...] = ()


def thoughts_on(
    shown: Shown, options: SimulatorOptions, rng: random.Random, *, notes_wanted: bool
) -> Thoughts:
    """Think about each criterion that failed: a rule for it, unless the draw says otherwise."""
    proposals: list[Proposal] = []
    notes: dict[str, None] = {}
    for criterion, count in shown.criteria.items():
        draw = rng.random()
        if draw < options.harmful_rate:
            harm = harmful(criterion.kind, criterion.arg)
            proposals += _added(shown, [harm], shown.home_of(criterion), criterion, count)
        elif draw < options.harmful_rate + options.vague_rate:
            proposals += vague(shown, rng)
        elif notes_wanted and _is_lapse(shown, criterion):
            if not shown.recalls(criterion):
                notes.update(dict.fromkeys(shown.fresh([criterion.reminder])))
        else:
            proposals += _helpful(shown, criterion, count)
    distinct = {(proposal.document, proposal.content): proposal for proposal in proposals}
    return Thoughts(tuple(distinct.values()), tuple(notes))


def vague(shown: Shown, rng: random.Random) -> list[Proposal]:
    return _added(shown, rng.sample(VAGUE, len(VAGUE)), shown.primary, None, 1)


def _helpful(shown: Shown, criterion: Criterion, count: int) -> list[Proposal]:
    """Write the rule down, in place of a line that says the opposite; not if it is there.

    Where the same document brought both success and failure, a rule that is there is stressed.
    """
    for name in shown.evolving:
        line = criterion.contradiction_in(shown.documents[name])
        if line is not None:
            fresh = shown.fresh(criterion.wordings)
            return [Proposal(text, name, line, criterion.kind, count) for text in fresh[:1]]
    if not shown.states(criterion):
        return _added(shown, criterion.wordings, shown.home_of(criterion), criterion, count)
    if shown.contrasted and not shown.recalls(criterion):
        home = shown.home_of(criterion)
        return _added(shown, [f"- {criterion.reminder}"], home, criterion, count)
    return []


def _added(
    shown: Shown, texts: Sequence[str], home: DocumentName, about: Criterion | None, count: int
) -> list[Proposal]:
    kind = about.kind if about else "manner"
    return [Proposal(text, home, about=kind, count=count) for text in shown.fresh(texts)[:1]]


def _is_lapse(shown: Shown, criterion: Criterion) -> bool:
    """Whether the documents ask for what was not done, and nothing in them speaks against it."""
    return shown.states(criterion) and not shown.contradicts(criterion)


# --- the forms -----------------------------------------------------------------------------------


def as_edits(proposals: Sequence[Proposal], shown: Shown) -> list[dict[str, Any]]:
    rows = []
    for proposal in proposals:
        row = {
            "op": "replace" if proposal.target else "append",
            "target": proposal.target,
            "content": proposal.content,
        }
        if len(shown.evolving) > 1:
            row["document"] = proposal.document
        rows.append(row)
    return rows


def as_suggestions(proposals: Sequence[Proposal], shown: Shown) -> list[dict[str, Any]]:
    most = max((proposal.count for proposal in proposals), default=1)
    return [
        {
            "type": "clarify" if proposal.target else "add_rule",
            "title": f"a rule about {proposal.about}",
            "motivation": f"{proposal.count} attempt(s) went wrong there",
            "instruction": proposal.content.removeprefix("- ")
            + (f"\n{REPLACES}{proposal.target}" if proposal.target else ""),
            "priority_hint": "high" if proposal.count * 2 >= most else "medium",
        }
        for proposal in proposals
    ]


def as_candidates(proposals: Sequence[Proposal], shown: Shown) -> list[dict[str, Any]]:
    """Give one whole document: the present one with what is proposed for it."""
    if not proposals:
        return []
    text = shown.text
    for proposal in proposals:
        if proposal.target:
            text = text.replace(proposal.target, proposal.content, 1)
    return [
        {
            "title": "the document with the rules it lacked",
            "change_summary": [proposal.content for proposal in proposals],
            "new_skill": add_lines(text, [p.content for p in proposals if not p.target]),
        }
    ]


Form = Callable[[Sequence[Proposal], Shown], list[dict[str, Any]]]

_FORMS: tuple[tuple[str, Form], ...] = (
    ("skill_candidates", as_candidates),
    ("revise_suggestions", as_suggestions),
    ("edits", as_edits),
)


def form_in(asked: Collection[str]) -> tuple[str, Form]:
    """Give the form of change that a prompt asks for, by its key; edits if it names none."""
    return next((entry for entry in _FORMS if entry[0] in asked), _FORMS[-1])
