"""Pieces that several optimizer prompts share."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from skillopt.domain.changes import Change, Rewrite, Suggestion
from skillopt.domain.documents import DocumentName
from skillopt.domain.edits import Edit
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.domain.skill import SkillDocument
from skillopt.domain.spec import UpdateMode
from skillopt.domain.templates import fill

#: A rough count that needs no tokenizer; the limits it serves are rough as well.
CHARACTERS_PER_TOKEN = 4

#: Characters of all changes that a prompt shows, so that it fits into a context.
CHANGES_LIMIT = 400_000
#: Long texts that a row has at most.
_TEXTS_OF_A_ROW = 3

#: What changes of each mode are called.
NOUNS: dict[UpdateMode, str] = {
    "patch": "edits",
    "rewrite_from_suggestions": "suggestions",
    "full_rewrite_minibatch": "rewrites",
}
_FORMS: dict[UpdateMode, str] = {
    "patch": "form_edits",
    "rewrite_from_suggestions": "form_suggestions",
    "full_rewrite_minibatch": "form_rewrite",
}
_TILDES = re.compile(r"^[ \t]*(~{4,})", re.MULTILINE)
_HEADING_OR_FENCE = re.compile(r"^[ \t]*(?:#{1,6}\s|~{3}|`{3})", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")


def section(title: str, content: str) -> str:
    return f"## {title}\n\n{content.strip()}\n"


def fenced(text: str) -> str:
    """Set a text apart by a fence longer than any the text itself has."""
    longest = max((len(run) for run in _TILDES.findall(text)), default=3)
    fence = "~" * max(4, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def set_apart(text: str) -> str:
    """Fence a text only if it could be taken for other parts of the prompt."""
    return fenced(text) if _HEADING_OR_FENCE.search(text) else text


def cut(text: str, limit: int) -> str:
    """Keep the head and the tail of a long text and say how much is left out between them."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[-tail:]}"


def system_prompt(plan: RunPlan, template: str, *, skill_aware: bool = False) -> str:
    """Fill the slots that the templates of analysts and of merging have."""
    settings = plan.settings
    mode = settings.optimizer.skill_update_mode
    values = {
        "form": plan.templates[_FORMS[mode]],
        "documents": plan.templates["two_documents"] if settings.evolve == "both" else "",
        "skill_aware": plan.templates["skill_aware"] if skill_aware else "",
    }
    return _BLANK_LINES.sub("\n\n", fill(plan.templates[template], values)).strip()


def shown_documents(state: RunState, key: str, *, outline: bool = False) -> list[str]:
    """Give the sections with the documents, and which of them is not to be changed.

    `outline`: the primary document is shown with a KEEP line for each protected part, and these
    parts follow in a section of their own.
    """
    plan, documents = state.plan, state.texts[key]
    shown: list[str] = []
    names: tuple[DocumentName, ...] = ("skill", "memory")
    for name in names:
        text = documents.of(name)
        if name not in plan.evolving:
            if text.strip():
                shown.append(section(f"{name.capitalize()} (not to be changed)", fenced(text)))
        elif outline:
            shown += _outlined(name, SkillDocument.parse(text))
        else:
            shown.append(section(f"Current {name}", fenced(text)))
    return shown


def _outlined(name: DocumentName, document: SkillDocument) -> list[str]:
    shown = [section(f"Current {name}", fenced(document.outline()))]
    parts = [document.front_matter] if document.front_matter else []
    parts += [region.render() for region in document.regions]
    if parts:
        listed = ["What the KEEP lines stand for, in their order:", *map(fenced, parts)]
        shown.append(section("Parts that stay as they are", "\n\n".join(listed)))
    return shown


def preferences_section(state: RunState) -> list[str]:
    preferences = state.plan.settings.preferences
    if not preferences.strip():
        return []
    return [section("What the user prefers", set_apart(preferences))]


def meta_skill_section(state: RunState) -> list[str]:
    if not state.meta_skill.strip():
        return []
    return [section("What editing has taught so far", set_apart(state.meta_skill))]


def change_rows(changes: Sequence[Change], most: int | None = None) -> str:
    """Show changes as a JSON array; `support` is how many tasks are behind each.

    With `most`, long texts are cut if all together have more characters than that.
    """
    with_memory = any(isinstance(one, Edit) and one.document == "memory" for one in changes)
    rows = [
        {
            "index": index,
            **_told(change, with_document=with_memory),
            "source_type": change.source_type,
            "support": len(change.support),
        }
        for index, change in enumerate(changes)
    ]
    told = json.dumps(rows, ensure_ascii=False, indent=1)
    if most is None or len(told) <= most:
        return told
    room = most // (_TEXTS_OF_A_ROW * len(rows))
    short = [{name: _cut_value(value, room) for name, value in row.items()} for row in rows]
    return json.dumps(short, ensure_ascii=False, indent=1)


def _cut_value(value: object, room: int) -> object:
    return cut(value, room) if isinstance(value, str) else value


def _told(change: Change, *, with_document: bool) -> dict[str, object]:
    if isinstance(change, Edit):
        names = {"op", "target", "content"} | ({"document"} if with_document else set())
    elif isinstance(change, Suggestion):
        names = {"type", "title", "motivation", "instruction", "priority_hint"}
    else:
        assert isinstance(change, Rewrite)
        names = {"title", "change_summary", "new_skill"}
    return change.model_dump(mode="json", include=names)
