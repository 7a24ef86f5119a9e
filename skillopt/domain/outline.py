"""The outline of a document: what a model sees that rewrites it as a whole.

A KEEP line stands for each protected part, so the parts themselves never leave our hands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt.domain.regions import KEEP, Body, RegionName


def keep_line(number: int) -> str:
    return f"<!-- KEEP {number} -->"


@dataclass(frozen=True)
class Part:
    """What a KEEP line stands for. A comment is the author's own text of that form."""

    name: RegionName | Literal["front matter", "comment"]
    text: str

    @property
    def is_region(self) -> bool:
        return self.name not in {"front matter", "comment"}

    def describe(self) -> str:
        return f"the {self.name} region" if self.is_region else f"the {self.name}"


@dataclass(frozen=True)
class Outline:
    """A document with `<!-- KEEP n -->` in the place of its part n, counted from 1."""

    text: str
    parts: tuple[Part, ...]
    #: The line end that belongs to the front matter.
    front_end: str = ""

    @classmethod
    def of(cls, front_matter: str, body: Body) -> Outline:
        parts: list[Part] = []

        def kept(part: Part) -> str:
            parts.append(part)
            return keep_line(len(parts))

        shown: list[str] = []
        fences = front_matter.rstrip("\r\n")
        front_end = front_matter[len(fences) :]
        if front_matter:
            shown += [kept(Part("front matter", fences)), front_end]
        for index, segment in enumerate(body.segments):
            shown.append(KEEP.sub(lambda match: kept(Part("comment", match.group())), segment))
            if index < len(body.regions):
                region = body.regions[index]
                shown.append(kept(Part(region.name, region.render())))
        return cls("".join(shown), tuple(parts), front_end)
