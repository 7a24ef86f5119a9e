"""The skill document: a body that may be edited around parts that may not.

Protected are the front matter and two marked regions. They are separate fields, so an edit of
the body cannot reach them, and they are rendered where they stood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

RegionName = Literal["SLOW_UPDATE", "APPENDIX"]

_NAMES: tuple[RegionName, ...] = ("SLOW_UPDATE", "APPENDIX")
_BOM = "\ufeff"
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:.*\n)*?---[ \t]*(?:\r?\n|\Z)")


def start_marker(name: RegionName) -> str:
    return f"<!-- {name}_START -->"


def end_marker(name: RegionName) -> str:
    return f"<!-- {name}_END -->"


_MARKERS = tuple(marker(name) for name in _NAMES for marker in (start_marker, end_marker))


@dataclass(frozen=True)
class Region:
    """A protected part of the body; `content` is all between its two markers."""

    name: RegionName
    content: str

    def render(self) -> str:
        return f"{start_marker(self.name)}{self.content}{end_marker(self.name)}"


@dataclass(frozen=True)
class SkillDocument:
    """A document in parts: `segments` are the pieces of the body around the regions."""

    bom: str
    front_matter: str
    segments: tuple[str, ...]
    regions: tuple[Region, ...] = ()

    @classmethod
    def parse(cls, text: str) -> SkillDocument:
        """Take a text apart; every text is a document, and `render` gives it back unchanged.

        Markers that do not form exactly one region of their name, or regions that overlap, are
        text like any other.
        """
        bom = _BOM if text.startswith(_BOM) else ""
        match = _FRONT_MATTER.match(text, len(bom))
        front_matter = match.group() if match else ""
        rest = text[len(bom) + len(front_matter) :]
        segments, regions, position = [], [], 0
        for start, end, name in _region_spans(rest):
            segments.append(rest[position:start])
            inner = rest[start + len(start_marker(name)) : end - len(end_marker(name))]
            regions.append(Region(name, inner))
            position = end
        segments.append(rest[position:])
        return cls(bom, front_matter, tuple(segments), tuple(regions))

    def render(self) -> str:
        parts = [self.bom, self.front_matter, self.segments[0]]
        for region, segment in zip(self.regions, self.segments[1:], strict=True):
            parts += [region.render(), segment]
        return "".join(parts)

    @property
    def body(self) -> str:
        """All that edits may change, without the regions between."""
        return "".join(self.segments)

    @property
    def slow_update(self) -> str | None:
        return self._content("SLOW_UPDATE")

    @property
    def appendix(self) -> str | None:
        return self._content("APPENDIX")

    def _content(self, name: RegionName) -> str | None:
        return next((region.content for region in self.regions if region.name == name), None)


def _region_spans(text: str) -> list[tuple[int, int, RegionName]]:
    spans: list[tuple[int, int, RegionName]] = []
    for name in _NAMES:
        start, end = start_marker(name), end_marker(name)
        if text.count(start) == 1 and text.count(end) == 1 and text.find(start) < text.find(end):
            spans.append((text.find(start), text.find(end) + len(end), name))
    spans.sort()
    overlapping = any(one[1] > other[0] for one, other in pairwise(spans))
    return [] if overlapping else spans


def without_markers(text: str) -> str:
    """Take region markers out of a text, also those that appear when others are taken out."""
    kept: list[str] = []
    length = max(map(len, _MARKERS))
    for character in text:
        kept.append(character)
        if character != ">":
            continue
        tail = "".join(kept[-length:])
        for marker in _MARKERS:
            if tail.endswith(marker):
                del kept[-len(marker) :]
                break
    return "".join(kept)
