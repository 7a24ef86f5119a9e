"""What makes a regular expression take all the memory there is, whatever it is matched with.

The engine writes counted repeats out when it compiles: `(?:(?:a{1000}){1000}){1000}` is a billion
parts. And an expression may call itself without end.
"""

from __future__ import annotations

import re

_REPEAT = re.compile(r"\{([0-9]{1,9})(?:,[0-9]*)?\}")
_CALL = re.compile(r"\(\?(?:R|[+-]?[0-9]+|&\w+|P>\w+)\)")
_SET = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def written_out(pattern: str) -> int:
    """Give about the number of characters and sets that must match at least, repeats included.

    An expression that does not compile gives some number too.
    """
    #: One entry for each group that is open, the whole expression first.
    sizes = [0]
    last = place = 0
    while place < len(pattern):
        char = pattern[place]
        if repeat := _REPEAT.match(pattern, place):
            times = max(int(repeat[1]), 1)
            sizes[-1] += last * (times - 1)
            last *= times
            place = repeat.end()
            continue
        if char == "(":
            sizes.append(0)
        elif char == ")" and len(sizes) > 1:
            last = max(sizes.pop(), 1)
            sizes[-1] += last
        elif char not in "?*+|":
            last = 1
            sizes[-1] += 1
        place = _end_of_part(pattern, place)
    return sum(sizes)


def calls_itself(pattern: str) -> bool:
    """Whether an expression has a part such as `(?R)`, `(?1)` or `(?&name)`."""
    place = 0
    while place < len(pattern):
        if _CALL.match(pattern, place):
            return True
        place = _end_of_part(pattern, place)
    return False


def _end_of_part(pattern: str, place: int) -> int:
    if pattern[place] == "\\":
        return place + 2
    found = _SET.match(pattern, place)
    return place + 1 if found is None else found.end()
