"""The form of each optimizer reply as a JSON schema that strict servers enforce.

A schema asks for what the prompt of its stage asks for and the parser of that stage reads, with
every field required: what there is nothing to say about is an empty text or list. Reasoning stands
where the prompt has it, because a server lets a model write the fields in the order given here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

from skillopt.domain.changes import SUGGESTION_TYPES, Priority
from skillopt.domain.documents import DocumentName
from skillopt.domain.edits import OPS, SourceType
from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.reply_schema import ReplySchema
from skillopt.domain.spec import Settings, UpdateMode
from skillopt.loop.replies.notes import NOTES_KEY, notes_wanted
from skillopt.loop.replies.patches import CHANGES_KEY

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}


def reply_schema(stage: OptimizeStage, settings: Settings) -> ReplySchema:
    """Give the form in which the optimizer must answer at a stage of a run."""
    name = f"{stage}-{settings.optimizer.skill_update_mode}" if stage in _BY_MODE else stage
    return ReplySchema(name=name, body=_FORMS[stage](stage, settings))


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _word(words: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


_LINES = _list(_TEXT)


def _analyst(stage: OptimizeStage, settings: Settings) -> Schema:
    seen = {"success_patterns": _LINES}
    if stage != "reflect_success":
        failure = _object(failure_type=_TEXT, count=_WHOLE, description=_TEXT)
        seen = {"failure_summary": _list(failure)}
    notes = {NOTES_KEY: _LINES} if notes_wanted(stage, settings.optimizer) else {}
    patch = _object(reasoning=_TEXT, **_changes(settings))
    return _object(batch_size=_WHOLE, **seen, patch=patch, **notes)


def _merge(_: OptimizeStage, settings: Settings) -> Schema:
    sources = {"support_count": _WHOLE, "source_type": _word(get_args(SourceType))}
    return _object(reasoning=_TEXT, **_changes(settings, sources))


def _changes(settings: Settings, also: dict[str, Schema] | None = None) -> dict[str, Schema]:
    mode = settings.optimizer.skill_update_mode
    row = _ROWS[mode]
    if settings.evolve == "both":
        row = row | {"document": _word(get_args(DocumentName))}
    return {CHANGES_KEY[mode]: _list(_object(**row, **(also or {})))}


_ROWS: dict[UpdateMode, dict[str, Schema]] = {
    "patch": {"op": _word(OPS), "target": _TEXT, "content": _TEXT},
    "rewrite_from_suggestions": {
        "type": _word(SUGGESTION_TYPES),
        "title": _TEXT,
        "motivation": _TEXT,
        "instruction": _TEXT,
        "priority_hint": _word(get_args(Priority)),
    },
    "full_rewrite_minibatch": {"title": _TEXT, "change_summary": _LINES, "new_skill": _TEXT},
}


def _always(schema: Schema) -> Callable[[OptimizeStage, Settings], Schema]:
    return lambda _stage, _settings: schema


_DOCUMENT = _object(reasoning=_TEXT, change_summary=_LINES, new_skill=_TEXT)
_FORMS: dict[OptimizeStage, Callable[[OptimizeStage, Settings], Schema]] = {
    "reflect_failure": _analyst,
    "reflect_success": _analyst,
    "reflect_contrast": _analyst,
    "merge": _merge,
    "learning_rate": _always(
        _object(learning_rate=_WHOLE, reasoning=_TEXT, confidence=_NUMBER, risk_notes=_LINES)
    ),
    "rank": _always(_object(reasoning=_TEXT, selected_indices=_list(_WHOLE))),
    "rewrite": _always(_DOCUMENT),
    "compress": _always(_DOCUMENT),
    "consolidate": _always(_object(**{NOTES_KEY: _LINES})),
    "slow_update": _always(_object(reasoning=_TEXT, slow_update_content=_TEXT)),
    "meta_skill": _always(_object(reasoning=_TEXT, meta_skill_content=_TEXT)),
}
#: Stages whose replies list changes, and so depend on how the document is changed.
_BY_MODE = frozenset(stage for stage, form in _FORMS.items() if form in (_analyst, _merge))
