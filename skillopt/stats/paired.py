"""An exact test of paired differences.

If two documents do equally well on a task, the sign of the difference between their scores is a
coin toss, whatever its size. The test looks at all ways in which the signs could have fallen and
asks how many give a sum as high as the one that was seen. It assumes nothing else: no normal
distribution, no equal tasks, no large number of them.

Differences are integers, multiples of a unit of the caller's choice, so that equal sums are equal
and two ways to the same sum never differ by rounding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

#: Fewer differences than this are counted exactly, for no count is longer; with more, counts are
#: cut to their first `_KEPT_BITS` bits whenever they reach this length.
_COUNT_BITS = 160
_KEPT_BITS = 96


def sign_flip_p(differences: Iterable[int]) -> float:
    """Give the chance of a sum at least as high as that of `differences` if each sign were a coin
    toss; sums that are equal count.

    Exact for fewer than 160 differences that are not zero; beyond, off by no more than the last
    digit of a float. It falls when any difference rises, and zeros do not matter.
    """
    lost, sizes = 0, []
    for difference in differences:
        if difference:
            sizes.append(abs(difference))
            lost -= min(difference, 0)
    if not sizes:
        return 1.0
    scale = math.gcd(*sizes)
    sizes = [size // scale for size in sizes]
    lost //= scale
    won = sum(sizes) - lost
    # A sum is as high as the one seen if the minus signs take away no more than they did.
    if lost <= won:
        return float(_share_of_subsets(sizes, lost))
    return float(1 - _share_of_subsets(sizes, won - 1))


def roughly_p(differences: Sequence[int]) -> float:
    """Give about the same by the normal distribution: good enough for a guess, and fast."""
    squares = sum(difference * difference for difference in differences)
    return 0.5 * math.erfc((sum(differences) - 1) / math.sqrt(2 * squares)) if squares else 1.0


def rounded(difference: int, quantum: int) -> int:
    """Give the number of quanta nearest to `difference`, halves away from zero.

    The same for both signs, so that the test stays exact.
    """
    size = (2 * abs(difference) + quantum) // (2 * quantum)
    return size if difference >= 0 else -size


def least_p(differing: int) -> float:
    """Give the lowest value the test can have with this many differences that are not zero."""
    return 2.0**-differing


def needed_to_differ(level: float) -> int:
    """Give the fewest differences, all of one sign, with which the test reaches `level`."""
    needed = max(0, math.ceil(-math.log2(level)))
    while least_p(needed) > level:
        needed += 1
    while needed and least_p(needed - 1) <= level:
        needed -= 1
    return needed


def surely_reaches(level: float, gain: int, squares: int) -> bool:
    """Whether differences with this sum and this sum of squares pass the test for sure.

    Hoeffding's bound: cheap, and right whenever it says yes.
    """
    return gain > 0 and squares > 0 and gain * gain / (2 * squares) >= -math.log(level) + 1e-9


def _share_of_subsets(sizes: list[int], most: int) -> Fraction:
    """Give the share of all subsets of `sizes` whose sum is at most `most`."""
    if most < 0:
        return Fraction(0)
    total = len(sizes)
    # What is larger than `most` is in no such subset.
    groups = sorted(Counter(size for size in sizes if size <= most).items())
    if not groups:
        return Fraction(1, 1 << total)
    if len(groups) == 1:
        (size, times), *_ = groups
        counted = sum(math.comb(times, chosen) for chosen in range(min(times, most // size) + 1))
        return Fraction(counted, 1 << total)
    counted, halvings = _count_subsets(groups, most)
    return Fraction(counted, 1) / (Fraction(2) ** (total - halvings))


def _count_subsets(groups: list[tuple[int, int]], most: int) -> tuple[int, int]:
    """Count the subsets with a sum of at most `most`, divided by 2 to the second number given.

    One large integer holds a count per sum, side by side: adding it to itself, shifted by a size,
    adds that size to every subset at once.
    """
    members = sum(times for _, times in groups)
    exact = members < _COUNT_BITS
    width = members + 1 if exact else _COUNT_BITS + 1
    bits = width * (most + 1)
    all_sums = (1 << bits) - 1
    lowest = all_sums // ((1 << width) - 1)  # a one in every count
    counts, used, halvings = 1, 0, 0
    for size, times in groups:
        for _ in range(times):
            if used == _COUNT_BITS - 1:
                drop = used - _KEPT_BITS
                kept = lowest * ((1 << (width - drop)) - 1)
                counts = ((counts + lowest * ((1 << drop) - 1)) >> drop) & kept
                halvings, used = halvings + drop, _KEPT_BITS + 1
            counts += counts << (width * size)
            if counts > all_sums:
                counts &= all_sums
            used += 1
    return counts % ((1 << width) - 1), halvings
