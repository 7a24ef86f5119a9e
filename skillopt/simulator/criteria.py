"""What an analyst is told that attempts failed on, and the rule sentences that would help."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from skillopt.simulator.extraction import extract, reminders
from skillopt.simulator.rules import AtLeast, AtMost, Forbidden, ForbidTool, Refuse, Rule
from skillopt.simulator.wordings_of_edits import wordings

#: Lines that say the opposite, of which the first that occurs once is taken.
_MOST_CONTRADICTIONS = 50
_MOST_CRITERIA = 200
#: A longer line is no criterion.
_LONGEST_LINE = 10_000
_FAILED_IN = re.compile(
    r"\(\s*(?:failed|missed)\b[^()\d]*(\d{1,9})[^()]*\)\s*\.?\s*$", re.IGNORECASE
)
#: What a judge saw, which may follow a requirement after a colon.
_DETAIL = re.compile(
    r"(?:(?<=[\"”'`/])|(?<=\blong)|(?<=\bit)|(?<=\bcalled)): "
    r"(?:its?|no|nothing|none|tools called|the (?:answer|judge))\b.*$"
)
_PASSED = re.compile(r"\b(?:passed|satisfied|held)\b|✓|✔", re.IGNORECASE)
_QUOTE = r"[\"“'`](?P<arg>.+)[\"”'`]"
_PHRASES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(expression, re.IGNORECASE))
    for kind, expression in (
        ("exact", r"\bthe last line is the expected answer itself\b(?P<arg>)"),
        ("exact", r"\bthe last line states the result as one number\b(?P<arg>)"),
        ("exact", r"\bthe last line is the label of one option\b(?P<arg>)"),
        ("regex", r"\bmatch(?:es)? the (?:regular expression|regex|pattern)\s*/(?P<arg>.+)/"),
        ("regex", rf"\bmatch(?:es)? the (?:regular expression|regex|pattern)\s*{_QUOTE}"),
        ("section", rf"\bsections? (?:headed|titled|called|named)\s*{_QUOTE}"),
        ("heading", rf"\bheading\b[^\"“'`]*\bcontains?\s*{_QUOTE}"),
        ("tool", rf"\btool\s*{_QUOTE}\s*(?:is|was|must be)\s*called"),
        ("exact", rf"\bequals? the expected answer\s*{_QUOTE}"),
        ("exact", r"\bequals? (?:one of )?the expected answers?\b(?P<arg>)"),
        ("max_chars", r"\bat most (?P<arg>\d[\d,]{0,14}) characters\b"),
        ("min_chars", r"\bat least (?P<arg>\d[\d,]{0,14}) characters\b"),
        ("no_refusal", r"\binstead of refusing\b(?P<arg>)"),
        ("not_contains", rf"\b(?:does not|must not|doesn't|not) contain\w*\s*{_QUOTE}"),
        ("contains", rf"\bcontains?\s*(?:the (?:exact )?text\s*)?{_QUOTE}"),
    )
)
_OPERATION = re.compile(
    r"\b(?P<op>contains|not_contains|regex|section_present|section_contains|max_chars|min_chars|"
    r"tool_called|no_refusal)\s*=\s*(?P<arg>[^\n]*?)(?=\s*(?:[;,]\s*\w+=|\bok\b|$))"
)
_KIND_OF_OPERATION = {
    "section_present": "section",
    "section_contains": "heading",
    "tool_called": "tool",
}


@dataclass(frozen=True)
class Criterion:
    """One thing the answer must do: its kind, and the literal text or number it is about."""

    kind: str
    arg: str = ""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules whose presence in a skill makes the target meet the criterion."""
        return extract(self.wordings[0], self._tools)

    @property
    def wordings(self) -> tuple[str, ...]:
        """Ways of writing the rule down, the plainest first; the target obeys each of them."""
        return wordings(self.kind, self.arg)

    @property
    def _tools(self) -> tuple[str, ...]:
        return (self.arg,) if self.kind == "tool" else ()

    @property
    def reminder(self) -> str:
        """A short note for one who knows the rule and did not follow it."""
        rule = self.wordings[0].removeprefix("- ")
        return f"Remember: {rule[:1].lower()}{rule[1:]}"

    def is_stated_in(self, text: str) -> bool:
        return set(self.rules) <= set(extract(text, self._tools))

    def is_recalled_in(self, text: str) -> bool:
        """Whether a text reminds of the rule."""
        return set(self.rules) <= reminders(text, self._tools)

    def is_contradicted_by(self, text: str) -> bool:
        """Whether a text asks for the opposite."""
        return any(self._opposes(rule) for rule in extract(text, self._tools))

    def contradiction_in(self, text: str) -> str | None:
        """Give the line that asks for the opposite, if the text has exactly one like it."""
        if not self.is_contradicted_by(text):
            return None
        opposing = (line for line in text.splitlines() if self.is_contradicted_by(line))
        lines = islice(opposing, _MOST_CONTRADICTIONS)
        return next((line for line in lines if text.count(line) == 1), None)

    def _opposes(self, rule: Rule) -> bool:
        if isinstance(rule, Forbidden):
            return self.kind in ("contains", "section", "heading") and (
                rule.text.lower() in self.arg.lower()
            )
        if isinstance(rule, ForbidTool):
            return self.kind == "tool"
        if isinstance(rule, AtMost) and rule.unit == "characters":
            return self.kind == "min_chars" and rule.number < int(self.arg)
        if isinstance(rule, AtLeast) and rule.unit == "characters":
            return self.kind == "max_chars" and rule.number > int(self.arg)
        return isinstance(rule, Refuse) and self.kind == "no_refusal"


def read_criteria(lines: Sequence[str]) -> dict[Criterion, int]:
    """Read failed criteria from lines of text, with how often each failed, most often first.

    Nobody thinks of more than the first few hundred.
    """
    counts: dict[Criterion, int] = {}
    for line in lines:
        for criterion, count in _criteria_in(line):
            counts[criterion] = counts.get(criterion, 0) + count
    return dict(sorted(counts.items(), key=lambda entry: -entry[1])[:_MOST_CRITERIA])


def _criteria_in(line: str) -> list[tuple[Criterion, int]]:
    if len(line) > _LONGEST_LINE:
        return []
    failed = _FAILED_IN.search(line)
    stated = line[: failed.start()].rstrip() if failed else _DETAIL.sub("", line, count=1)
    count = int(failed.group(1)) if failed else 1
    if count == 0 or (failed is None and _PASSED.search(stated)):
        return []
    found = []
    for kind, expression in _PHRASES:
        match = expression.search(stated)
        if match:
            found = [_criterion(kind, match.group("arg"))]
            break
    else:
        for match in _OPERATION.finditer(stated):
            operation = match.group("op")
            kind = _KIND_OF_OPERATION.get(operation, operation)
            found.append(_criterion(kind, match.group("arg")))
    return [(criterion, count) for criterion in found if criterion is not None]


def _criterion(kind: str, arg: str) -> Criterion | None:
    """Make a criterion of what was read; None if it sets a limit that is no number."""
    if kind in ("max_chars", "min_chars"):
        number = arg.replace(",", "").strip()
        return Criterion(kind, number) if number.isdecimal() and len(number) < 16 else None
    return Criterion(kind, "" if kind in ("exact", "no_refusal") else arg)
