"""The optimizer as writer: a document anew, by suggestions or in fewer words."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from skillopt.simulator.document_lines import add_lines, is_kept
from skillopt.simulator.extraction import extract
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.prompt_sections import json_objects, listed, section
from skillopt.simulator.proposals import REPLACES
from skillopt.simulator.rules import Rule
from skillopt.simulator.shortening import shortened
from skillopt.simulator.shown import Shown, plain, read_prompt
from skillopt.simulator.wordings_of_edits import FAR_TOO_SHORT, VAGUE

_CHARACTERS_PER_TOKEN = 4
_CHARACTERS = re.compile(r"(?<![\d,])(\d[\d,]{0,14}) characters", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d,])\d[\d,]{0,14}")
_MOST_SUGGESTIONS = 500
#: Characters of what is to be left out that are minded.
_LONGEST_REMOVAL = 20_000
#: Suggestions that ask for order, not for a rule.
_TIDYING = ("merge_rules", "reorganize", "compress")


def rewrite(user_text: str, options: SimulatorOptions, rng: random.Random) -> dict[str, Any]:
    """Write the document anew: shorter if a limit is stated, else as the suggestions say."""
    limit = section(user_text, "limit")
    if limit is not None:
        return _compress(user_text, limit, options, rng)
    shown = read_prompt(user_text)
    said = section(user_text, "suggestions", "proposed suggestions")
    suggestions = _suggestions(said) if said is not None else _of_criteria(shown)
    draft = _Draft(shown.text)
    for kind, instruction in suggestions:
        draw = rng.random()
        if draw < options.harmful_rate:
            draft.added.append(FAR_TOO_SHORT)
        elif draw < options.harmful_rate + options.vague_rate:
            draft.added.append(rng.choice(VAGUE))
        else:
            draft.take_up(kind, instruction)
    return {
        "reasoning": f"the document with {len(suggestions)} suggestion(s) worked in",
        "change_summary": [instruction.splitlines()[0] for _, instruction in suggestions],
        "new_skill": draft.written().rstrip() + "\n",
    }


@dataclass
class _Draft:
    """A document that is to be written anew, and what has been decided about it."""

    text: str
    added: list[str] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    #: Instructions that repeat the lines to be left out.
    removed: list[str] = field(default_factory=list)
    tidied: bool = False

    def take_up(self, kind: str, instruction: str) -> None:
        """Decide what to do about one suggestion."""
        rule, _, target = instruction.partition(f"\n{REPLACES}")
        line = f"- {plain(rule.removeprefix('- '))}"
        if kind == "remove_rule":
            self.removed.append(plain(instruction))
        elif kind in _TIDYING:
            self.tidied = True
        elif target.strip() in self._lines:
            self.replaced[target.strip()] = line
        elif not self._says(line, extract(rule)):
            self.added.append(line)

    def written(self) -> str:
        named = "\n".join(self.removed)[:_LONGEST_REMOVAL]
        kept = []
        for line in self.text.split("\n"):
            words = plain(line.removeprefix("- "))
            if is_kept(line) or not words or words not in named:
                kept.append(self.replaced.pop(line.strip(), line))
        text = add_lines("\n".join(kept), list(dict.fromkeys(self.added)))
        return shortened(text, len(text)) if self.tidied else text

    def _says(self, line: str, rules: Sequence[Rule]) -> bool:
        return plain(line[2:]) in self._plain or (bool(rules) and set(rules) <= self._rules)

    @cached_property
    def _lines(self) -> set[str]:
        return {line.strip() for line in self.text.split("\n") if line.strip()}

    @cached_property
    def _plain(self) -> str:
        return plain(self.text)

    @cached_property
    def _rules(self) -> set[Rule]:
        return set(extract(self.text))


def _suggestions(said: str) -> list[tuple[str, str]]:
    """Give kind and instruction of each suggestion; a plain list holds rules to be added."""
    rows = [
        (str(row.get("type")), row["instruction"].strip())
        for row in json_objects(said)
        if isinstance(row.get("instruction"), str) and row["instruction"].strip()
    ]
    return (rows or [("add_rule", line) for line in listed(said)])[:_MOST_SUGGESTIONS]


def _of_criteria(shown: Shown) -> list[tuple[str, str]]:
    missing = (criterion for criterion in shown.criteria if not shown.states(criterion))
    return [("add_rule", criterion.wordings[0].removeprefix("- ")) for criterion in missing]


def _compress(
    user_text: str, limit: str, options: SimulatorOptions, rng: random.Random
) -> dict[str, Any]:
    """Shorten the document below the limit: what says least goes first.

    A vague reply leaves it as it is, a harmful one loses rules to keep the rest.
    """
    text = read_prompt(user_text).text
    draw = rng.random()
    if draw < options.harmful_rate:
        new = shortened(text, _characters(limit), rules_first=True)
    elif draw < options.harmful_rate + options.vague_rate:
        new = text
    else:
        new = shortened(text, _characters(limit))
    return {
        "reasoning": f"{len(text) - len(new)} characters could be spared",
        "change_summary": ["repetition and general remarks are left out"],
        "new_skill": new.rstrip() + "\n" if new.strip() else text,
    }


def _characters(limit: str) -> int:
    """Read a length limit; a number without the word "characters" is one of tokens."""
    characters = _CHARACTERS.search(limit)
    if characters:
        return int(characters.group(1).replace(",", ""))
    number = _NUMBER.search(limit)
    return int(number.group().replace(",", "")) * _CHARACTERS_PER_TOKEN if number else 0
