"""The three kinds of jobs, from the message to what is committed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from worker_parts import (
    BACKEND,
    ITEM,
    SKILL,
    Port,
    Workshop,
    message,
    never,
    rollout,
    said,
)

from skillopt.domain.fingerprint import canonical_json, sha256_hex
from skillopt.domain.item import ExactJudge, Item, TaskPrompt, Tool
from skillopt.domain.jobs import JudgeSpec, OptimizeSpec
from skillopt.domain.messages import Message, ToolCall, decode_messages, encode_messages
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import BODY, Receipt, ReplyBody
from skillopt.errors import ContentFiltered, ServerFailed
from skillopt.judges import judge_versions
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import WantStatus
from workers.delivery import handle
from workers.tasks import judge, optimize
from workers.tasks import rollout as rollout_task
from workers.tasks.traces import TRAJECTORY_LIMIT

JOB = rollout()


def attempt(shop: Workshop, job: WantedJob = JOB, **changes) -> str:
    shop.want(job)
    return handle(shop.container(), "rollout", message(job, **changes), rollout_task.run)


def body(shop: Workshop, job: str):
    return BODY.validate_json(shop.state.results.get([job])[job].body)


def judgement_of(shop: Workshop, job: WantedJob = JOB) -> JudgeSpec:
    assert job.judge is not None
    assert job.judge_version is not None
    reply = body(shop, job.id).as_judged.digest
    return JudgeSpec(judge=sha256_hex(job.judge), version=job.judge_version, reply=reply)


# --- rollout ------------------------------------------------------------------------------------


def test_a_rollout_and_its_local_judgement_are_committed_together(shop: Workshop) -> None:
    shop.chat.script = [said("hello")]
    claims = Port(shop.state.claims)
    shop.want(JOB)
    container = shop.container(state=replace(shop.state, claims=claims))
    assert handle(container, "rollout", message(JOB), rollout_task.run) == "scored"
    assert claims.calls == ["claim", "commit"]
    assert body(shop, JOB.id).text == "hello"
    assert body(shop, judgement_of(shop).id).hard == 1.0
    assert JOB.id in shop.state.results.of_skill(JOB.spec.skill)


def test_the_ledger_names_what_judges_are_shown_of_a_reply(shop: Workshop) -> None:
    attempt(shop)
    line = LedgerLine.model_validate_json(shop.state.results.get([JOB.id])[JOB.id].line)
    reply = body(shop, JOB.id)
    assert line.digest == reply.digest
    assert line.to_judge == reply.as_judged.digest != reply.digest


def test_what_was_said_is_stored_and_what_it_took_is_on_the_receipt(shop: Workshop) -> None:
    attempt(shop)
    stored = shop.state.results.get([JOB.id])[JOB.id]
    reply = body(shop, JOB.id)
    said_before = decode_messages(shop.state.blobs.get([reply.trajectory])[reply.trajectory])
    assert [one.role for one in said_before] == ["system", "user", "assistant"]
    assert said_before[0].content == SKILL.strip()
    assert said_before[1].content == ITEM.prompt.task
    receipt = Receipt.model_validate_json(stored.receipt)
    assert (receipt.worker, receipt.calls) == ("w1", 1)
    assert (receipt.input_tokens, receipt.output_tokens) == (10, 5)


def test_a_judgement_does_not_depend_on_what_the_rollout_took(shop: Workshop) -> None:
    shop.chat.script = [ServerFailed("once"), said("hello")]
    attempt(shop)
    receipt = Receipt.model_validate_json(shop.state.results.get([JOB.id])[JOB.id].receipt)
    assert receipt.calls == 2
    assert "calls" not in body(shop, JOB.id).model_dump()


@pytest.mark.parametrize(
    "changes",
    [
        {"judge": None},
        {"judge_version": None},
        {"judge_version": 999},
        {"judge": "e" * 64},
    ],
)
def test_a_paid_reply_is_kept_although_it_cannot_be_judged_here(shop: Workshop, changes) -> None:
    assert attempt(shop, **changes) == "scored"
    assert body(shop, JOB.id).text == "hello"
    assert not shop.committed(judgement_of(shop).id)


def test_a_paid_reply_is_kept_although_its_judge_is_damaged(shop: Workshop) -> None:
    [odd] = shop.state.blobs.put([b'{"kind": "unheard of"}'])
    assert attempt(shop, judge=odd) == "scored"
    assert body(shop, JOB.id).text == "hello"


def test_a_filtered_prompt_makes_the_task_invalid(shop: Workshop) -> None:
    shop.chat.script = [ContentFiltered("HTTP 400 content_filter")]
    assert attempt(shop) == "invalid"
    assert body(shop, JOB.id).reason.startswith("content filter")


@pytest.mark.parametrize(
    "reply", [said(""), said("", "content_filter", refused=True), said("no", refused=True)]
)
def test_an_empty_or_refused_answer_is_the_models_own(shop: Workshop, reply) -> None:
    shop.chat.script = [reply]
    attempt(shop, judge=None)
    [line] = [stored.line for stored in shop.state.results.get([JOB.id]).values()]
    assert json.loads(line)["outcome"] == "model_failed"


def test_a_missing_text_costs_no_call_and_is_asked_for_again(shop: Workshop) -> None:
    shop.want(replace(JOB, blobs=JOB.blobs[1:]))
    word = handle(shop.container(), "rollout", message(JOB), rollout_task.run)
    assert word == "state_corrupt"
    assert shop.chat.requests == []
    answer = shop.want(JOB)
    assert answer.status is WantStatus.HELD
    assert f"{JOB.spec.skill[:16]} is not stored" in answer.reason
    shop.clock.now += 6
    assert attempt(shop) == "scored"


def test_tools_are_offered_and_answered(shop: Workshop) -> None:
    prompt = TaskPrompt(task="?", tools=(Tool(name="look", result="42"),))
    job = rollout(Item(id="t", prompt=prompt, judge=ExactJudge(answer="42")))
    call = ToolCall(id="c1", name="look")
    shop.chat.script = [replace(said("", "tool_calls"), tool_calls=(call,)), said("42")]
    assert attempt(shop, job) == "scored"
    assert body(shop, job.id).tools_called == ("look",)
    assert len(shop.chat.requests) == 2


def test_a_long_conversation_is_kept_without_its_middle(shop: Workshop) -> None:
    text = "start " + "x" * (2 * TRAJECTORY_LIMIT) + " end"
    shop.chat.script = [said(text)]
    attempt(shop)
    reply = body(shop, JOB.id)
    stored = shop.state.blobs.get([reply.trajectory])[reply.trajectory]
    assert len(stored) < 1.1 * TRAJECTORY_LIMIT
    kept = decode_messages(stored)[-1].content
    assert kept.startswith("start ")
    assert kept.endswith(" end")
    assert reply.text == text


# --- judge --------------------------------------------------------------------------------------


def judging(version: int | None = None, judge_text: bytes | None = None) -> WantedJob:
    encoded = judge_text or canonical_json(ITEM.judge.model_dump(mode="json"))
    reply = canonical_json(ReplyBody(text="hello").model_dump(mode="json"))
    spec = JudgeSpec(
        judge=sha256_hex(encoded),
        version=version or judge_versions()["exact"],
        reply=sha256_hex(reply),
    )
    return WantedJob(spec, role="target", label="judge", blobs=(encoded, reply))


def test_a_stored_reply_is_judged_without_a_call(shop: Workshop) -> None:
    job = judging()
    shop.want(job)
    assert handle(shop.container(), "judge", message(job), judge.run) == "scored"
    assert body(shop, job.id).hard == 1.0
    assert shop.chat.requests == []


def test_another_version_of_the_judge_is_given_back(shop: Workshop) -> None:
    job = judging(version=999)
    shop.want(job)
    assert handle(shop.container(), "judge", message(job), judge.run) == "incompatible"
    assert "version 999" in shop.want(job).reason


def test_a_judge_that_is_not_understood_is_given_back(shop: Workshop) -> None:
    job = judging(judge_text=b"{}")
    shop.want(job)
    assert handle(shop.container(), "judge", message(job), judge.run) == "incompatible"


# --- optimize -----------------------------------------------------------------------------------


def asking(text: str = "Merge.") -> WantedJob:
    messages = encode_messages((Message(role="user", content=text),))
    spec = OptimizeSpec(
        stage="merge", messages=sha256_hex(messages), backend=BACKEND.fingerprint, sample=2
    )
    return WantedJob(spec, role="optimizer", label="merge", blobs=(messages,))


def test_an_optimizer_call_sends_its_messages_and_keeps_the_reply(shop: Workshop) -> None:
    shop.chat.script = [said('{"edits": []}', "length")]
    job = asking()
    shop.want(job)
    assert handle(shop.container(), "optimize", message(job), optimize.run) == "scored"
    [request] = shop.chat.requests
    assert [(one.role, one.content) for one in request] == [("user", "Merge.")]
    reply = body(shop, job.id)
    assert (reply.text, reply.finish_reason) == ('{"edits": []}', "length")
    assert reply.trajectory == job.spec.messages
    assert shop.state.budgets.spend("r1").calls == {"target": 0, "optimizer": 1, "judge": 0}


@pytest.mark.parametrize(
    ("line", "word"), [(ContentFiltered("no"), "invalid"), (said("", refused=True), "model_failed")]
)
def test_an_optimizer_prompt_that_is_refused(shop: Workshop, line, word: str) -> None:
    shop.chat.script = [line]
    job = asking()
    shop.want(job)
    assert handle(shop.container(), "optimize", message(job), optimize.run) == word


def test_kinds_are_not_mixed_up(shop: Workshop) -> None:
    job = asking()
    shop.want(job)
    assert handle(shop.container(), "rollout", message(job), never) == "refused"
