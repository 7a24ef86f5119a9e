"""Texts for property tests: documents full of markers, and edits and rewrites that aim at them."""

from __future__ import annotations

from hypothesis import strategies as st

from skillopt.domain.edits import Edit
from skillopt.domain.skill import SkillDocument

SLOW = "<!-- SLOW_UPDATE_START -->\nslow words\n<!-- SLOW_UPDATE_END -->"
APPENDIX = "<!-- APPENDIX_START -->\nnotes\n<!-- APPENDIX_END -->"
FROZEN = "<!-- FROZEN_START -->\n- never lie\n<!-- FROZEN_END -->"
MARKERS = [
    f"<!-- {name}_{end} -->"
    for name in ("SLOW_UPDATE", "APPENDIX", "FROZEN")
    for end in ("START", "END")
]
FRAGMENTS = st.sampled_from(
    [*MARKERS, SLOW, APPENDIX, FROZEN, "---\n", "---", "n: x\n", "\n", "\r\n", "\ufeff", "- a\n",
     "# T\n", "b", " ", "<!-- ", "SLOW_UPDATE_", "FROZEN_", "START -->", "END -->",
     "<!-- KEEP 1 -->", "<!-- KEEP 2 -->\n", "<!--KEEP  3-->", "KEEP 1 -->", "é", "e\u0301"]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS | st.text(max_size=2), max_size=12).map("".join)
HEADS = st.sampled_from(["", "---\nn: x\n---\n", "\ufeff---\r\nn: x\r\n---\r\n", "---\nn: x\n---"])
TAILS = st.sampled_from(
    ["", SLOW, f"{SLOW}\n", f"{SLOW}\n\n{APPENDIX}\n", f"{APPENDIX}\nend", f"{FROZEN}\n",
     f"\n{FROZEN}\n\ntext\n\n{FROZEN}\n{SLOW}\n"]
)  # fmt: skip
DOCUMENTS = st.tuples(HEADS, TEXTS, TAILS, TEXTS).map("".join)


@st.composite
def patches(draw, text: str) -> list[Edit]:
    """Edits whose targets mostly are stretches of the text itself."""
    edits = []
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        stretch = text[start : start + draw(st.integers(0, 12))]
        edits.append(
            Edit(
                op=draw(st.sampled_from(["append", "insert_after", "replace", "delete"])),
                target=draw(st.just(stretch) | TEXTS),
                content=draw(TEXTS),
            )
        )
    return edits


@st.composite
def rewrites(draw, document: SkillDocument) -> str:
    """A new text of a document's outline, or of the document itself, with things moved about."""
    text = draw(st.sampled_from([document.outline(), document.render()]))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, len(text)))
        text = draw(
            st.sampled_from(
                [
                    text[:start] + text[end:],
                    text[end:] + text[start:end] + text[:start],
                    text[:start] + draw(TEXTS) + text[start:],
                ]
            )
        )
    return draw(st.just(text) | TEXTS)


def protected(document: SkillDocument) -> tuple[str, str, list[str]]:
    """What may never change; front matter that ended the file may gain a line end."""
    regions = sorted(region.render() for region in document.regions)
    return document.bom, document.front_matter.rstrip("\r\n"), regions
