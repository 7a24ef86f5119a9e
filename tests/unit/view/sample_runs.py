"""A small run in events, as the views are shown it."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from producer.records import CallReceipt, RolloutRecord
from producer.summary import Summary, summarize
from skillopt.domain.backend import BackendUse
from skillopt.domain.edits import Edit, EditReport, EditStatus
from skillopt.domain.events import (
    Event,
    Finished,
    Gated,
    Measured,
    Merged,
    Proposed,
    Reflected,
    RunCreated,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.item import ExactJudge, Item, Splits, TaskPrompt
from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.messages import Message
from skillopt.domain.plan import RunPlan
from skillopt.domain.reports import GroupReport
from skillopt.domain.results import CriterionResult
from skillopt.domain.run import RunState
from skillopt.domain.spec import Settings
from skillopt.loop.fold import fold
from skillopt.state.ports import Spend

INITIAL = "# Briefs\n\nWrite a brief.\n"
BETTER = INITIAL + "- End with the line DONE.\n"
WORSE = INITIAL + "- Answer in one word.\n"
#: What a hostile task or model might write.
HOSTILE = "[bold red]boo[/] \x1b[31mred\x1b[0m \x07bell \u202eesrever"


def item(name: str) -> Item:
    return Item(id=name, prompt=TaskPrompt(task=name), judge=ExactJudge(answer="x"))


def plan(name: str = "briefs") -> RunPlan:
    splits = Splits(
        train=(item("t1"), item("t2")),
        val=(item("v1"), item("v2")),
        test=(item("x1"), item("x2")),
    )
    uses = {
        role: BackendUse(role=role, backend="sim", fingerprint="f" * 64)
        for role in ("target", "optimizer")
    }
    return RunPlan(
        name=name,
        settings=Settings(),
        skill=INITIAL,
        splits=splits,
        templates={},
        judge_versions={"exact": 1},
        backends=uses,
    )


def measurement(text: str, split: str, **hard: float | None) -> Measurement:
    items = {
        name: ItemScore(status="missing")
        if value is None
        else ItemScore(status="scored", hard=value, soft=value)
        for name, value in hard.items()
    }
    return Measurement(skill=text_hash(text), split=split, items=items)


def created(of: RunPlan) -> RunCreated:
    return RunCreated(run=of.run_id, name=of.name, plan=of.identity, skill=of.initial_key)


def started(step: int, text: str) -> StepStarted:
    return StepStarted(step=step, epoch=1, skill=text_hash(text), items=("t1", "t2"), edit_budget=4)


def proposed(step: int, parent: str, text: str) -> Proposed:
    report = EditReport(index=0, op="append", status=EditStatus.APPLIED_APPEND)
    return Proposed(
        step=step, parent=text_hash(parent), skill=text_hash(text), text=text, reports=(report,)
    )


def reject(step: int = 1, reason: str = "hard stayed: 0.500 to 0.500 (1 improved, 1 regressed)"):
    return Gated(
        step=step,
        skill=text_hash(WORSE),
        verdict="reject",
        metric="hard",
        candidate_score=0.5,
        current_score=0.5,
        pairs=2,
        improved=("v2",),
        regressed=("v1",),
        reason=reason,
        measurement=measurement(WORSE, "val", v1=0.0, v2=1.0),
    )


def accept(step: int) -> Gated:
    return Gated(
        step=step,
        skill=text_hash(BETTER),
        verdict="accept",
        new_best=True,
        metric="hard",
        candidate_score=1.0,
        current_score=0.5,
        pairs=2,
        improved=("v2",),
        reason="hard rose from 0.500 to 1.000 (1 improved, 0 regressed)",
        measurement=measurement(BETTER, "val", v1=1.0, v2=1.0),
    )


def edit(content: str = "- End with the line DONE.") -> Edit:
    return Edit(op="append", content=content, support=("t1",))


def events(of: RunPlan) -> list[Event]:
    """A rejected, a skipped and an accepted step, then the end."""
    group = GroupReport(
        shard=0,
        kind="failure",
        items=("t1",),
        status="ok",
        summary=(f"missing line ({HOSTILE})",),
        edits=(edit(),),
    )
    reflected = Reflected(
        step=1, batch=measurement(INITIAL, "train", t1=0.0, t2=1.0), groups=(group,)
    )
    return [
        created(of),
        Measured(measurement=measurement(INITIAL, "val", v1=1.0, v2=0.0)),
        started(1, INITIAL),
        reflected,
        Merged(step=1, edits=(edit(),)),
        Selected(step=1, edits=(edit(HOSTILE),), how="all"),
        proposed(1, INITIAL, WORSE),
        reject(1),
        started(2, INITIAL),
        Skipped(step=2, reason="no_change", detail="no edit changed the document"),
        started(3, INITIAL),
        proposed(3, INITIAL, BETTER),
        accept(3),
        Measured(measurement=measurement(BETTER, "test", x1=1.0, x2=1.0)),
        Measured(measurement=measurement(INITIAL, "test", x1=0.0, x2=1.0)),
        Finished(reason="saturated", best=text_hash(BETTER)),
    ]


def state(name: str = "briefs", upto: int | None = None) -> RunState:
    of = plan(name)
    return fold(of, events(of)[:upto])


def summary(of: RunState | None = None, **changes) -> Summary:
    spend = Spend(
        calls={"target": 12, "optimizer": 3},
        input_tokens=1500,
        output_tokens=250,
        micro_usd=12_300,
        executions=15,
        repaid_calls=changes.pop("repaid_calls", 0),
    )
    settings = {"priced": True, "new_calls": None, "warnings": (), **changes}
    return summarize(
        of or state(),
        skill="SKILL.md",
        spend=spend,
        cache_hits=7,
        seconds=8.25,
        run_dir="/runs/briefs-1",
        **settings,
    )


def rollout(**changes) -> RolloutRecord:
    values = {
        "stage": "step 1 / gate",
        "step": 1,
        "outcome": "scored",
        "messages": (
            Message(role="system", content="obey"),
            Message(role="user", content=HOSTILE),
        ),
        "reply": "[link=file:///etc]reply[/link]",
        "finish_reason": "stop",
        "receipt": CallReceipt(
            worker="w1", seconds=1.5, calls=1, input_tokens=10, output_tokens=5, from_cache=False
        ),
        "split": "val",
        "item": "v1",
        "sample": 0,
        "skill": text_hash(WORSE),
        "rollout": "a" * 64,
        "judgement": "b" * 64,
        "hard": 0.0,
        "soft": 0.5,
        "criteria": (
            CriterionResult(name="contains", requirement="contains 'DONE'", passed=False,
                            detail="it does not"),
            CriterionResult(name="length", requirement="at most 50 words", passed=True),
        ),
        "feedback": "it must end with DONE",
        **changes,
    }  # fmt: skip
    return RolloutRecord(**values)


def console(*, terminal: bool = False, encoding: str = "utf-8", width: int = 100) -> Console:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", newline="")
    return Console(
        file=stream,
        force_terminal=terminal,
        width=width,
        height=40,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={"TERM": "xterm-256color"},
    )


def written(to: Console) -> str:
    stream = to.file
    stream.flush()
    return stream.buffer.getvalue().decode(stream.encoding)  # type: ignore[attr-defined]


def shown(*parts: RenderableType, terminal: bool = False, encoding: str = "utf-8") -> str:
    screen = console(terminal=terminal, encoding=encoding)
    for part in parts:
        screen.print(part)
    return written(screen)
