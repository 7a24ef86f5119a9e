"""Taking a document's text apart: byte order mark, front matter, marked regions, body.

Two regions are the run's own, one of each at most. A person may freeze any number of others. What
stands between two markers is never looked into, so a frozen part may even show markers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

RegionName = Literal["SLOW_UPDATE", "APPENDIX", "FROZEN"]
#: The regions that a run writes itself; a frozen one belongs to its author.
OwnRegion = Literal["SLOW_UPDATE", "APPENDIX"]

BOM = "\ufeff"
FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:.*\n)*?---[ \t]*(?:\r?\n|\Z)")
#: What stands for a protected part in an outline; models space it as they like.
KEEP = re.compile(r"<!--[ \t]{0,3}KEEP[ \t]{1,3}([0-9]{1,9})[ \t]{0,3}-->")

_OWN: tuple[OwnRegion, ...] = ("SLOW_UPDATE", "APPENDIX")
_MARKER = r"<!-- (?:SLOW_UPDATE|APPENDIX|FROZEN)_(?:START|END) -->"
_LAST_MARKER = re.compile(rf"(?:{_MARKER}|{KEEP.pattern})\Z")
_LONGEST_MARKER = 40
_LIKE_A_MARKER = re.compile(
    r"<!--\s{0,9}(?:SLOW_UPDATE|APPENDIX|FROZEN)_(?:START|END)\s{0,9}-->", re.IGNORECASE
)


def start_marker(name: RegionName) -> str:
    return f"<!-- {name}_START -->"


def end_marker(name: RegionName) -> str:
    return f"<!-- {name}_END -->"


@dataclass(frozen=True)
class Region:
    """A protected part of the body; `content` is all between its two markers."""

    name: RegionName
    content: str

    def render(self) -> str:
        return f"{start_marker(self.name)}{self.content}{end_marker(self.name)}"


class Head(NamedTuple):
    """The beginning of a text: its byte order mark and its front matter, each "" if absent."""

    bom: str
    front_matter: str


class Body(NamedTuple):
    """Regions, and the segments of text before, between and behind them."""

    segments: tuple[str, ...]
    regions: tuple[Region, ...]


class StrayMarker(NamedTuple):
    """A comment that looks like a region's marker and protects nothing."""

    line: int
    text: str


class _Span(NamedTuple):
    start: int
    end: int
    name: RegionName


def head_of(text: str) -> Head:
    bom = BOM if text.startswith(BOM) else ""
    match = FRONT_MATTER.match(text, len(bom))
    return Head(bom, match.group() if match else "")


def body_of(text: str) -> Body:
    """Split a text at its regions.

    A frozen region runs from its start marker to the next end marker. Markers of another name
    that do not form exactly one region, or one that overlaps another region, are text.
    """
    frozen = _frozen_spans(text)
    spans = sorted([*frozen, *_own_spans(text, frozen)])
    segments, regions, position = [], [], 0
    for start, end, name in spans:
        segments.append(text[position:start])
        inner = text[start + len(start_marker(name)) : end - len(end_marker(name))]
        regions.append(Region(name, inner))
        position = end
    segments.append(text[position:])
    return Body(tuple(segments), tuple(regions))


def joined_body(body: Body) -> str:
    parts = [body.segments[0]]
    for region, segment in zip(body.regions, body.segments[1:], strict=True):
        parts += [region.render(), segment]
    return "".join(parts)


def _frozen_spans(text: str) -> list[_Span]:
    opening, closing = start_marker("FROZEN"), end_marker("FROZEN")
    spans: list[_Span] = []
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        spans.append(_Span(start, end + len(closing), "FROZEN"))
        start = text.find(opening, spans[-1].end)
    return spans


def _own_spans(text: str, frozen: list[_Span]) -> list[_Span]:
    """Find the run's own regions; each lies in one of the gaps between frozen ones."""
    edges = [0, *(edge for span in frozen for edge in span[:2]), len(text)]
    gaps = [(edges[i], text[edges[i] : edges[i + 1]]) for i in range(0, len(edges), 2)]
    spans: list[_Span] = []
    for name in _OWN:
        opening, closing = start_marker(name), end_marker(name)
        starts = sum(gap.count(opening) for _, gap in gaps)
        if starts != 1 or sum(gap.count(closing) for _, gap in gaps) != 1:
            continue
        offset, gap = next((offset, gap) for offset, gap in gaps if opening in gap)
        start, end = gap.find(opening), gap.find(closing)
        if start < end:
            spans.append(_Span(offset + start, offset + end + len(closing), name))
    spans.sort()
    overlapping = any(one.end > other.start for one, other in pairwise(spans))
    return [] if overlapping else spans


def without_markers(text: str) -> str:
    """Take region markers and KEEP comments out of a text, also those that appear by that."""
    kept: list[str] = []
    for character in text:
        kept.append(character)
        if character != ">":
            continue
        found = _LAST_MARKER.search("".join(kept[-_LONGEST_MARKER:]))
        if found:
            del kept[-len(found.group()) :]
    return "".join(kept)


def stray_markers(text: str) -> tuple[StrayMarker, ...]:
    """Name the markers, and what looks like one, that belong to no region of a text."""
    head = head_of(text)
    body = body_of(text[len(head.bom) + len(head.front_matter) :])
    line = 1 + head.front_matter.count("\n")
    found: list[StrayMarker] = []
    for index, segment in enumerate(body.segments):
        for match in _LIKE_A_MARKER.finditer(segment):
            before = segment.count("\n", 0, match.start())
            found.append(StrayMarker(line + before, match.group()))
        line += segment.count("\n")
        if index < len(body.regions):
            line += body.regions[index].content.count("\n")
    return tuple(found)
