"""What an optimizer's prompt shows: the documents, what failed, and what was tried before."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from skillopt.domain.documents import DocumentName
from skillopt.simulator.criteria import Criterion, read_criteria
from skillopt.simulator.prompt_sections import edits_wanted, inside_fences, sections, unfenced
from skillopt.simulator.prose import outside_fences, told

_USUAL_EDITS = 4
_OF_ATTEMPTS = re.compile(r"\bfailed in \d+ of (\d{1,9})")
#: Sections that never say what failed.
_NOT_EVIDENCE = (
    "current skill",
    "current memory",
    "skill (not to be changed)",
    "memory (not to be changed)",
    "parts that stay as they are",
    "edits wanted",
    "what the user prefers",
    "output contract",
    "earlier steps",
    "what editing has taught so far",
)


@dataclass(frozen=True)
class Shown:
    """What a prompt shows; what it does not show stays empty."""

    documents: Mapping[DocumentName, str]
    #: Parts of a document that are shown apart from it, because they stay as they are.
    kept: str
    #: The documents that may be changed.
    evolving: tuple[DocumentName, ...]
    #: None: as many as there are.
    edits_wanted: int | None
    #: How often each was failed, most often first.
    criteria: dict[Criterion, int]
    earlier: str
    attempts: int
    #: Attempts that passed are shown beside attempts that failed at the same task.
    contrasted: bool

    @property
    def primary(self) -> DocumentName:
        return self.evolving[0]

    @property
    def text(self) -> str:
        """The document that a rewrite replaces."""
        return self.documents[self.primary]

    @property
    def texts(self) -> tuple[str, ...]:
        """All that the target is told, by whichever document."""
        return (*self.documents.values(), self.kept)

    def states(self, criterion: Criterion) -> bool:
        return any(criterion.is_stated_in(text) for text in self.texts)

    def recalls(self, criterion: Criterion) -> bool:
        return any(criterion.is_recalled_in(text) for text in self.texts)

    def contradicts(self, criterion: Criterion) -> bool:
        return any(criterion.is_contradicted_by(text) for text in self.texts)

    def home_of(self, criterion: Criterion) -> DocumentName:
        """Say where a rule belongs: with two documents, texts to be used go into the memory."""
        if len(self.evolving) == 1:
            return self.primary
        return "memory" if criterion.kind in ("contains", "not_contains") else "skill"

    def fresh(self, texts: Sequence[str]) -> list[str]:
        """Leave out what was tried before and what a document says already."""
        return [text for text in texts if not any(form in self._known for form in _forms(text))]

    @cached_property
    def _known(self) -> str:
        return plain("\n".join([self.earlier, *self.texts]))


def criteria_lines(text: str) -> str:
    """Give the lines that may name what failed: bullets, outside of what attempts said."""
    return "\n".join(line for line in told(text) if line.lstrip().startswith("- "))


def read_prompt(user_text: str) -> Shown:
    """Read an analyst's prompt."""
    found = sections(user_text)
    documents, evolving = _documents(found)
    failing = _evidence(found)
    criteria = read_criteria(failing.splitlines())
    return Shown(
        documents=documents,
        kept="\n".join(inside_fences(found.get("parts that stay as they are", ""))),
        evolving=evolving,
        edits_wanted=edits_wanted(user_text, _USUAL_EDITS),
        criteria=criteria,
        earlier=found.get("earlier steps", found.get("rejected", "")),
        attempts=max((int(n) for n in _OF_ATTEMPTS.findall(failing)), default=len(criteria)),
        contrasted="contrasts" in found,
    )


def _documents(
    found: Mapping[str, str],
) -> tuple[dict[DocumentName, str], tuple[DocumentName, ...]]:
    skill = found.get("current skill", found.get("skill"))
    memory = found.get("current memory")
    beside_skill = found.get("memory (not to be changed)", "")
    beside_memory = found.get("skill (not to be changed)", "")
    documents: dict[DocumentName, str] = {
        "skill": unfenced(beside_memory if skill is None else skill),
        "memory": unfenced(beside_skill if memory is None else memory),
    }
    if memory is None:
        return documents, ("skill",)
    return documents, ("memory",) if skill is None else ("skill", "memory")


def _evidence(found: Mapping[str, str]) -> str:
    """Give the text that tells what failed: the section for it, else whatever might."""
    for title in ("failing criteria", "failed criteria"):
        if title in found:
            return "\n".join([found[title], _judges_words(found.get("attempts", ""))])
    if "contrasts" in found:
        return criteria_lines(found["contrasts"])
    return "\n".join(text for title, text in found.items() if not title.startswith(_NOT_EVIDENCE))


def _judges_words(attempts: str) -> str:
    """Give the points that judges themselves made of attempts, beyond naming a criterion."""
    plainly = set(outside_fences(attempts))
    return "\n".join(line for line in criteria_lines(attempts).splitlines() if line not in plainly)


def _forms(text: str) -> tuple[str, str]:
    """Give an edit as a document holds it and as JSON writes it, without its bullet."""
    one_line = plain(text.removeprefix("- "))
    return one_line, json.dumps(one_line, ensure_ascii=False)[1:-1]


def plain(text: str) -> str:
    return " ".join(text.split())
