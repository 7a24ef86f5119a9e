"""Which checks look only at the shape of an answer: its length, its headings, absent words.

They are fine beside others. A task that has nothing else is passed by an answer without content.
"""

from __future__ import annotations

import re

from skillopt.domain.item import Check, Judge, RuleJudge

_SHAPE_OPS = frozenset(
    {"max_chars", "min_chars", "not_contains", "no_refusal", "section_present", "section_contains"}
)
#: What a pattern says without naming any text: escapes, classes, groups' flags, counts.
_ABSTRACT = re.compile(
    r"\\[A-Za-z](?:\{[^}]*\})?|\[(?:\\.|[^\]\\])*\]|\(\?[a-zA-Z-]*[:)]?|\{[^}]*\}"
)
_HEADING_PATTERN = re.compile(r"(?:\(\?[a-zA-Z-]+\))?(?:\^|\\A)?(?:\\s\*)?#")
_TEXT = re.compile(r"\w\w")


def is_shape_only(judge: Judge) -> bool:
    """Whether none of a judge's checks asks for any content."""
    return isinstance(judge, RuleJudge) and all(map(_is_shape, judge.checks))


def _is_shape(check: Check) -> bool:
    if check.op in _SHAPE_OPS:
        return True
    text = str(check.arg)
    if check.op == "contains":
        return text.lstrip().startswith("#")
    if check.op == "regex":
        return bool(_HEADING_PATTERN.match(text)) or not _TEXT.search(_ABSTRACT.sub(" ", text))
    return False
