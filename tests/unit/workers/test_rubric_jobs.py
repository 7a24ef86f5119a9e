"""Judgements by a model: jobs of their own, from the message to what is committed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from scripted_run import make_plan
from worker_parts import BACKEND, SKILL, Workshop, message, said

from skillopt.domain.backend import BackendUse, Params
from skillopt.domain.documents import Documents
from skillopt.domain.item import ExactJudge, Item, RubricJudge, Splits, TaskPrompt
from skillopt.domain.messages import decode_messages
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import BODY, Receipt, ReplyBody
from skillopt.errors import AuthFailed, BudgetExhausted, ContentFiltered, ServerFailed
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.loop.templates import packaged
from skillopt.state.ports import Caps, WantStatus
from workers.delivery import handle
from workers.tasks import judge

TASK = Item(id="t1", prompt=TaskPrompt(task="Greet Ada."), judge=RubricJudge(rubric="It is warm."))
REPLY = ReplyBody(text="Dear Ada")
GOOD = '{"reason": "It is.", "score": 0.9}'


def factory(**judging) -> JobFactory:
    backends = {
        "target": BackendUse(role="target", backend="t", fingerprint="f"),
        "optimizer": BackendUse(role="optimizer", backend="t", fingerprint="f"),
        "judge": BackendUse(
            role="judge",
            backend=BACKEND.name,
            **{"fingerprint": BACKEND.fingerprint, **judging},
        ),
    }
    plan = make_plan(
        backends=backends,
        splits=Splits(train=(TASK,), val=(TASK,)),
        templates=packaged(),
        judge_versions={"rubric": 1},
    )
    return JobFactory(plan, plan.run_id)


def job(reply: ReplyBody = REPLY, **judging) -> WantedJob:
    jobs = factory(**judging)
    return jobs.wanted_judge(jobs.judge(TASK, reply.digest), reply, TASK, "step 1 / gate")


JOB = job()


def judged(shop: Workshop, wanted: WantedJob = JOB) -> str:
    shop.want(wanted)
    return handle(shop.container(), "judge", message(wanted), judge.run)


def stored(shop: Workshop, wanted: WantedJob = JOB):
    return shop.state.results.get([wanted.id])[wanted.id]


def body(shop: Workshop, wanted: WantedJob = JOB):
    return BODY.validate_json(stored(shop, wanted).body)


def test_a_judgement_is_a_call_in_the_role_of_judge(shop: Workshop) -> None:
    shop.chat.script = [said(GOOD)]
    assert judged(shop) == "scored"
    verdict = body(shop)
    assert (verdict.hard, verdict.soft, verdict.feedback) == (1.0, 0.9, "It is.")
    calls = shop.state.budgets.spend("r1").calls
    assert {role: count for role, count in calls.items() if count} == {"judge": 1}
    receipt = Receipt.model_validate_json(stored(shop).receipt)
    assert (receipt.calls, receipt.input_tokens, receipt.output_tokens) == (1, 10, 5)
    assert LedgerLine.model_validate_json(stored(shop).line).by_model is True


def test_what_the_judge_was_asked_and_said_is_kept(shop: Workshop) -> None:
    shop.chat.script = [said("what?"), said(GOOD)]
    judged(shop)
    name = body(shop).trajectory
    messages = decode_messages(shop.state.blobs.get([name])[name])
    assert [one.role for one in messages] == ["system", "user", "assistant", "user", "assistant"]
    assert "It is warm." in messages[1].content
    assert "Dear Ada" in messages[1].content
    assert messages[-1].content == GOOD
    assert Receipt.model_validate_json(stored(shop).receipt).calls == 2
    assert SKILL not in messages[1].content


def test_parameters_of_the_role_and_the_form_are_asked_for(shop: Workshop, monkeypatch) -> None:
    params = Params(temperature=0.0)
    wanted = job(fingerprint=BACKEND.using(params).fingerprint, params=params)
    seen = {}
    complete = shop.chat.complete

    async def spy(messages, **options):
        seen.update(options)
        return await complete(messages, **options)

    monkeypatch.setattr(shop.chat, "complete", spy)
    shop.chat.script = [said(GOOD)]
    assert judged(shop, wanted) == "scored"
    assert seen["params"] == params
    assert seen["schema"].name == "rubric_judgement"
    assert wanted.id != JOB.id


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ([said("hm"), said("hm")], "the judge gave no usable score"),
        ([said("No.", refused=True)], "the judge refused to score the answer"),
        ([ContentFiltered("HTTP 400")], "content filter, on judging"),
    ],
)
def test_a_judge_that_gives_no_score_makes_the_task_invalid(shop, script, reason) -> None:
    shop.chat.script = script
    assert judged(shop) == "invalid"
    assert body(shop).reason.startswith(reason)
    assert body(shop).trajectory in shop.state.blobs.get([body(shop).trajectory])


@pytest.mark.parametrize(
    "reply", [ReplyBody(text=""), ReplyBody(text="I can't.", finish_reason="refusal")]
)
def test_no_answer_is_a_zero_that_costs_no_call(shop: Workshop, reply) -> None:
    wanted = job(reply)
    assert judged(shop, wanted) == "scored"
    assert (body(shop, wanted).hard, body(shop, wanted).soft) == (0.0, 0.0)
    assert shop.chat.requests == []
    assert LedgerLine.model_validate_json(stored(shop, wanted).line).by_model is None


@pytest.mark.parametrize(("error", "word"), [(ServerFailed("down"), "server_error"),
                                             (AuthFailed("401"), "auth")])  # fmt: skip
def test_an_outage_of_the_judge_is_no_score_and_is_tried_again(shop, error, word) -> None:
    shop.chat.script = [error]
    assert judged(shop) == word
    assert not shop.committed(JOB.id)
    assert shop.want(JOB).status is WantStatus.HELD
    shop.clock.now += 60
    shop.chat.script = [said(GOOD)]
    assert judged(shop) == "scored"


def test_the_runs_budget_holds_for_judges(shop: Workshop) -> None:
    shop.state.budgets.set_caps("r1", Caps(calls=1, tokens=None, micro_usd=None))
    shop.chat.script = [said("hm"), said(GOOD)]
    assert judged(shop) == BudgetExhausted.code
    assert not shop.committed(JOB.id)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"version": 2}, "incompatible"),
        ({"backend": "0" * 64}, "refused"),
        ({"params": {"temperature": 1.0}}, "refused"),
    ],
)
def test_a_worker_of_another_version_or_backend_refuses(shop: Workshop, changes, word) -> None:
    spec = JOB.spec.model_copy(update=changes)
    other = replace(JOB, spec=type(JOB.spec).model_validate(spec.model_dump()))
    assert judged(shop, other) == word
    assert shop.chat.requests == []


def test_a_rollout_does_not_carry_a_judge_that_asks_a_model() -> None:
    jobs = factory()
    documents = Documents(skill=SKILL, memory=None)
    wanted = jobs.wanted_rollout(jobs.rollout("k", documents, TASK, 0), documents, TASK, "x")
    assert (wanted.judge, wanted.judge_version, wanted.role) == (None, None, "target")
    assert not any(b"warm" in blob for blob in wanted.blobs)
    assert JOB.role == "judge"
    assert json.loads(JOB.spec.encoded).keys() == {
        "kind", "judge", "version", "reply", "prompt", "template", "backend",
    }  # fmt: skip


def test_a_run_that_shares_no_results_has_judgements_of_its_own() -> None:
    plan = factory()._plan
    settings = plan.settings.model_copy(update={"cache": "refresh"})
    own = JobFactory(plan.model_copy(update={"settings": settings}), "run-7")
    assert own.judge(TASK, REPLY.digest).salt == "run-7"
    local = Item(id="t2", prompt=TASK.prompt, judge=ExactJudge(answer="a"))
    versions = {"rubric": 1, "exact": 1}
    mixed = plan.model_copy(update={"settings": settings, "judge_versions": versions})
    spec = JobFactory(mixed, "run-7").judge(local, REPLY.digest)
    assert json.loads(spec.encoded).keys() == {"kind", "judge", "version", "reply"}
