"""What holds for a run whatever its optimizer answered."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any, TypeVar

from hostile_models import Given, Hostile
from scripted_run import ScriptedRun

from skillopt.domain.changes import Change, Suggestion
from skillopt.domain.documents import DocumentName
from skillopt.domain.edits import Edit
from skillopt.domain.events import (
    BudgetDecided,
    Event,
    Merged,
    MetaLearned,
    Noted,
    Proposed,
    Reflected,
    Selected,
    Skipped,
    decode_event,
    encode_event,
)
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.messages import decode_messages
from skillopt.domain.notes import notes_in
from skillopt.domain.plan import RunPlan
from skillopt.domain.regions import KEEP, stray_markers
from skillopt.domain.reports import GroupReport
from skillopt.domain.skill import SkillDocument
from skillopt.loop.fold import fold
from skillopt.loop.replies import CHANGES_KEY
from skillopt.loop.sample import epoch_of

E = TypeVar("E", bound=Event)

REPAIR = " / repair"


def check(run: ScriptedRun) -> None:
    assert run.state.finished, run.state.paused
    stored = [decode_event(encode_event(event)) for event in run.events]
    assert fold(run.plan, stored) == run.state
    check_that_protected_parts_stay(run)
    check_that_every_bad_reply_is_recorded(run)
    check_that_nothing_usable_is_lost(run)


# --- protected parts ----------------------------------------------------------------------------


def check_that_protected_parts_stay(run: ScriptedRun) -> None:
    names: tuple[DocumentName, ...] = ("skill", "memory")
    for event in run.events:
        if not isinstance(event, Proposed):
            continue
        before, after = run.state.texts[event.parent], event.documents
        for name in names:
            if name not in run.plan.evolving:
                assert after.of(name) == before.of(name)
            else:
                _check_document(run, event, name, before.of(name), after.of(name))


def _check_document(
    run: ScriptedRun, event: Proposed, name: DocumentName, before: str, after: str
) -> None:
    old, new = SkillDocument.parse(before), SkillDocument.parse(after)
    assert new.render() == after
    assert (new.bom, new.front_matter) == (old.bom, old.front_matter)
    assert stray_markers(after) == ()
    assert not KEEP.search(new.body)
    own: set[str] = set()
    if name == run.plan.primary:
        own = {"APPENDIX"} if event.source == "step" else {"SLOW_UPDATE"}
    for kind in ("FROZEN", "SLOW_UPDATE", "APPENDIX"):
        parts = [[r.render() for r in one.regions if r.name == kind] for one in (old, new)]
        assert len(parts[1]) == 1, f"one {kind} region"
        assert kind in own or parts[0] == parts[1]
    noted = next((one for one in events_of(run, Noted) if one.step == event.step), None)
    if event.source == "slow_update":
        alike = new.segments == old.segments
        assert alike or event.how == "compressed", "guidance changes nothing but its region"
    elif name == run.plan.primary and noted:
        assert notes_in(new.appendix) == noted.notes
    else:
        assert new.appendix == old.appendix


# --- records ------------------------------------------------------------------------------------


def check_that_every_bad_reply_is_recorded(run: ScriptedRun) -> None:
    recorded, given = problems_by_label(run), given_by_label(run)
    for label, replies in given.items():
        told = recorded[label.removesuffix(REPAIR)]
        for reply, error in replies:
            assert (reply.fate == "usable") or any(told), (label, reply.spoilt)
            if label.endswith(REPAIR):
                assert any(error in problem for problem in told), (label, error)
                if reply.fate == "unusable":
                    assert any("asked again" in problem for problem in told), label
        if not label.endswith(REPAIR):
            refused = [reply for reply, _ in replies if reply.fate == "unusable"]
            assert len(given.get(label + REPAIR, ())) == len(refused), label


def given_by_label(run: ScriptedRun) -> dict[str, list[tuple[Given, str]]]:
    """Give the replies to the prompts of each label, with what a repair was told was wrong."""
    models = run.models
    assert isinstance(models, Hostile)
    found: dict[str, list[tuple[Given, str]]] = defaultdict(list)
    for job in run.performed.values():
        if isinstance(job.spec, OptimizeSpec):
            messages = decode_messages(job.blobs[0])
            assert len(messages) == (4 if job.label.endswith(REPAIR) else 2), "one repair, no more"
            error = messages[-1].content.removeprefix("Not usable: ")
            found[job.label].append((models.given[job.id], error))
    return found


def problems_by_label(run: ScriptedRun) -> dict[str, list[str]]:
    """Give what the events say went wrong, by the labels of the calls they tell of."""
    found: dict[str, list[str]] = defaultdict(list)
    for event in run.events:
        for label, problem in _told_by(run.plan, event):
            found[label].append(problem)
    return found


def _told_by(plan: RunPlan, event: Event) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    match event:
        case Reflected():
            found = [(_label(event.step, group), group.problem) for group in event.groups]
        case Merged():
            start = f"step {event.step} / merge"
            found = [(f"{start} {one.branch} {one.level}", one.problem) for one in event.merges]
        case BudgetDecided():
            found = [(f"step {event.step} / learning rate", event.problem)]
        case Selected():
            found = [(f"step {event.step} / rank", event.problem)]
        case Noted():
            found = [(f"step {event.step} / consolidate", event.problem)]
        case MetaLearned():
            found = [(f"epoch {event.epoch} / meta skill", event.problem)]
        case Proposed() | Skipped():
            told = event.problem if isinstance(event, Proposed) else event.detail
            if event.source == "slow_update":
                stages = ("slow update", "compress")
                epoch = epoch_of(plan, event.step)
                found = [(f"epoch {epoch} / {stage}", told) for stage in stages]
            else:
                stages = ("rewrite", "compress")
                found = [(f"step {event.step} / {stage}", told) for stage in stages]
    return found


def _label(step: int, group: GroupReport) -> str:
    return f"step {step} / reflect {group.kind} {group.shard}"


# --- changes ------------------------------------------------------------------------------------


def check_that_nothing_usable_is_lost(run: ScriptedRun) -> None:
    given, whole = given_by_label(run), run.plan.settings.optimizer.skill_update_mode
    for step in run.state.steps:
        if step.reflected is None or step.merged is None or step.selected is None:
            continue
        number, kept = step.started.step, [_wording(one) for one in step.merged.edits]
        for group in step.reflected.groups:
            proposed = [_wording(one) for one in group.edits]
            expected = _usable(given, _label(number, group))[: step.started.edit_budget]
            for rule in expected:
                assert any(rule in text for text in proposed), (number, group, rule)
            if whole != "full_rewrite_minibatch":
                assert all(any(rule in text for text in kept) for rule in expected)
        assert bool(kept) == any(group.edits for group in step.reflected.groups)
        assert bool(step.selected.edits) == bool(kept and step.edit_budget != 0)
        ended = step.proposed or step.skipped
        if whole == "patch" and ended:
            assert len(ended.reports) == len(step.selected.edits)
            for edit, report in zip(step.selected.edits, ended.reports, strict=True):
                assert report.applied or not _wording(edit).startswith("Always say")


def _usable(given: dict[str, list[tuple[Given, str]]], label: str) -> list[str]:
    """Give what a group's analyst said that must not be lost: its last reply that can be used, or
    else the rows that stand whole in a broken one.
    """
    replies = [one for name in (label, label + REPAIR) for one, _ in given.get(name, [])][::-1]
    for reply in replies:
        if reply.fate != "unusable":
            return [_text_of(row) for row in _rows(reply)]
    for reply in replies:
        whole = [_text_of(row) for row in _rows(reply) if json.dumps(row) in reply.text]
        if whole:
            return whole
    return []


def _rows(reply: Given) -> list[dict[str, Any]]:
    patch = reply.meant["patch"]
    return [row for key in CHANGES_KEY.values() for row in patch.get(key, [])]


def _text_of(row: dict[str, Any]) -> str:
    return str(row.get("content") or row.get("instruction") or row["new_skill"])


def _wording(change: Change) -> str:
    if isinstance(change, Edit):
        return change.content
    return change.instruction if isinstance(change, Suggestion) else change.new_skill


def events_of(run: ScriptedRun, kind: type[E]) -> list[E]:
    return [event for event in run.events if isinstance(event, kind)]
