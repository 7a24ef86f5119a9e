"""What an analyst is told that attempts failed on, and the rule sentences that would help."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.simulator.extraction import extract
from skillopt.simulator.rules import AtLeast, AtMost, Forbidden, ForbidTool, Refuse, Rule
from skillopt.simulator.wordings_of_edits import wordings

_FAILED_IN = re.compile(r"\s*\(\s*(?:failed|missed)\b[^()]*?(\d+)[^()]*\)\s*\.?\s*$", re.IGNORECASE)
_PASSED = re.compile(r"\b(?:passed|satisfied|held)\b|✓|✔", re.IGNORECASE)
_QUOTE = r"[\"“'`](?P<arg>.+)[\"”'`]"
_PHRASES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(expression, re.IGNORECASE))
    for kind, expression in (
        ("regex", r"\bmatch(?:es)? the (?:regular expression|regex|pattern)\s*/(?P<arg>.+)/"),
        ("regex", rf"\bmatch(?:es)? the (?:regular expression|regex|pattern)\s*{_QUOTE}"),
        ("section", rf"\bsections? (?:headed|titled|called|named)\s*{_QUOTE}"),
        ("heading", rf"\bheading\b[^\"“'`]*\bcontains?\s*{_QUOTE}"),
        ("tool", rf"\btool\s*{_QUOTE}\s*(?:is|was|must be)\s*called"),
        ("exact", rf"\bequals? the expected answer\s*{_QUOTE}"),
        ("exact", r"\bequals? (?:one of )?the expected answers?\b(?P<arg>)"),
        ("max_chars", r"\bat most (?P<arg>\d[\d,]*) characters\b"),
        ("min_chars", r"\bat least (?P<arg>\d[\d,]*) characters\b"),
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

    def is_stated_in(self, text: str) -> bool:
        return set(self.rules) <= set(extract(text, self._tools))

    def is_contradicted_by(self, line: str) -> bool:
        """Whether a line of the skill asks for the opposite."""
        return any(self._opposes(rule) for rule in extract(line, self._tools))

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
    """Read failed criteria from lines of text, with how often each failed, most often first."""
    counts: dict[Criterion, int] = {}
    for line in lines:
        for criterion, count in _criteria_in(line):
            counts[criterion] = counts.get(criterion, 0) + count
    return dict(sorted(counts.items(), key=lambda entry: -entry[1]))


def _criteria_in(line: str) -> list[tuple[Criterion, int]]:
    failed = _FAILED_IN.search(line)
    stated = line[: failed.start()] if failed else line
    count = int(failed.group(1)) if failed else 1
    if count == 0 or (failed is None and _PASSED.search(line)):
        return []
    for kind, expression in _PHRASES:
        match = expression.search(stated)
        if match:
            return [(_criterion(kind, match.group("arg")), count)]
    return [
        (_criterion(_KIND_OF_OPERATION.get(m.group("op"), m.group("op")), m.group("arg")), count)
        for m in _OPERATION.finditer(stated)
    ]


def _criterion(kind: str, arg: str) -> Criterion:
    if kind in ("max_chars", "min_chars"):
        return Criterion(kind, arg.replace(",", "").strip())
    return Criterion(kind, "" if kind in ("exact", "no_refusal") else arg)
