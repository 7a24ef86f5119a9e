"""Tasks of different splits that ask almost the same.

Two tasks are near duplicates if at least nine tenths of all three-word sequences that occur in
either of their tasks occur in both, and likewise of their contexts: the same instruction on
another text or other files is another task, and so is another question on the same text.

Every such pair is found without comparing all pairs: two sets that share so much must share one
of their rarest members.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from skillopt.domain.item import SPLITS, Item, SplitName

#: Shared of all: 9 in 10, as a fraction so that nothing is lost to rounding.
_SHARE = (9, 10)
_SHINGLE = 3
#: The beginning that is compared; nothing that differs only behind it is another task.
_MOST_WORDS = 2_000
#: Words; a script without spaces gives its characters.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_BUCKETS = 1 << 20
_BUCKET_SHIFT = 12


@dataclass(frozen=True)
class NearPair:
    """A task, and one of an earlier split that is nearly the same."""

    split: SplitName
    item: Item
    other_split: SplitName
    other: Item


@dataclass(frozen=True)
class _Sketch:
    """The word sequences of a task as numbers, rarest first; those of the context are odd."""

    item: Item
    shingles: Sequence[int]
    n_context: int

    @property
    def prefix(self) -> int:
        """How many of the rarest suffice to meet every near duplicate."""
        shared, of = _SHARE
        size = len(self.shingles)
        return min(size, size - _ceil(shared * size, of) + 1)


_Postings = dict[int, list[tuple[int, int]]]


def near_duplicates(splits: Mapping[SplitName, Sequence[Item]]) -> list[NearPair]:
    """Give each task that is nearly the same as one of an earlier split, with the first such.

    A prompt that is exactly the same is not among them.
    """
    raw = {split: [(item, _shingles(item)) for item in splits[split]] for split in SPLITS}
    rarity = _rarity(shingles for tasks in raw.values() for _, shingles in tasks)
    found = []
    indexed: list[tuple[SplitName, list[_Sketch], _Postings]] = []
    for split in SPLITS:
        sketches = [_sketch(item, shingles, rarity) for item, shingles in raw[split]]
        for sketch in sketches:
            for other_split, others, postings in indexed:
                other = _match(sketch, others, postings)
                if other is not None:
                    found.append(NearPair(split, sketch.item, other_split, other))
                    break
        indexed.append((split, sketches, _postings(sketches)))
    return found


def _match(sketch: _Sketch, others: list[_Sketch], postings: _Postings) -> Item | None:
    seen: set[int] = set()
    mine: frozenset[int] | None = None
    size = len(sketch.shingles)
    for place in range(sketch.prefix):
        for number, other_place in postings.get(sketch.shingles[place], ()):
            if number in seen:
                continue
            seen.add(number)
            other = others[number]
            # What comes before the first common member of either set is not in the other.
            most = min(size - place, len(other.shingles) - other_place)
            if most < _needed(size, len(other.shingles)):
                continue
            mine = frozenset(sketch.shingles) if mine is None else mine
            if other.item.prompt.hash != sketch.item.prompt.hash and _alike(sketch, mine, other):
                return other.item
    return None


def _alike(sketch: _Sketch, mine: frozenset[int], other: _Sketch) -> bool:
    common = mine.intersection(other.shingles)
    context = sum(shingle & 1 for shingle in common)
    tasks = len(sketch.shingles) - sketch.n_context, len(other.shingles) - other.n_context
    return context >= _needed(sketch.n_context, other.n_context) and (
        len(common) - context >= _needed(*tasks)
    )


def _needed(size: int, other_size: int) -> int:
    """How many common members make two sets of these sizes near duplicates."""
    shared, of = _SHARE
    return _ceil(shared * (size + other_size), shared + of)


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)


def _postings(sketches: Sequence[_Sketch]) -> _Postings:
    postings: _Postings = {}
    for number, sketch in enumerate(sketches):
        for place in range(sketch.prefix):
            postings.setdefault(sketch.shingles[place], []).append((number, place))
    return postings


def _sketch(item: Item, shingles: Sequence[int], rarity: Sequence[int]) -> _Sketch:
    ordered = sorted(shingles, key=lambda shingle: (rarity[shingle >> _BUCKET_SHIFT], shingle))
    return _Sketch(item, array("L", ordered), sum(shingle & 1 for shingle in ordered))


def _rarity(sets: Iterable[Sequence[int]]) -> Sequence[int]:
    """Count how many tasks have each sequence; about, for those that share a bucket."""
    counts = array("L", bytes(array("L").itemsize * _BUCKETS))
    for shingle in chain.from_iterable(sets):
        counts[shingle >> _BUCKET_SHIFT] += 1
    return counts


def _shingles(item: Item) -> Sequence[int]:
    prompt = item.prompt
    # Tasks with different files have no number in common.
    files = zlib.crc32("".join(sorted(one.sha256 for one in prompt.attachments)).encode())
    numbers = {(number ^ files) & ~1 for number in _sequences(prompt.task)}
    context = _sequences(f"{prompt.system}\n{prompt.context}")
    numbers |= {(number ^ files) | 1 for number in context}
    return array("L", numbers)


def _sequences(text: str) -> list[int]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = [match.group() for match in islice(_WORD.finditer(folded), _MOST_WORDS)]
    if not words:
        return []
    last = max(len(words) - _SHINGLE, 0)
    return [
        zlib.crc32(" ".join(words[start : start + _SHINGLE]).encode()) for start in range(last + 1)
    ]
