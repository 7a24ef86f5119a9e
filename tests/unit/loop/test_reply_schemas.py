"""The form that is asked of each optimizer reply, and that it is the one our parsers read."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from scripted_run import Models, ScriptedRun, make_plan
from strict_schema import faults

from skillopt.domain.changes import SUGGESTION_TYPES
from skillopt.domain.edits import OPS
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.jobs import OPTIMIZE_STAGES, OptimizeSpec, OptimizeStage
from skillopt.domain.reply_schema import ReplySchema, decode_schema
from skillopt.domain.spec import Settings, UpdateMode
from skillopt.errors import StateCorrupt
from skillopt.loop.jobs import JobFactory
from skillopt.loop.replies import (
    CHANGES_KEY,
    ProposedEdit,
    ProposedRewrite,
    ProposedSuggestion,
    parse_analyst,
    parse_learning_rate,
    parse_merge,
    parse_meta_skill,
    parse_notes,
    parse_rank,
    parse_rewrite,
    parse_slow_update,
    reply_schema,
)

MODES: tuple[UpdateMode, ...] = get_args(UpdateMode)
#: What strict servers understand; they refuse a schema with any other word.
KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "enum"}
REFLECTING: tuple[OptimizeStage, ...] = ("reflect_failure", "reflect_success", "reflect_contrast")


def settings(mode: UpdateMode = "patch", *, notes: bool = False, both: bool = False) -> Settings:
    optimizer = {"skill_update_mode": mode, "use_skill_aware_reflection": notes}
    evolve = "both" if both else "skill"
    return Settings.model_validate({"optimizer": optimizer, "evolve": evolve})


def every_settings() -> Iterator[Settings]:
    for mode, notes, both in itertools.product(MODES, (False, True), (False, True)):
        if mode == "patch" or not both:
            yield settings(mode, notes=notes, both=both)


EVERY = [
    pytest.param(stage, each, id=f"{stage}-{number}")
    for number, each in enumerate(every_settings())
    for stage in OPTIMIZE_STAGES
]


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for part in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
        yield from objects(part)


# --- every schema -------------------------------------------------------------------------------


@pytest.mark.parametrize(("stage", "each"), EVERY)
def test_a_strict_server_takes_every_schema(stage: OptimizeStage, each: Settings) -> None:
    schema = reply_schema(stage, each)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", schema.name)
    assert schema.body["type"] == "object"
    for part in objects(schema.body):
        assert part.keys() <= KEYWORDS
        if part["type"] == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"]) != []
        assert ("items" in part) == (part["type"] == "array")


@pytest.mark.parametrize(("stage", "each"), EVERY)
def test_a_schema_is_stored_and_read_with_its_fields_in_order(
    stage: OptimizeStage, each: Settings
) -> None:
    schema = reply_schema(stage, each)
    again = decode_schema(schema.encoded)
    assert again == schema
    assert again.encoded == schema.encoded
    assert json.dumps(again.body) == json.dumps(schema.body), "order is part of it"


@pytest.mark.parametrize("encoded", [b"", b"[]", b'{"name": "x"}'])
def test_what_is_no_schema_is_not_read_as_one(encoded: bytes) -> None:
    with pytest.raises(StateCorrupt, match="reply schema is not understood"):
        decode_schema(encoded)


def test_a_model_reasons_before_it_lists_changes() -> None:
    stages: tuple[OptimizeStage, ...] = ("reflect_failure", "merge")
    for stage in stages:
        body = reply_schema(stage, settings()).body
        patch = body["properties"].get("patch", body)
        assert list(patch["properties"]) == ["reasoning", "edits"]


# --- the settings decide ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_changes_have_the_form_of_the_update_mode(mode: UpdateMode) -> None:
    models: dict[UpdateMode, tuple[Any, set[str]]] = {
        "patch": (ProposedEdit, {"document"}),
        "rewrite_from_suggestions": (ProposedSuggestion, set()),
        "full_rewrite_minibatch": (ProposedRewrite, set()),
    }
    model, left_out = models[mode]
    stages: tuple[OptimizeStage, ...] = (*REFLECTING, "merge")
    for stage in stages:
        schema = reply_schema(stage, settings(mode))
        assert schema.name == f"{stage}-{mode}"
        body = schema.body["properties"].get("patch", schema.body)
        row = set(body["properties"][CHANGES_KEY[mode]]["items"]["properties"])
        sources = {"support_count", "source_type"} if stage == "merge" else set()
        assert row == model.model_fields.keys() - left_out | sources


def test_an_edit_says_which_document_only_if_there_are_two() -> None:
    row = reply_schema("merge", settings(both=True)).body["properties"]["edits"]["items"]
    assert row["properties"]["document"]["enum"] == ["skill", "memory"]


def test_reminders_are_asked_of_analysts_that_the_prompt_asks_for_them() -> None:
    every = settings(notes=True)
    failures = every.model_copy(
        update={
            "optimizer": every.optimizer.model_copy(
                update={"skill_aware_appendix_source": "failure_only"}
            )
        }
    )
    for each, wanted in (
        (settings(), ()),
        (every, REFLECTING),
        (failures, ("reflect_failure", "reflect_contrast")),
    ):
        asked = [
            stage
            for stage in REFLECTING
            if "appendix_notes" in reply_schema(stage, each).body["required"]
        ]
        assert asked == list(wanted)


# --- replies ------------------------------------------------------------------------------------

ROWS: dict[UpdateMode, list[dict[str, Any]]] = {
    "patch": [
        {"op": op, "target": "t" * (op != "append"), "content": "c" * (op != "delete")}
        for op in OPS
    ],
    "rewrite_from_suggestions": [
        {"type": kind, "title": "", "motivation": "", "instruction": "Say it.",
         "priority_hint": hint}
        for kind in SUGGESTION_TYPES for hint in ("high", "medium", "low")
    ],
    "full_rewrite_minibatch": [{"title": "", "change_summary": ["a"], "new_skill": "# New"}],
}  # fmt: skip


def rows(mode: UpdateMode, **more: Any) -> dict[str, Any]:
    return {CHANGES_KEY[mode]: [row | more for row in ROWS[mode]]}


def analyst(stage: OptimizeStage, mode: UpdateMode) -> dict[str, Any]:
    failed = [{"failure_type": "t", "count": 1, "description": "d"}]
    success = stage == "reflect_success"
    seen = {"success_patterns": ["p"]} if success else {"failure_summary": failed}
    return {"batch_size": 2, **seen, "patch": {"reasoning": "r", **rows(mode)}}


ONE_VALUE: dict[OptimizeStage, tuple[dict[str, Any], Callable[[str], Any]]] = {
    "learning_rate": (
        {"learning_rate": 2, "reasoning": "r", "confidence": 0.5, "risk_notes": []},
        lambda text: parse_learning_rate(text, 3),
    ),
    "rank": ({"reasoning": "r", "selected_indices": [1, 0]}, lambda text: parse_rank(text, 3)),
    "rewrite": ({"reasoning": "r", "change_summary": ["c"], "new_skill": "# N"}, parse_rewrite),
    "compress": ({"reasoning": "r", "change_summary": [], "new_skill": "# N"}, parse_rewrite),
    "consolidate": ({"appendix_notes": ["n"]}, parse_notes),
    "slow_update": ({"reasoning": "r", "slow_update_content": "g"}, parse_slow_update),
    "meta_skill": ({"reasoning": "r", "meta_skill_content": "g"}, parse_meta_skill),
}


def accepted(schema: ReplySchema, reply: dict[str, Any], parse: Callable[[str], Any]) -> Any:
    """Check that a reply fits a schema, and not with a field less; give what is read of it."""
    assert list(faults(reply, schema.body)) == []
    assert all(list(faults({**reply, name: None}, schema.body)) for name in reply)
    assert list(faults({**reply, "more": 1}, schema.body))
    read = parse(json.dumps(reply))
    assert read.problems == ()
    return read


@pytest.mark.parametrize("stage", ONE_VALUE)
def test_a_reply_of_one_value_fits_its_schema_and_is_read(stage: OptimizeStage) -> None:
    reply, parse = ONE_VALUE[stage]
    accepted(reply_schema(stage, settings()), reply, parse)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stage", REFLECTING)
def test_an_analysts_reply_fits_its_schema_and_is_read(
    stage: OptimizeStage, mode: UpdateMode
) -> None:
    def parse(text: str) -> Any:
        return parse_analyst(text, mode)

    reply = analyst(stage, mode)
    read = accepted(reply_schema(stage, settings(mode)), reply, parse)
    assert len(read.changes) == len(ROWS[mode])
    reply["appendix_notes"] = ["n"]
    read = accepted(reply_schema(stage, settings(mode, notes=True)), reply, parse)
    assert read.notes == ("n",)


@pytest.mark.parametrize("mode", MODES)
def test_a_merge_fits_its_schema_and_is_read(mode: UpdateMode) -> None:
    more: dict[str, Any] = {"support_count": 2, "source_type": "failure"}
    reply = {"reasoning": "r", **rows(mode, **more)}
    read = accepted(reply_schema("merge", settings(mode)), reply, lambda t: parse_merge(t, mode))
    assert len(read.changes) == len(ROWS[mode])


def test_edits_of_two_documents_fit_their_schema_and_are_read() -> None:
    reply = analyst("reflect_failure", "patch")
    reply["patch"] |= rows("patch", document="memory")
    schema = reply_schema("reflect_failure", settings(both=True))
    read = accepted(schema, reply, lambda text: parse_analyst(text, "patch"))
    assert {change.document for change in read.changes} == {"memory"}


# --- jobs ---------------------------------------------------------------------------------------


def test_every_optimizer_job_names_the_schema_of_its_stage_and_brings_it() -> None:
    plan = make_plan(settings={"optimizer": {"use_slow_update": True, "use_meta_skill": True}})
    run = ScriptedRun(plan, models=Models(garbles=True)).finish()
    asked = [job for job in run.performed.values() if isinstance(job.spec, OptimizeSpec)]
    assert any(job.label.endswith("/ repair") for job in asked)
    for job in asked:
        assert isinstance(job.spec, OptimizeSpec)
        schema = reply_schema(job.spec.stage, plan.settings)
        assert job.spec.reply_schema == sha256_hex(schema.encoded)
        assert schema.encoded in job.blobs
    assert {job.spec.stage for job in asked} >= {"reflect_failure", "merge", "slow_update"}


def test_another_schema_makes_another_job() -> None:
    plans = [make_plan(settings={"optimizer": {"skill_update_mode": mode}}) for mode in MODES]
    jobs = {JobFactory(plan, "run").optimize("merge", (), "label").id for plan in plans}
    assert len(jobs) == len(MODES)
