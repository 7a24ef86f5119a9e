"""What the tests of known weaknesses share: models with scripted replies, and ways to look at a
run from outside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fleet_double import Bench, Mirror
from scripted_models import luck, sections, stage_of
from scripted_run import Models, ScriptedRun, item, make_plan

from producer.facts import LedgerFacts
from producer.summary import Summary, summarize
from skillopt.domain.documents import Documents
from skillopt.domain.events import Event, decode_event
from skillopt.domain.item import ExactJudge, Item, Splits, Tool
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.measurement import Measurement
from skillopt.domain.messages import Message, ToolCall, decode_messages, encode_messages
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import Body, ReplyBody
from skillopt.domain.run import RunState
from skillopt.loop.fold import fold
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import LogEntry, Spend

E = TypeVar("E")
Reply = str | dict[str, Any] | Callable[[dict[str, str]], str | dict[str, Any]]

#: Decisions after which a run that does not end has lost its way.
MOST_DECISIONS = 3_000
#: Events that no run of these tests has.
MOST_EVENTS = 300


@dataclass
class Scripted(Models):
    """Models whose replies to some stages are given, by the beginning of the stage's name.

    A callable is handed the sections of the prompt.
    """

    replies: Mapping[str, Reply] = field(default_factory=dict)

    def optimize(self, messages: tuple[Message, ...]) -> str:
        stage = stage_of(messages)
        for start, reply in self.replies.items():
            if stage.startswith(start):
                said = reply(sections(messages[1].content)) if callable(reply) else reply
                return said if isinstance(said, str) else json.dumps(said)
        return super().optimize(messages)


@dataclass
class ToolUser(Models):
    """A target that calls a tool and answers with a text of its own choice."""

    said_at_last: str = ""

    def attempt(self, spec, blobs) -> Body:
        body = super().attempt(spec, blobs)
        assert isinstance(body, ReplyBody)
        call = ToolCall(id="c1", name="search", arguments=f'{{"sample": {spec.sample}}}')
        talk = (
            Message(role="system", content=blobs.read(spec.skill).decode()),
            Message(role="user", content=blobs.read(spec.prompt).decode()),
            Message(role="assistant", content="", tool_calls=(call,)),
            Message(role="tool", content=self.said_at_last, tool_call_id="c1"),
        )
        text = f"{body.text}\n{self.said_at_last}"
        return body.model_copy(
            update={"text": text, "trajectory": blobs.put(encode_messages(talk))}
        )


def with_tools(items: Sequence[Item]) -> tuple[Item, ...]:
    tools = (Tool(name="search"),)
    return tuple(
        one.model_copy(update={"prompt": one.prompt.model_copy(update={"tools": tools})})
        for one in items
    )


def tool_plan() -> RunPlan:
    splits = make_plan().splits
    return make_plan(
        splits=Splits(train=with_tools(splits.train), val=splits.val, test=splits.test)
    )


def patch(*edits: Any, **more: Any) -> dict[str, Any]:
    """Give an analyst's reply with these rows as its edits."""
    return {"batch_size": 1, "patch": {"reasoning": "so", "edits": list(edits)}, **more}


def append(content: str) -> dict[str, str]:
    return {"op": "append", "target": "", "content": content}


def words_plan(
    train: Sequence[str], val: Sequence[str], test: Sequence[str] = ("alpha",), **changes: Any
) -> RunPlan:
    """A plan whose tasks want these words said."""
    splits = Splits(
        train=tuple(item(f"train-{n}-{word}", word) for n, word in enumerate(train)),
        val=tuple(item(f"val-{n}-{word}", word) for n, word in enumerate(val)),
        test=tuple(item(f"test-{n}-{word}", word) for n, word in enumerate(test)),
    )
    return make_plan(splits=splits, **changes)


def finish(run: ScriptedRun) -> ScriptedRun:
    """Drive a run to its end; one that has none fails."""
    for _ in range(MOST_DECISIONS):
        if not run.advance():
            return run
    raise AssertionError(f"the run does not end: {[event.type for event in run.events[-5:]]}")


