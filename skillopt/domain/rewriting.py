"""Putting a rewritten outline together again: every protected part returns, whatever became of
its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from skillopt.domain.layout import BLANK
from skillopt.domain.outline import Outline, keep_line
from skillopt.domain.regions import (
    BOM,
    FRONT_MATTER,
    KEEP,
    Region,
    body_of,
    head_of,
    without_markers,
)

#: What is between two parts of a document: text, or the index of a part that stands there.
_Chunk = str | int
_YAML_KEY = re.compile(r"[\w-]+[ \t]*:")
_YAML_LINE = re.compile(r"[\w-]+[ \t]*:|[ \t]|-|#|\r?\n")
_LINE_END = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_GAP = re.compile(f"[{BLANK}{BOM}]*")


@dataclass(frozen=True)
class Reassembled:
    """A text with all parts of its outline in it, and what had to be put right."""

    text: str
    problems: tuple[str, ...]


def reassemble(outline: Outline, text: str, newline: str) -> Reassembled:
    """Put the parts of an outline into what became of its text.

    A part whose line is missing goes to the end, front matter always to the beginning. The text
    ends with one line end.
    """
    return _Assembly(outline, newline).run(text)


@dataclass
class _Assembly:
    outline: Outline
    newline: str
    problems: list[str] = field(default_factory=list)

    def run(self, text: str) -> Reassembled:
        chunks = self._kept_lines(text.lstrip(BOM))
        front = self._take_front_matter(chunks)
        chunks = self._without_new_front_matter(chunks)
        chunks = self._regions_copied(chunks)
        chunks = self._without_markers(chunks)
        self._add_missing(chunks)
        body = self._sound_body(chunks, front)
        return Reassembled(front + body, tuple(dict.fromkeys(self.problems)))

    def _kept_lines(self, text: str) -> list[_Chunk]:
        """Split a text at its KEEP lines; those that stand for nothing are taken out."""
        matches = list(KEEP.finditer(text))
        places: dict[int, re.Match[str]] = {}
        for match in sorted(matches, key=lambda match: not _is_own_line(text, match)):
            index = int(match.group(1)) - 1
            if 0 <= index < len(self.outline.parts):
                places.setdefault(index, match)
        chunks: list[_Chunk] = []
        position = 0
        for match in matches:
            chunks.append(text[position : match.start()])
            position = match.end()
            index = int(match.group(1)) - 1
            if places.get(index) is match:
                chunks.append(index)
                continue
            sort = "a second" if index in places else "an unknown"
            self.problems.append(f"{sort} line {match.group()!r} was taken out")
            if _is_own_line(text, match):
                position = _after_line_end(text, position)
        chunks.append(text[position:])
        return _merged(chunks)

    def _take_front_matter(self, chunks: list[_Chunk]) -> str:
        """Take the front matter from where its line, or a copy of it, is."""
        parts, first = self.outline.parts, chunks[0]
        if not parts or parts[0].name != "front matter":
            return ""
        assert isinstance(first, str)
        copied = FRONT_MATTER.match(first, _after_gap(first, 0))
        if 0 in chunks:
            self._take_front_line(chunks)
        elif copied and copied.group().rstrip(BLANK) == parts[0].text.rstrip(BLANK):
            chunks[0] = first[copied.end() :]
        else:
            self._say_missing(0, "the beginning")
        return parts[0].text + (self.outline.front_end or self.newline)

    def _take_front_line(self, chunks: list[_Chunk]) -> None:
        at = chunks.index(0)
        before, after = chunks[at - 1], chunks[at + 1]
        assert isinstance(before, str)
        assert isinstance(after, str)
        if at > 1 or before.strip():
            self.problems.append(f"{keep_line(1)!r} was not at the beginning: it is put there")
        if not before or before.endswith("\n"):
            after = after[_after_line_end(after, 0) :]
        chunks[at - 1 : at + 2] = [before + after]

    def _without_new_front_matter(self, chunks: list[_Chunk]) -> list[_Chunk]:
        """Take out front matter that the model wrote; a document's own is never in its body."""
        first, rest = chunks[0], chunks[1:]
        assert isinstance(first, str)
        own = self.outline.parts[0].text if self.outline.parts else ""
        body = self.outline.text.removeprefix(keep_line(1)).lstrip(BLANK)
        position = _after_gap(first, 0)
        while (match := FRONT_MATTER.match(first, position)) and _has_keys(match.group()):
            block = match.group().rstrip(BLANK)
            if body.startswith(block):
                break
            if block != own.rstrip(BLANK):
                self.problems.append("front matter in the text was taken out: it stays as it is")
            position = _after_gap(first, match.end())
            chunks = [first[position:], *rest]
        return chunks

    def _regions_copied(self, chunks: Sequence[_Chunk]) -> list[_Chunk]:
        """Put the part itself where the text has a region with its markers."""
        missing = [
            index
            for index, part in enumerate(self.outline.parts)
            if part.is_region and index not in chunks
        ]
        alike: dict[str, list[int]] = {}
        for index, part in enumerate(self.outline.parts):
            alike.setdefault(_words(part.text), []).append(index)
        placed: list[_Chunk] = []
        for chunk in chunks:
            if isinstance(chunk, int):
                placed.append(chunk)
                continue
            segments, regions = body_of(chunk)
            for segment, region in zip(segments, regions, strict=False):
                same = alike.get(_words(region.render()), [])
                placed += [segment, *self._instead_of(region, same, missing)]
            placed.append(segments[-1])
        return _merged(placed)

    def _instead_of(self, region: Region, same: list[int], missing: list[int]) -> list[_Chunk]:
        parts = self.outline.parts
        named = [i for i in missing if parts[i].name == region.name]
        index = next((i for i in [*same, *named] if i in missing), None)
        if index is not None:
            missing.remove(index)
            if index not in same:
                self.problems.append(f"{parts[index].describe()} was changed: it stays as it was")
            return [index]
        if same:
            self.problems.append(f"a copy of {parts[same[0]].describe()} was taken out")
            return []
        return [region.render()]

    def _without_markers(self, chunks: Iterable[_Chunk]) -> list[_Chunk]:
        cleaned: list[_Chunk] = []
        for chunk in chunks:
            if isinstance(chunk, int) or "<!--" not in chunk:
                cleaned.append(chunk)
                continue
            cleaned.append(without_markers(chunk))
            if cleaned[-1] != chunk:
                self.problems.append("region markers in the text were taken out")
        return cleaned

    def _add_missing(self, chunks: list[_Chunk]) -> None:
        """Put regions that have no place at the end; a comment without its line is given up."""
        for index, part in enumerate(self.outline.parts):
            if not part.is_region or index in chunks:
                continue
            self._say_missing(index, "the end")
            while chunks and isinstance(chunks[-1], str):
                chunks[-1] = chunks[-1].rstrip(BLANK)
                if chunks[-1]:
                    break
                chunks.pop()
            chunks += [self.newline * 2, index] if chunks else [index]

    def _say_missing(self, index: int, place: str) -> None:
        part = self.outline.parts[index]
        line = keep_line(index + 1)
        self.problems.append(f"the line {line!r} is missing: {part.describe()} went to {place}")

    def _sound_body(self, chunks: list[_Chunk], front: str) -> str:
        """Render the chunks so that the text has exactly its parts as regions."""
        body = self._rendered(chunks)
        if not self._has_regions(body, chunks):
            # Only in another order can the parts make up regions that they were not.
            self.problems.append("the protected parts were put back into their old order")
            order = iter(sorted(chunk for chunk in chunks if isinstance(chunk, int)))
            chunks = [chunk if isinstance(chunk, str) else next(order) for chunk in chunks]
            body = self._rendered(chunks)
        if not front and head_of(body) != ("", ""):
            body = self.newline + body
        return body

    def _rendered(self, chunks: Iterable[_Chunk]) -> str:
        parts = self.outline.parts
        body = "".join(chunk if isinstance(chunk, str) else parts[chunk].text for chunk in chunks)
        kept = body.rstrip(BLANK)
        return kept + self.newline if kept else ""

    def _has_regions(self, body: str, chunks: Iterable[_Chunk]) -> bool:
        parts = self.outline.parts
        due = [parts[chunk].text for chunk in chunks if isinstance(chunk, int)]
        found = [region.render() for region in body_of(body).regions]
        return found == [text for text in due if not KEEP.fullmatch(text)]


