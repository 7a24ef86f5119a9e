"""The value of digits with separators, as people of different countries write them."""

from __future__ import annotations

import re
from fractions import Fraction

#: White space that may stand between groups of digits.
SPACES = " \u00a0\u2009\u202f"
#: Digits, and digits after one separator each; which separators mean what is decided later.
RUN = re.compile(rf"\.?[0-9]+(?:[.,'\u2019_{SPACES}][0-9]+)*")
#: More characters than any number that an answer states; longer ones are not read.
_LONGEST = 60
_ENGLISH = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]+)?")
_CONTINENTAL = re.compile(
    r"[1-9][0-9]{0,2}(?:(?:\.[0-9]{3}){2,}(?:,[0-9]+)?|(?:\.[0-9]{3})+,[0-9]+)"
)
_SPACED = re.compile(rf"[1-9][0-9]{{0,2}}(?:[{SPACES}][0-9]{{3}})+(?:[.,][0-9]+)?")
_QUOTED = re.compile(r"[1-9][0-9]{0,2}(?:['\u2019][0-9]{3})+(?:[.,][0-9]+)?")
_UNDERSCORED = re.compile(r"[0-9]+(?:_[0-9]+)+(?:\.[0-9]+)?")
_PLAIN = re.compile(r"[0-9]*[.,]?[0-9]+")
_GROUPED = ((_SPACED, SPACES), (_QUOTED, "'\u2019"), (_UNDERSCORED, "_"))


def figure(digits: str) -> Fraction | None:
    """Give the value of a run of digits and separators; None if it is no number.

    "1,234" is English thousands, "3,14" a decimal comma, "1.234" a decimal point.
    """
    if len(digits) > _LONGEST:
        return None
    if _ENGLISH.fullmatch(digits):
        return Fraction(digits.replace(",", ""))
    if _CONTINENTAL.fullmatch(digits):
        return Fraction(digits.replace(".", "").replace(",", "."))
    for form, separators in _GROUPED:
        if form.fullmatch(digits):
            bare = digits.translate(dict.fromkeys(map(ord, separators)))
            return Fraction(bare.replace(",", "."))
    if _PLAIN.fullmatch(digits):
        return Fraction(digits.replace(",", "."))
    return None


def runs(text: str, start: int) -> tuple[int, int] | None:
    """Find the next run of digits that is one number, or cannot be read as several."""
    found = RUN.search(text, start)
    if found is None:
        return None
    run, begin = found.group(), found.start()
    if figure(run) is not None or len(run) > _LONGEST:
        return begin, found.end()
    # "3 4" and "1,2,3" are several numbers: the first of them comes first.
    for separators in (SPACES, ","):
        first = re.split(f"[{separators}]", run, maxsplit=1)[0]
        if first != run and figure(first) is not None:
            return begin, begin + len(first)
    return begin, found.end()