def of_type(run: ScriptedRun, kind: type[E]) -> list[E]:
    return [event for event in run.events if isinstance(event, kind)]


def states(run: ScriptedRun) -> list[RunState]:
    """Give the state after each event of the log."""
    return [fold(run.plan, run.events[:length]) for length in range(1, len(run.events) + 1)]


def resumed(plan: RunPlan, events: Sequence[Event], **more: Any) -> ScriptedRun:
    """Give another process that knows the log and nothing else."""
    successor = ScriptedRun(plan, **more)
    successor.events = list(events)
    successor.state = fold(plan, events)
    return successor


# --- what was asked for ---------------------------------------------------------------------------


def labelled(run: ScriptedRun, *parts: str) -> list[WantedJob]:
    """Give the jobs that were performed and have all these parts in their label, in order."""
    return [job for job in run.performed.values() if all(part in job.label for part in parts)]


def prompts(run: ScriptedRun, stage: str = "") -> list[str]:
    """Give the user messages that the optimizer was sent for stages of this name, in order."""
    return [
        decode_messages(job.blobs[0])[1].content
        for job in run.performed.values()
        if isinstance(job.spec, OptimizeSpec) and job.spec.stage.startswith(stage)
    ]


def summary_of(run: ScriptedRun) -> Summary:
    """Sum a run up as `run --json` does."""
    return summarize(
        run.state,
        skill="SKILL.md",
        spend=Spend(),
        cache_hits=0,
        seconds=1.0,
        run_dir="runs/x",
        priced=True,
    )


# --- what should come of it -----------------------------------------------------------------------


def earned(run: ScriptedRun, documents: Documents, task: Item, samples: range) -> float:
    """Say what the target really scores at a task with these documents."""
    models = run.models or Models()
    told = "\n".join(filter(None, [documents.skill, documents.memory]))
    assert isinstance(task.judge, ExactJudge)
    passed = [
        task.judge.answer
        in models.said(told, task.prompt.task, luck(task.prompt.task, one)).split()
        for one in samples
    ]
    return sum(passed) / len(passed)


def assert_earned(run: ScriptedRun, state: RunState, measurement: Measurement) -> None:
    """Every score of a measurement is the one its own document earns."""
    by_id = {one.id: one for one in run.plan.splits.of(measurement.split)}
    samples = range(run.plan.settings.evaluation.samples)
    documents = state.texts[measurement.skill]
    assert run.plan.key_of(documents) == measurement.skill, "a text changed under its name"
    for name, score in measurement.items.items():
        assert score.hard == earned(run, documents, by_id[name], samples), (measurement.skill, name)


# --- a run on a fleet -----------------------------------------------------------------------------


@dataclass
class StopAt(Mirror):
    """Stops the coordinator once the log has so many events of a type."""

    bench: Bench = field(default_factory=Bench)
    kind: type[Any] = object
    count: int = 1

    def follow(self, entries: Sequence[LogEntry], state: RunState, facts: LedgerFacts) -> None:
        super().follow(entries, state, facts)
        seen = [decode_event(entry.event) for entry in self.bench.state.runs.log(state.run)]
        assert len(seen) < MOST_EVENTS, "the run does not end"
        if sum(isinstance(event, self.kind) for event in seen) >= self.count:
            self.bench.stop.set()


def drive_until(bench: Bench, run: str, kind: type[Any], count: int = 1, owner: str = "c1") -> None:
    """Drive a run until its log has so many events of a type; then its coordinator is gone."""
    usual = bench.mirror
    bench.mirror = StopAt(bench=bench, kind=kind, count=count)
    bench.drive(run, owner)
    bench.mirror = usual
    bench.stop.clear()


def executed(bench: Bench, *parts: str) -> list[str]:
    """Give the labels of the jobs that workers did, those with all these parts in them."""
    labels = [bench.fleet.labels[job] for job in bench.fleet.executed]
    return [label for label in labels if all(part in label for part in parts)]
