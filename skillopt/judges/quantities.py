"""Numbers in a text: value, sign, percent sign, and what stands around them as unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from skillopt.judges.figures import figure, runs

_MINUS = "-\u2212\u2013"
_CURRENCIES = "$€£¥₹"
#: How far before a number its sign and unit may begin.
_LOOK_BACK = 12
#: How far after a number its unit is looked for.
_LOOK_AHEAD = 60

#: How a number is dressed in markdown, HTML and LaTeX, and what it is without.
_MARKUP = (
    (re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,15}>"), ""),
    (re.compile(r"\\[dt]?frac\{([0-9]{1,18})\}\{([0-9]{1,18})\}"), r"\1/\2"),
    (re.compile(r"\\(?:text|mathrm|mbox|textbf|boxed)\{ ?([^{}]{0,200})\}"), r" \1 "),
    (re.compile(r"\$([^$]{1,200})\$"), r"\1"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\[,;! ]"), " "),
    (re.compile(r"\\(?=[%$])"), ""),
    (re.compile(r"(?<=[0-9]) ?\* ?(?=10(?:\^|\*\*))"), "\u00d7"),
    # Each run of marks is read once: tried from every place, a long one would take for ever.
    (re.compile(r"(?<![0-9*`])[*`]+|(?<![*`])[*`]++(?![0-9])"), ""),
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_FRACTION = re.compile(r" ?/ ?([0-9]{1,18})(?![0-9/.,])")
#: The rest of a date such as 3/4/2020.
_PART_OF_MORE = re.compile(r"/[0-9]")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)(?![A-Za-z])")
_LONGEST_EXPONENT = 4
_POWER = re.compile(r"(?:\^|\*\*)[{(]?([+\u2212-]?[0-9]{1,4})(?![0-9])[})]?|([⁻⁺]?[⁰¹²³⁴-⁹]{1,4})")
_TIMES_POWER = re.compile(rf" ?(?:[x\u00d7*·]|\\times|\\cdot) ?10(?:{_POWER.pattern})")
_PERCENT = re.compile(r" ?(?:%|(?:percent|per cent|pct)\b)", re.IGNORECASE)
_SCALE = re.compile(r" ?-?(thousand|million|billion|trillion)s?\b", re.IGNORECASE)
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_LETTER = re.compile(r"(k|K|mn|M|bn|B)(?![A-Za-z])")
_LETTERS = {"k": 10**3, "K": 10**3, "mn": 10**6, "M": 10**6, "bn": 10**9, "B": 10**9}
_BEFORE = re.compile(rf"(?:([{_CURRENCIES}])|\b([A-Z]{{3}})) ?[{_MINUS}]?$")
_NEGATIVE_WORD = re.compile(r"\b(?:minus|negative) $", re.IGNORECASE)
_LIMIT = re.compile(r"(?:(?<![-=])>|<|≤|≥|[<>]=|\\[lg]eq?) ?$")


@dataclass(frozen=True)
class Quantity:
    """A number of a text; `value` is None if it cannot be read or is only a limit."""

    value: Fraction | None
    #: All of it that was read: sign, currency, digits, scale, percent sign.
    written: str
    is_percent: bool = False
    #: A letter that may be a scale (5M) or a unit (300K), and the scale.
    letter: str = ""
    scale: int = 1
    before: str = ""
    #: The text that follows, where a unit would stand.
    after: str = ""


def plain_text(text: str) -> str:
    """Take markup off that would hide a number: emphasis, tags, mathematics."""
    for form, replacement in _MARKUP:
        text = form.sub(replacement, text)
    return " ".join(text.split())


def quantities(text: str) -> Iterator[Quantity]:
    """Give the numbers of a text in their order; digits within a name (H2O) are none."""
    place = 0
    while (found := runs(text, place)) is not None:
        start, end = found
        place = end
        before = text[max(start - _LOOK_BACK, 0) : start]
        if before[-1:].isalpha() or before[-1:] in ("_", "^"):
            continue
        value, end = _scaled(text, figure(text[start:end]), end)
        quantity, place = _with_unit(text, value, start, end)
        yield quantity


def _scaled(text: str, value: Fraction | None, end: int) -> tuple[Fraction | None, int]:
    """Read a denominator or a power of ten behind a figure."""
    if value is None:
        return None, end
    if (denominator := _FRACTION.match(text, end)) is not None:
        divisor = int(denominator.group(1))
        return (value / divisor if divisor else None), denominator.end()
    if _PART_OF_MORE.match(text, end):
        return None, end
    if (exponent := _EXPONENT.match(text, end)) is not None:
        fits = len(exponent.group(1).lstrip("+-")) <= _LONGEST_EXPONENT
        return (value * _ten_to(exponent.group(1)) if fits else None), exponent.end()
    if (power := _TIMES_POWER.match(text, end)) is not None:
        return value * _ten_to(power.group(1) or power.group(2)), power.end()
    if (power := _POWER.match(text, end)) is not None:
        is_ten = value == 10
        return (_ten_to(power.group(1) or power.group(2)) if is_ten else None), power.end()
    return (None if text.startswith("^", end) else value), end


def _ten_to(exponent: str) -> Fraction:
    return Fraction(10) ** int(exponent.translate(_SUPERSCRIPTS).replace("\u2212", "-"))


def _with_unit(text: str, value: Fraction | None, start: int, end: int) -> tuple[Quantity, int]:
    before = text[max(start - _LOOK_BACK, 0) : start]
    unit_before = _BEFORE.search(before)
    lead = before[: unit_before.start()] if unit_before else before
    negative = _is_negative(before) or (unit_before is not None and _is_negative(lead))
    if _LIMIT.search(lead.rstrip(_MINUS)) or re.match(r"\+(?![0-9])", text[end : end + 2]):
        value = None
    percent = _PERCENT.match(text, end)
    scale = _SCALE.match(text, end)
    letter = _LETTER.match(text, end)
    if percent is not None:
        end = percent.end()
    elif scale is not None:
        value = None if value is None else value * _SCALES[scale.group(1).casefold()]
        end = scale.end()
    elif letter is not None:
        end = letter.end()
    quantity = Quantity(
        value=-value if value is not None and negative else value,
        written=text[_beginning(before, start, unit_before) : end],
        is_percent=percent is not None,
        letter=letter.group(1) if letter else "",
        scale=_LETTERS[letter.group(1)] if letter else 1,
        before=(unit_before.group(1) or unit_before.group(2)) if unit_before else "",
        after=text[end : end + _LOOK_AHEAD],
    )
    return quantity, end


def _beginning(before: str, start: int, unit: re.Match[str] | None) -> int:
    """Say where a number begins whose digits begin at `start`: at its currency or its sign."""
    begin = start - len(before) + unit.start() if unit else start
    lead = before[: unit.start()] if unit else before
    return begin - 1 if lead[-1:] and lead[-1:] in _MINUS else begin


def _is_negative(before: str) -> bool:
    if _NEGATIVE_WORD.search(before):
        return True
    sign, ahead = before[-1:], before[-2:-1]
    return sign != "" and sign in _MINUS and not (ahead.isalnum() or ahead in (")", "]"))
