"""The skill document: a body that may be edited around parts that may not.

Protected are the byte order mark, the front matter and the marked regions. They are separate
fields, so an edit of the body cannot reach them, and they are rendered where they stood. The two
regions of the run itself change through `with_region` alone, frozen ones not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.domain.layout import (
    BLANK,
    block,
    closed_up,
    has_mixed_newlines,
    in_newlines,
    newline_of,
)
from skillopt.domain.outline import Outline
from skillopt.domain.regions import (
    Body,
    OwnRegion,
    Region,
    RegionName,
    body_of,
    end_marker,
    head_of,
    joined_body,
    start_marker,
    without_markers,
)
from skillopt.domain.rewriting import reassemble

__all__ = ["Region", "RegionName", "Rewritten", "SkillDocument", "without_markers"]


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

        Markers that form no region are text like any other (`regions.body_of`).
        """
        bom, front_matter = head_of(text)
        return cls(bom, front_matter, *body_of(text[len(bom) + len(front_matter) :]))

    def render(self) -> str:
        return self.bom + self.front_matter + joined_body(self._parts)

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

    @property
    def frozen(self) -> tuple[str, ...]:
        return tuple(region.content for region in self.regions if region.name == "FROZEN")

    # --- whole rewrites ---------------------------------------------------------------------

    def outline(self) -> str:
        """Give the text to rewrite: `<!-- KEEP n -->` stands for each protected part."""
        return self._outline.text

    def rewritten(self, text: str) -> Rewritten:
        """Put the protected parts into a new text of the outline, byte for byte as they are.

        A part whose line is missing stays: front matter at the beginning, others at the end.
        Lines, markers and front matter that are not the text's to have are taken out and named.
        A text that differs from the outline by blank space around it changes nothing.
        """
        outline, mine = self._outline, self.render()
        if not has_mixed_newlines(mine):
            text = in_newlines(text, newline_of(mine))
        if text.strip() == outline.text.strip():
            return Rewritten(self)
        put_together = reassemble(outline, text, newline_of(mine))
        found = SkillDocument.parse(self.bom + put_together.text)
        if not self._has_same_protected(found):
            problem = "the text cannot be combined with the protected parts: nothing was changed"
            return Rewritten(self, (*put_together.problems, problem))
        return Rewritten(found, put_together.problems)

    # --- the run's own regions --------------------------------------------------------------

    def with_region(self, name: OwnRegion, content: str) -> SkillDocument:
        """Give the region this content, in place.

        A region that is not there yet is added at the end, the slow update before the appendix.
        Without content it is taken out. Markers in the content are left out.
        """
        newline = newline_of(self.render())
        text = in_newlines(block(without_markers(content)), newline)
        if not text:
            return self._without_region(name)
        # A line of dashes could close what only looks like the start of front matter.
        undashed = newline.join("***" if _is_dashes(line) else line for line in text.split(newline))
        bases = [self] if self._content(name) is not None else self._ready_for(name)
        for base in bases:
            for inner in (text, undashed):
                region = Region(name, f"{newline}{inner}{newline}")
                placed = base._placed(region, newline)
                found = SkillDocument.parse(placed.render())
                if region in found.regions and self._keeps_others(found, name):
                    return found
        return self

    def _placed(self, region: Region, newline: str) -> SkillDocument:
        names = [one.name for one in self.regions]
        if region.name in names:
            at = names.index(region.name)
            regions = (*self.regions[:at], region, *self.regions[at + 1 :])
            return replace(self, regions=regions)
        before_appendix = region.name == "SLOW_UPDATE" and "APPENDIX" in names
        at = names.index("APPENDIX") if before_appendix else len(names)
        before = self.segments[at].rstrip(BLANK)
        if before or at:
            before += newline * 2
        elif self.front_matter:
            before += newline if self.front_matter.endswith("\n") else newline * 2
        after = newline * 2 if before_appendix else newline
        return replace(
            self,
            segments=(*self.segments[:at], before, after, *self.segments[at + 1 :]),
            regions=(*self.regions[:at], region, *self.regions[at:]),
        )

    def _ready_for(self, name: OwnRegion) -> list[SkillDocument]:
        """Give the document without stray markers that would undo a new region."""
        strays = (start_marker(name), end_marker(name))
        if not any(marker in segment for marker in strays for segment in self.segments):
            return [self]
        start, end = strays
        fewest = tuple(part.replace(start, "").replace(end, "") for part in self.segments)
        # Taking a marker out can make another one appear; then none may stay.
        none = tuple(without_markers(part) for part in self.segments)
        tidied = (replace(self, segments=segments) for segments in (fewest, none))
        return [SkillDocument.parse(document.render()) for document in tidied]

    def _without_region(self, name: OwnRegion) -> SkillDocument:
        names = [region.name for region in self.regions]
        if name not in names:
            return self
        at, newline = names.index(name), newline_of(self.render())
        between = closed_up(self.segments[at], self.segments[at + 1])
        if at == len(names) - 1 and not self.segments[at + 1].strip(BLANK):
            between = between.rstrip(BLANK) + (newline if between.strip(BLANK) or at else "")
        segments = (*self.segments[:at], between, *self.segments[at + 2 :])
        regions = (*self.regions[:at], *self.regions[at + 1 :])
        found = SkillDocument.parse(replace(self, segments=segments, regions=regions).render())
        if self._keeps_others(found, name) and len(found.regions) == len(regions):
            return found
        # The texts around it would together read as something protected: they stay apart.
        return self._placed(Region(name, newline), newline)

    # --- parts ------------------------------------------------------------------------------

    @property
    def _parts(self) -> Body:
        return Body(self.segments, self.regions)

    @property
    def _outline(self) -> Outline:
        return Outline.of(self.front_matter, self._parts)

    def _content(self, name: RegionName) -> str | None:
        return next((region.content for region in self.regions if region.name == name), None)

    def _same_head(self, other: SkillDocument) -> bool:
        """Whether byte order mark and front matter are the same; its last line may have ended."""
        mine, its = (one.front_matter.rstrip("\r\n") for one in (self, other))
        return self.bom == other.bom and mine == its

    def _has_same_protected(self, other: SkillDocument) -> bool:
        mine, its = (sorted(r.render() for r in one.regions) for one in (self, other))
        return self._same_head(other) and mine == its

    def _keeps_others(self, other: SkillDocument, name: RegionName) -> bool:
        """Whether another document has all protected parts of this one but the named."""
        left = iter(other.regions)
        others = (region for region in self.regions if region.name != name)
        return self._same_head(other) and all(region in left for region in others)


@dataclass(frozen=True)
class Rewritten:
    """A document after a rewrite, and what had to be put right in the new text."""

    document: SkillDocument
    problems: tuple[str, ...] = ()


def _is_dashes(line: str) -> bool:
    return line.rstrip(" \t") == "---"