def _merged(chunks: Iterable[_Chunk]) -> list[_Chunk]:
    """Join neighbouring texts; before and behind each part there is one, perhaps empty."""
    merged: list[_Chunk] = [""]
    for chunk in chunks:
        last = merged[-1]
        if isinstance(chunk, str) and isinstance(last, str):
            merged[-1] = last + chunk
        elif isinstance(chunk, int) and isinstance(last, int):
            merged += ["", chunk]
        else:
            merged.append(chunk)
    return merged if isinstance(merged[-1], str) else [*merged, ""]


def _words(text: str) -> str:
    return " ".join(text.split())


def _is_own_line(text: str, match: re.Match[str]) -> bool:
    start = match.start()
    while start and text[start - 1] in " \t":
        start -= 1
    alone = start == 0 or text[start - 1] == "\n"
    return alone and _LINE_END.match(text, match.end()) is not None


def _after_line_end(text: str, position: int) -> int:
    match = _LINE_END.match(text, position)
    return match.end() if match else position


def _after_gap(text: str, position: int) -> int:
    match = _GAP.match(text, position)
    return match.end() if match else position


def _has_keys(block: str) -> bool:
    """Whether a block between two lines of dashes reads like front matter, not like prose."""
    lines = block.splitlines(keepends=True)[1:-1]
    return any(_YAML_KEY.match(line) for line in lines) and all(
        _YAML_LINE.match(line) for line in lines
    )
