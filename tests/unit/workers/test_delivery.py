"""From a message to a word: claim, run, commit or give back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from worker_parts import Workshop, message, never, raising, reply_runner, rollout

from skillopt.domain.jobs import JudgeSpec
from skillopt.domain.results import InvalidBody, JudgementBody, Receipt
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    BudgetExhausted,
    CallError,
    CallTimeout,
    ConnectionFailed,
    RateLimited,
    ServerFailed,
    UnknownModel,
)
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Claim, ClaimStatus, Want, WantStatus
from skillopt.wire.tasks import OUTCOME_WORDS
from workers.delivery import finished_job, handle

JOB = rollout()


def wanted(shop: Workshop) -> None:
    assert shop.want(JOB).status is WantStatus.SEND


# --- claims -------------------------------------------------------------------------------------


def done(shop: Workshop) -> None:
    wanted(shop)
    assert handle(shop.container(), "rollout", message(JOB), reply_runner()) == "scored"


def busy(shop: Workshop) -> None:
    wanted(shop)
    shop.claim(JOB.id)


def lost_twice(shop: Workshop) -> None:
    for owner in ("first", "second"):
        wanted(shop)
        shop.claim(JOB.id, owner)
        shop.clock.now += 31


def dead(shop: Workshop) -> None:
    lost_twice(shop)
    assert shop.want(JOB).lane == "quarantine"
    shop.state.claims.claim(JOB.id, run="r1", owner="third", lane="quarantine")
    shop.clock.now += 31
    assert shop.want(JOB).status is WantStatus.DEAD


def unknown(shop: Workshop) -> None:
    pass


def unwanted(shop: Workshop) -> None:
    wanted(shop)
    shop.state.board.unwant(shop.lead, [JOB.id])


@pytest.mark.parametrize(
    ("arrange", "word"),
    [
        (done, "cached"),
        (busy, "busy"),
        (lost_twice, "quarantined"),
        (dead, "dead"),
        (unknown, "unknown_job"),
        (unwanted, "abandoned"),
    ],
)
def test_a_job_that_is_not_ours_to_run_ends_in_a_word(shop: Workshop, arrange, word) -> None:
    arrange(shop)
    container = shop.container()
    assert handle(container, "rollout", message(JOB), never) == word
    assert word in OUTCOME_WORDS
    assert container.heartbeat.held() == []


@pytest.mark.parametrize("status", [s for s in ClaimStatus if s is not ClaimStatus.RUN])
def test_every_answer_to_a_claim_has_a_word(shop: Workshop, status: ClaimStatus) -> None:
    class Answering:
        def claim(self, *_, **__):
            return Claim(status)

    container = shop.container(state=replace(shop.state, claims=Answering()))
    assert handle(container, "rollout", message(JOB), never) in OUTCOME_WORDS


def test_a_finished_job_is_committed_and_its_lease_is_gone(shop: Workshop) -> None:
    wanted(shop)
    container = shop.container()
    assert handle(container, "rollout", message(JOB), reply_runner()) == "scored"
    answer = shop.want(JOB)
    assert answer.status is WantStatus.HIT
    assert '"payer":"r1"' in answer.line
    assert container.heartbeat.held() == []
    assert shop.state.budgets.spend("r1").executions == 1


@pytest.mark.parametrize(
    ("runner", "word"),
    [
        (reply_runner("hi"), "scored"),
        (reply_runner("cut", "length"), "scored"),
        (reply_runner("  \n"), "model_failed"),
        (reply_runner("No.", "refusal"), "model_failed"),
    ],
)
def test_the_word_says_what_the_model_did(shop: Workshop, runner, word: str) -> None:
    wanted(shop)
    assert handle(shop.container(), "rollout", message(JOB), runner) == word
    assert word in OUTCOME_WORDS


@pytest.mark.parametrize(
    ("body", "word"),
    [(InvalidBody(reason="filtered"), "invalid"), (JudgementBody(hard=0, soft=0), "scored")],
)
def test_the_word_of_other_results(shop: Workshop, body, word: str) -> None:
    wanted(shop)

    def run(container, spec, told, held):
        return [finished_job(spec.id, body, payer=held.run, receipt=Receipt())]

    assert handle(shop.container(), "rollout", message(JOB), run) == word


# --- refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload",
    [None, "", 7, [], {}, b"\x80", {"version": 99}, message(JOB, job="x"), message(JOB, extra=1)],
)
def test_garbage_is_refused(shop: Workshop, payload) -> None:
    assert handle(shop.container(), "rollout", payload, never) == "refused"


def test_a_message_for_another_backend_is_refused_and_nothing_is_claimed(shop: Workshop) -> None:
    wanted(shop)
    assert handle(shop.container(), "rollout", message(JOB, backend="gpt"), never) == "refused"
    assert shop.state.budgets.spend("r1").executions == 0
    assert shop.want(JOB).status is WantStatus.QUEUED


def assert_given_back(shop: Workshop, job: WantedJob, reason: str) -> float:
    answer = shop.want(job)
    assert answer.status is WantStatus.HELD
    assert answer.reason.startswith(reason), answer.reason
    assert answer.rounds == 1
    assert not shop.committed(job.id)
    return answer.delay_s


def test_a_job_for_another_fingerprint_is_given_back_with_both_values(shop: Workshop) -> None:
    other = rollout(fingerprint="f" * 64)
    shop.want(other)
    container = shop.container()
    assert handle(container, "rollout", message(other), never) == "refused"
    assert_given_back(shop, other, "refused: backend 'sim' differs: the run wants ffffffffffffffff")
    assert container.backend.fingerprint[:16] in shop.want(other).reason


def test_a_job_that_comes_as_another_kind_is_given_back(shop: Workshop) -> None:
    wanted(shop)
    assert handle(shop.container(), "optimize", message(JOB), never) == "refused"
    assert_given_back(shop, JOB, "refused: a rollout job came in a optimize message")


def test_a_judgement_needs_no_fingerprint(shop: Workshop) -> None:
    spec = JudgeSpec(judge="a" * 64, version=1, reply="b" * 64)
    job = WantedJob(spec, role="target", label="judge")
    shop.want(job)
    assert handle(shop.container(), "judge", message(job), reply_runner()) == "scored"


def test_a_spec_that_does_not_hash_to_its_id_is_never_run(shop: Workshop) -> None:
    forged = Want(JOB.id, JOB.spec.encoded + b" ")
    shop.state.board.want(shop.lead, [forged], room=1)
    assert handle(shop.container(), "rollout", message(JOB), never) == "state_corrupt"
    assert "state_corrupt" in OUTCOME_WORDS
    assert not shop.committed(JOB.id)


# --- given back ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        *(RateLimited, ServerFailed, CallTimeout, ConnectionFailed),
        *(AuthFailed, UnknownModel, BadRequest, CallError),
    ],
)
def test_a_failed_call_gives_the_job_back_with_its_code(shop: Workshop, kind) -> None:
    wanted(shop)
    container = shop.container()
    word = handle(container, "rollout", message(JOB), raising(kind("no luck")))
    assert word == kind.code
    assert word in OUTCOME_WORDS
    assert assert_given_back(shop, JOB, f"{kind.code}: no luck") == shop.timing.infra_delay_s
    assert container.heartbeat.held() == []


def test_a_job_is_not_sent_again_before_the_provider_wants_it(shop: Workshop) -> None:
    wanted(shop)
    error = RateLimited("slow down", retry_after_s=120)
    handle(shop.container(), "rollout", message(JOB), raising(error))
    assert assert_given_back(shop, JOB, "rate_limited") == 120


def test_a_failure_is_not_counted_as_a_lost_claim(shop: Workshop) -> None:
    for _ in range(4):
        wanted(shop)
        assert handle(shop.container(), "rollout", message(JOB), raising(ServerFailed())) == (
            "server_error"
        )
        shop.clock.now += 6
    assert shop.want(JOB).lane == "normal"


@pytest.mark.parametrize("error", [ZeroDivisionError("secret text"), KeyError("secret text")])
def test_a_defect_gives_the_job_back_and_is_neither_raised_nor_scored(
    shop: Workshop, error, caplog: pytest.LogCaptureFixture
) -> None:
    wanted(shop)
    assert handle(shop.container(), "rollout", message(JOB), raising(error)) == "error"
    assert_given_back(shop, JOB, f"error: defect: {type(error).__name__}")
    assert "secret" not in shop.want(JOB).reason
    assert "job failed unexpectedly" in caplog.text


def test_a_refused_budget_drops_only_its_run(shop: Workshop) -> None:
    other = shop.lead_of("r2")
    wanted(shop)
    assert shop.want(JOB, other).status is WantStatus.QUEUED
    error = BudgetExhausted("no more calls")
    assert handle(shop.container(), "rollout", message(JOB), raising(error)) == "budget"
    again = shop.want(JOB, other)
    assert (again.status, again.delay_s) == (WantStatus.SEND, 0)
    word = handle(shop.container(), "rollout", message(JOB, run="r2"), reply_runner())
    assert word == "scored"


def test_a_job_whose_only_run_has_no_budget_is_not_wanted_any_more(shop: Workshop) -> None:
    wanted(shop)
    handle(shop.container(), "rollout", message(JOB), raising(BudgetExhausted()))
    assert handle(shop.container(), "rollout", message(JOB), never) == "abandoned"
