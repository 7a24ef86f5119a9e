"""Where the answer stands in a reply that may also explain it.

In this order: what the last closed `<answer>…</answer>` holds; the last line with a letter or
digit in it; the last line that is not blank. A label such as "Final answer:" before it is no part
of it.
"""

from __future__ import annotations

import re
from collections import deque

_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
_LABEL = re.compile(
    r"[\s*_>#`~-]{0,12}(?:the )?(?:(?:final|short|correct|my) )?answer(?: is)?"
    r"[ *_`]{0,6}[:=][ *_`]{0,6}",
    re.IGNORECASE,
)
_CONTENT = re.compile(r"[^\W_]")
_SHOWN_CHARS = 200
_SHOWN_ANSWERS = 5


def tagged_answer(text: str) -> str | None:
    """Give what the last closed `<answer>` tag holds; None if there is none."""
    opened: int | None = None
    answer: str | None = None
    for tag in _TAG.finditer(text):
        if not tag.group(1):
            opened = tag.end()
        elif opened is not None:
            answer, opened = text[opened : tag.start()].strip(), None
    return answer


def last_line(text: str) -> str:
    """Give the last line that says something, its white space evened out."""
    spare = ""
    for line in reversed(text.splitlines()):
        if _CONTENT.search(line):
            return " ".join(line.split())
        spare = spare or " ".join(line.split())
    return spare


def final_answer(text: str) -> str:
    """Give the answer of a reply on one line, without a label; empty if its tag is."""
    tagged = tagged_answer(text)
    answer = last_line(text) if tagged is None else " ".join(tagged.split())
    label = _LABEL.match(answer)
    return answer[label.end() :] if label and label.end() < len(answer) else answer


def last_match(form: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Find the last place where a form occurs in a text."""
    return next(iter(deque(form.finditer(text), maxlen=1)), None)


def shown(text: str) -> str:
    """Quote a text for a person, cut if it is long."""
    return f'"{text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"}"'


def listed(answers: tuple[str, ...]) -> str:
    """Quote expected answers for a person, the first few of many."""
    more = len(answers) - _SHOWN_ANSWERS
    quoted = " or ".join(shown(answer) for answer in answers[:_SHOWN_ANSWERS])
    return quoted + (f" or one of {more} more" if more > 0 else "")
