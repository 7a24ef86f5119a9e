"""The simulator's models without a server between: what a worker would be answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter
from scripted_models import BlobStore, Models

from skillopt.domain.item import Judge, TaskPrompt, Tool
from skillopt.domain.jobs import JobSpec, JudgeSpec, RolloutSpec
from skillopt.domain.messages import Message, ToolCall, decode_messages, encode_messages
from skillopt.domain.results import Body, ReplyBody
from skillopt.domain.skill_folder import read_manifest
from skillopt.envs.tasks import Turn, attempt
from skillopt.judges.model_scorer import Case, Said, judge_by_model
from skillopt.judges.registry import judge, model_scorer
from skillopt.simulator.behaviour import Reply, reply_to
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.request import read_request

_JUDGE: TypeAdapter[Judge] = TypeAdapter(Judge)


@dataclass
class SimulatedModels(Models):
    """Target, judge and optimizer as a worker would ask them of a simulator."""

    options: SimulatorOptions = field(default_factory=SimulatorOptions)

    def answer(self, spec: JobSpec, blobs: BlobStore) -> Body:
        if isinstance(spec, RolloutSpec):
            return self._attempt(spec, blobs)
        if isinstance(spec, JudgeSpec):
            return self._judge(spec, blobs)
        said = self._ask(decode_messages(blobs.read(spec.messages)), spec.sample)
        return ReplyBody(text=said.text, trajectory=spec.messages)

    def _judge(self, spec: JudgeSpec, blobs: BlobStore) -> Body:
        reply = ReplyBody.model_validate_json(blobs.read(spec.reply))
        description = _JUDGE.validate_json(blobs.read(spec.judge))
        scorer = model_scorer(description)
        if scorer is None:
            return judge(description, reply)
        assert spec.prompt is not None
        assert spec.template is not None
        prompt = TaskPrompt.model_validate_json(blobs.read(spec.prompt))
        case = Case(description, blobs.read(spec.template).decode(), prompt, reply)
        judged = judge_by_model(scorer, case, lambda sent: Said(self._ask(sent, 0).text))
        kept = blobs.put(encode_messages(judged.messages)) if judged.messages else None
        return judged.body.model_copy(update={"trajectory": kept})

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

        skill, template = blobs.read(spec.skill), blobs.read(spec.template).decode()
        if spec.layout == "folder":
            skill = blobs.read(read_manifest(skill).text)
        made = attempt(chat, prompt, skill.decode(), template, memory)
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
