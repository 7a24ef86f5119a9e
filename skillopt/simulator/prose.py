"""From markdown to sentences whose quoted texts are set apart.

Quoted texts are replaced by one private character each, so that the words inside a quotation are
never mistaken for the words of the rule around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FIRST_MARK = 0xE000
_LAST_MARK = 0xF8FF
#: Any character that stands for a quotation.
MARK = "[\ue000-\uf8ff]"
_REPLACEMENT = "\ufffd"

_FRONT_MATTER = re.compile(r"^---[ \t]*\n(?=[\w-]+:)(?:.*\n)*?---[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
#: The line before a judge's words.
_JUDGE = "Judge:"
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!max\.)(?<!min\.)(?<=[.!?])\s+")

_PATTERN_WORD = r"(?:regular expressions?|regexp?|patterns?)"
_SLASHED = re.compile(
    rf"({_PATTERN_WORD}\s*:?\s*)/((?:(?!{_PATTERN_WORD}\s*:?\s*/).)+)/(?=[\s.,;:)]|$)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|(?<![\w\u2019])'([^']+)'(?!\w)")
_BOLD_TITLE = re.compile(r"\*\*([^*]+)\*\*(?=\s+(?:section|heading)\b)")
_BARE_HEADING = re.compile(
    r"(?<!\S)(#{1,6} [A-Z][\w'/&-]*(?: (?!(?:section|heading|and|or|with|at|in|that|as)\b)"
    r"[\w'/&-]+)*)"
)
_BARE_LABEL = re.compile(r"\b([A-Z][\w-]*(?: [A-Z][\w-]*)?:)(?=\s+(?:line|label|field|prefix)\b)")
_NAMED = re.compile(
    r"\b((?:headed|titled|entitled|called|named)\s+)([A-Z][\w'-]*(?: [A-Z][\w'-]*)*)"
)
_TITLE_BEFORE_SECTION = re.compile(
    r"\b((?:a|an|the|your|its)\s+)([A-Z][\w'-]*(?: [A-Z][\w'-]*)*)(?=\s+(?:section|heading)\b)"
)


@dataclass(frozen=True)
class Quotation:
    text: str
    #: Written between slashes after a word that announces a regular expression.
    is_pattern: bool = False


@dataclass(frozen=True)
class Sentence:
    """One sentence: as written, and in lower case with its quotations replaced by marks."""

    raw: str
    masked: str
    quotations: tuple[Quotation, ...]

    def quotation(self, mark: str) -> Quotation:
        return self.quotations[ord(mark) - _FIRST_MARK]


@dataclass(frozen=True)
class _Paragraph:
    text: str
    is_item: bool


def sentences(markdown: str) -> list[Sentence]:
    """Split markdown into sentences; headings, fenced blocks and front matter are not prose.

    List items under a line that ends in a colon are read as continuations of that line.
    """
    found: list[Sentence] = []
    lead = ""
    for paragraph in _paragraphs(_FRONT_MATTER.sub("", markdown)):
        if not paragraph.is_item:
            lead = paragraph.text if paragraph.text.endswith(":") else ""
        text = f"{lead} {paragraph.text}" if paragraph.is_item and lead else paragraph.text
        found.extend(_split(text))
    return found


def _paragraphs(markdown: str) -> Iterator[_Paragraph]:
    """Join wrapped lines; a heading counts as an empty paragraph, which ends a list's lead."""
    held: list[str] = []
    held_is_item = False
    for line in outside_fences(markdown):
        item = _ITEM.match(line)
        heading = _HEADING.match(line)
        if held and (item or heading or not line.strip()):
            yield _Paragraph(" ".join(held), held_is_item)
            held = []
        if heading:
            yield _Paragraph("", is_item=False)
        elif line.strip():
            held_is_item = bool(item) or (held_is_item and bool(held))
            held.append(line[item.end() if item else 0 :].strip().removeprefix("> "))
    if held:
        yield _Paragraph(" ".join(held), held_is_item)


def outside_fences(markdown: str) -> Iterator[str]:
    """Give the lines that are not in a fenced block; a block reads as a blank line."""
    fence = ""
    for line in markdown.splitlines():
        fenced = _FENCE.match(line)
        if fence:
            if fenced is not None and fenced.group(1).startswith(fence):
                fence = ""
        elif fenced is not None:
            fence = fenced.group(1)
            yield ""
        else:
            yield line


def told(markdown: str) -> Iterator[str]:
    """Give the lines outside fenced blocks, and those of blocks that hold a judge's own words."""
    fence, is_judge, last = "", False, ""
    for line in markdown.splitlines():
        fenced = _FENCE.match(line)
        if fence:
            if fenced is not None and fenced.group(1).startswith(fence):
                fence = ""
            elif is_judge:
                yield line
        elif fenced is not None:
            fence, is_judge = fenced.group(1), last == _JUDGE
            yield ""
        else:
            yield line
            last = line.strip()


def _split(text: str) -> Iterator[Sentence]:
    """Split a paragraph; quotations for which there is no mark left stay words like others."""
    found: list[Quotation] = []
    text = re.sub(MARK, _REPLACEMENT, text)

    def mark(quoted: str, *, is_pattern: bool = False) -> str:
        if _FIRST_MARK + len(found) > _LAST_MARK:
            return quoted
        found.append(Quotation(quoted, is_pattern))
        return chr(_FIRST_MARK + len(found) - 1)

    masked = _SLASHED.sub(lambda m: m.group(1) + mark(m.group(2), is_pattern=True), text)
    masked = _QUOTED.sub(lambda m: mark(_inner(next(g for g in m.groups() if g))), masked)
    masked = _BOLD_TITLE.sub(lambda m: mark(m.group(1)), masked).replace("**", "")
    masked = _BARE_HEADING.sub(lambda m: mark(m.group(1)), masked)
    masked = _BARE_LABEL.sub(lambda m: mark(m.group(1)), masked)
    masked = _NAMED.sub(lambda m: m.group(1) + mark(m.group(2)), masked)
    masked = _TITLE_BEFORE_SECTION.sub(lambda m: m.group(1) + mark(m.group(2)), masked)
    quotations = tuple(found)
    for part in _SENTENCE_END.split(masked):
        if part.strip():
            raw = re.sub(MARK, lambda m: quotations[ord(m.group()) - _FIRST_MARK].text, part)
            yield Sentence(raw, part.lower(), quotations)


def _inner(quoted: str) -> str:
    """Take the quotation marks off a text that is quoted twice, as in `"X"` in backticks."""
    twice = re.fullmatch(r"\"([^\"]+)\"|“([^”]+)”", quoted)
    return next(g for g in twice.groups() if g) if twice else quoted
