"""A whole run in memory whose models are the simulator's, without a server between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scripted_models import BlobStore, Models
from scripted_run import ScriptedRun, make_plan

from skillopt.domain.item import Check, Item, RuleJudge, Splits, TaskPrompt, Tool
from skillopt.domain.jobs import JobSpec, JudgeSpec, RolloutSpec
from skillopt.domain.messages import Message, ToolCall, decode_messages, encode_messages
from skillopt.domain.results import Body, ReplyBody
from skillopt.envs.tasks import Turn, attempt
from skillopt.judges.registry import judge, judge_versions
from skillopt.loop.templates import packaged
from skillopt.simulator.behaviour import Reply, reply_to
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.request import read_request

SKILL = """---
name: notes
description: How notes are written.
---

# Notes

Write a short, clear note. Lead with the answer.

- Never write "Verdict:".

<!-- FROZEN_START -->
Notes are for the council.
<!-- FROZEN_END -->
"""
TOPICS = ("tides", "ferries", "bridges", "harbours", "lamps", "trams", "parks", "markets")
PARTS = (
    Check(op="contains", arg="Verdict:"),
    Check(op="section_present", arg="Key Risks"),
    Check(op="contains", arg="Confidence:"),
    Check(op="max_chars", arg=900),
)


@dataclass
class SimulatedModels(Models):
    """Target, judge and optimizer as a worker would ask them of a simulator."""

    options: SimulatorOptions = field(default_factory=SimulatorOptions)

    def answer(self, spec: JobSpec, blobs: BlobStore) -> Body:
        if isinstance(spec, RolloutSpec):
            return self._attempt(spec, blobs)
        if isinstance(spec, JudgeSpec):
            reply = ReplyBody.model_validate_json(blobs.read(spec.reply))
            return judge(RuleJudge.model_validate_json(blobs.read(spec.judge)), reply)
        said = self._ask(decode_messages(blobs.read(spec.messages)), spec.sample)
        return ReplyBody(text=said.text, trajectory=spec.messages)

    def _attempt(self, spec: RolloutSpec, blobs: BlobStore) -> ReplyBody:
        prompt = TaskPrompt.model_validate_json(blobs.read(spec.prompt))
        memory = blobs.read(spec.memory).decode() if spec.memory else ""

        def chat(messages: Sequence[Message], tools: Sequence[Tool]) -> Turn:
            reply = self._ask(messages, spec.sample, tools)
            calls: tuple[ToolCall, ...] = ()
            if reply.tool is not None:
                calls = (
                    ToolCall(
                        id=f"call_{len(messages)}",
                        name=reply.tool,
                        arguments=reply.tool_arguments,
                    ),
                )
            return Turn(reply.text, reply.finish_reason, tool_calls=calls)

        skill, template = blobs.read(spec.skill).decode(), blobs.read(spec.template).decode()
        made = attempt(chat, prompt, skill, template, memory)
        return ReplyBody(
            text=made.text,
            tools_called=made.tools_called,
            trajectory=blobs.put(encode_messages(made.messages)),
        )

    def _ask(self, messages: Sequence[Message], sample: int, tools: Sequence[Tool] = ()) -> Reply:
        sent = []
        for message in messages:
            entry: dict[str, Any] = {"role": message.role, "content": message.content}
            if message.tool_calls:
                entry["tool_calls"] = [
                    {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
                    for call in message.tool_calls
                ]
            if message.role == "tool":
                entry["tool_call_id"] = message.tool_call_id
            sent.append(entry)
        body: dict[str, Any] = {"model": "sim", "messages": sent, "seed": sample}
        if tools:
            body["tools"] = [
                {"type": "function", "function": {"name": tool.name}} for tool in tools
            ]
        return reply_to(read_request(body, None), self.options)


def note(name: str, checks: Sequence[Check], number: int) -> Item:
    topic = f"{TOPICS[number % len(TOPICS)]} in {name}"
    return Item(
        id=f"{name}-{number}",
        prompt=TaskPrompt(task=f"Write a note on {topic}."),
        judge=RuleJudge(checks=tuple(checks)),
    )


def simulated_run(
    settings: dict[str, Any] | None = None,
    options: SimulatorOptions | None = None,
    *,
    parts: Sequence[Check] = PARTS,
    **plan: Any,
) -> ScriptedRun:
    """Train on notes, each of which is judged by one of `parts`."""
    changed = {
        "train": {"num_epochs": 2, "batch_size": 4},
        "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
        **(settings or {}),
    }
    optimizer = {"learning_rate": 4, "lr_scheduler": "constant", **changed.get("optimizer", {})}
    train = [note("train", [parts[n % len(parts)]], n) for n in range(8)]
    val = [note("val", [part], n) for n, part in enumerate(parts)]
    fields: dict[str, Any] = {
        "settings": {**changed, "optimizer": optimizer},
        "skill": SKILL,
        "splits": Splits(train=tuple(train), val=tuple(val), test=(note("test", parts, 0),)),
        "templates": packaged(),
        "judge_versions": judge_versions(),
        **plan,
    }
    models = SimulatedModels(options=options or SimulatorOptions())
    return ScriptedRun(make_plan(**fields), models=models).finish()


def val_scores(run: ScriptedRun) -> tuple[float, float]:
    """Give the hard val score of the first document and of the best one."""
    measured = run.state.measured
    first, best = (measured[(key, "val")].hard for key in (run.plan.initial_key, run.state.best))
    assert first is not None
    assert best is not None
    return first, best


def stages_asked(run: ScriptedRun) -> set[str]:
    """Name the optimizer stages that a run asked for."""
    specs = [job.spec for job in run.performed.values()]
    return {spec.stage for spec in specs if spec.kind == "optimize"}


def document(run: ScriptedRun) -> str:
    return run.state.texts[run.state.best].skill


__all__ = [
    "PARTS",
    "SKILL",
    "SimulatedModels",
    "document",
    "simulated_run",
    "stages_asked",
    "val_scores",
]
