"""Which option of a list a reply chooses.

What the last `<answer>…</answer>` holds counts, or else the last line that says something. If that
line chooses nothing, every other line is read, and all that choose must choose the same. A line
chooses by being a label ("(B)", "Option B") or an option's text, or by a statement ("the answer is
B", "B is correct"); failing that by what it opens with ("B) Paris", "B, because …"), unless other
lines open with other labels. A label that stands in a sentence for something else, such as the
article "A", chooses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from skillopt.judges.exact import normalise
from skillopt.judges.final_answer import last_line, last_match, tagged_answer

#: Brackets, quotes and emphasis that a label may stand in.
_DRESS = "[*_`'\"“”(\\[{<$ ]{0,6}"
_NAMED = r"(?:(?:the )?(?:option|choice|letter|number|answer) )?"
_WHAT = r"\b(?:answer|choice|option|solution|selection|response)"
_IS = r"(?:is|was|would be|should be|must be)"
_CUE = (
    rf"(?:{_WHAT}(?: {_IS})?[ *_]{{0,4}}[:=]|{_WHAT} {_IS} |"
    r"\b(?:choose|chose|pick|picked|select|selected|go with|going with) |"
    r"\\boxed\{(?:\\(?:text|textbf|mathrm)\{)?)"
)
_RIGHT = (
    r" is (?:(?:the )?(?:(?:most )?(?:correct|right|best|likely) )?(?:answer|option|choice)\b|"
    r"(?:correct|right)(?=[.,;!]|$))"
)
#: What stands between a label and what is said about it.
_MARK = (
    r"[*_`'\"”]{0,4}(?:[).:\]][*_`]{0,4} ?(?P<text>.*)|"
    r"(?:[,;\u2013\u2014]| -| because\b| since\b).*)"
)
_REJECTED = re.compile(
    r"\b(?:wrong|incorrect|false|not|rule[ds]? out|eliminate[ds]?)\b|n['\u2019]t\b"
)
#: Words that take back, ahead in the same sentence, what a statement says.
_TAKEN_BACK = re.compile(
    r"(?:\b(?:not|never|neither|if|whether|unless|why not)\b|n['\u2019]t\b)[^.;!?]{0,60}$",
    re.IGNORECASE,
)
_LOOK_BACK = 80
_ANOTHER = re.compile(r"[^\w]{0,4}(?:or|and|nor|&|/|,|\+)[^\w]{0,4}$", re.IGNORECASE)
_SURROUNDING = " \t.,;:!?…'\"«»„“”`*_()[]{}<>#~$-•"
_KEPT_LISTS = 64


class Options:
    """The labels and texts of one list of options, ready to be looked for."""

    def __init__(self, choices: Mapping[str, str]) -> None:
        self._by_label = {label.casefold(): label for label in choices}
        self._by_text: dict[str, set[str]] = {}
        for label, text in choices.items():
            if text.strip():
                self._by_text.setdefault(_bare(text), set()).add(label)
        self._texts = {label: _bare(text) for label, text in choices.items()}
        labels = "|".join(re.escape(label) for label in sorted(choices, key=len, reverse=True))
        label = rf"(?P<label>{labels})(?![^\W_]|[+#]|['\u2019-]\w|[.,][0-9])"
        self._label = re.compile(rf"(?<![^\W_])(?<!['\u2019-]){label}", re.IGNORECASE)
        self._stated = re.compile(rf"{_CUE}{_DRESS}{_NAMED}{_DRESS}{label}", re.IGNORECASE)
        self._called_right = re.compile(
            rf"{self._label.pattern}[*_`'\"”)\]}}]{{0,6}}{_RIGHT}", re.IGNORECASE
        )
        self._opening = re.compile(rf"{_NAMED}{label}{_MARK}", re.IGNORECASE)
        self._cue = re.compile(_CUE, re.IGNORECASE)
        self._alone = re.compile(rf"{_NAMED}{_DRESS}{label}", re.IGNORECASE)

    def chosen(self, reply: str) -> set[str]:
        """Give the labels that a reply chooses: one if it is clear, several if it is not."""
        tagged = tagged_answer(reply)
        if tagged is not None:
            line = " ".join(tagged.split())
            return self._in_line(line) or self._opened(line)
        return (
            self._in_line(last_line(reply))
            or {label for line in _lines(reply) for label in self._in_line(line)}
            or {label for line in _lines(reply) for label in self._opened(line)}
        )

    def _in_line(self, line: str) -> set[str]:
        bare = _bare(line)
        if not bare:
            return set()
        alone = self._alone.fullmatch(bare)
        if alone is not None:
            return set(self._joined(bare, alone))
        if bare in self._by_text:
            return self._by_text[bare]
        stated = {label for found in self._statements(line) for label in self._joined(line, found)}
        return stated or self._stated_text(line)

    def _stated_text(self, line: str) -> set[str]:
        """Give the label of the option whose text a statement names: "the answer is Paris"."""
        last = last_match(self._cue, line)
        if last is None or _is_taken_back(line, last):
            return set()
        return self._by_text.get(_bare(line[last.end() :]), set())

    def _opened(self, line: str) -> set[str]:
        """Give the label that a line opens with, if what follows does not speak against it."""
        bare = line.lstrip(_SURROUNDING)
        opening = self._opening.fullmatch(bare)
        if opening is None or _REJECTED.search(line.casefold()):
            return set()
        labels = set(self._joined(bare, opening))
        text = opening.group("text")
        fits = text is None or all(self._texts[label] in ("", _bare(text)) for label in labels)
        return labels if fits else set()

    def _statements(self, line: str) -> Iterator[re.Match[str]]:
        """Give the last statement of a line, and those that put the right option first."""
        last: re.Match[str] | None = None
        for found in self._stated.finditer(line):
            if not _is_word(line, found):
                last = found
        if last is not None:
            yield last
            return
        for found in self._called_right.finditer(line):
            if len(found.group("label")) > 1 or not found.group("label").islower():
                yield found

    def _joined(self, line: str, found: re.Match[str]) -> Iterator[str]:
        """Give the label that was found, and those joined to it by "or", "and" or a comma."""
        if _is_taken_back(line, found):
            return
        labels = [found]
        for other in self._label.finditer(line, found.end("label")):
            joint = line[labels[-1].end("label") : other.start()]
            if not _ANOTHER.match(joint) or _is_word(line, other):
                break
            labels.append(other)
        for label in labels:
            # Letters of some alphabets match others that are not the same in lower case.
            name = self._by_label.get(label.group("label").casefold())
            if name is not None:
                yield name


@lru_cache(maxsize=_KEPT_LISTS)
def options(choices: tuple[tuple[str, str], ...]) -> Options:
    return Options(dict(choices))


def _is_taken_back(line: str, statement: re.Match[str]) -> bool:
    start = statement.start()
    return _TAKEN_BACK.search(line[max(start - _LOOK_BACK, 0) : start]) is not None


def _is_word(line: str, found: re.Match[str]) -> bool:
    """Whether a label is a word of its sentence: "the answer is a matter of …"."""
    label = found.group("label")
    if len(label) > 1 or not label.islower():
        return False
    return re.match(r" \w", line[found.end("label") : found.end("label") + 2]) is not None


def _bare(text: str) -> str:
    return normalise(text.strip(_SURROUNDING)).strip(_SURROUNDING)


def _lines(text: str) -> Iterator[str]:
    return (" ".join(line.split()) for line in text.splitlines() if line.strip())
