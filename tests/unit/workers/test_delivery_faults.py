"""Jobs that are told to stop, and a state that is away or refuses: nothing paid for is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from worker_parts import AWAY, Port, Workshop, message, raising, reply_runner, rollout

from skillopt.errors import ServerFailed, StateCorrupt, StateError
from skillopt.state.ports import WantStatus
from skillopt.wire.tasks import OUTCOME_WORDS
from workers.delivery import handle
from workers.held import JobStopped, Stop

JOB = rollout()


def wanted(shop: Workshop) -> None:
    assert shop.want(JOB).status is WantStatus.SEND


def assert_given_back(shop: Workshop, reason: str) -> None:
    answer = shop.want(JOB)
    assert answer.status is WantStatus.HELD
    assert answer.reason.startswith(reason), answer.reason
    assert not shop.committed(JOB.id)


# --- stopped ------------------------------------------------------------------------------------


def test_a_drained_job_is_given_back_at_once_and_unharmed(shop: Workshop) -> None:
    wanted(shop)
    word = handle(shop.container(), "rollout", message(JOB), raising(JobStopped(Stop.DRAINING)))
    assert word == "draining"
    again = shop.want(JOB)
    assert again.status is WantStatus.SEND
    assert (again.rounds, again.lane) == (0, "normal")


@pytest.mark.parametrize("why", [Stop.LOST, Stop.ABANDONED])
def test_a_job_that_is_no_longer_ours_is_left_alone(shop: Workshop, why: Stop) -> None:
    wanted(shop)

    def run(container, spec, told, held):
        shop.clock.now += 31
        shop.claim(JOB.id, "the new owner")
        raise JobStopped(why)

    assert handle(shop.container(), "rollout", message(JOB), run) == str(why)
    assert str(why) in OUTCOME_WORDS
    assert shop.want(JOB).status is WantStatus.LEASED


def test_a_result_of_a_lost_lease_is_still_offered(shop: Workshop) -> None:
    wanted(shop)

    def run(container, spec, told, held):
        shop.clock.now += 31
        shop.claim(JOB.id, "the new owner")
        held.tell_to_stop(Stop.LOST)
        return reply_runner("paid for")(container, spec, told, held)

    assert handle(shop.container(), "rollout", message(JOB), run) == "scored"
    assert "paid for" in shop.state.results.get([JOB.id])[JOB.id].body


# --- the state is away --------------------------------------------------------------------------


def test_a_paid_reply_is_kept_until_the_state_is_back(shop: Workshop) -> None:
    wanted(shop)
    ran = []

    def run(container, spec, told, held):
        ran.append(spec.id)
        return reply_runner()(container, spec, told, held)

    assert handle(shop.with_claims(commit=AWAY), "rollout", message(JOB), run) == "scored"
    assert ran == [JOB.id]
    assert shop.committed(JOB.id)


def test_leases_are_renewed_while_a_commit_waits(shop: Workshop) -> None:
    wanted(shop)

    class SlowCommit(Port):
        def commit(self, finished, *, owner):
            for _ in range(5):
                shop.clock.now += 20
                container.heartbeat._beat()
            return shop.state.claims.commit(finished, owner=owner)

    container = shop.container(state=replace(shop.state, claims=SlowCommit(shop.state.claims)))
    assert handle(container, "rollout", message(JOB), reply_runner()) == "scored"
    assert shop.state.budgets.spend("r1").executions == 1


def test_claims_and_releases_wait_for_the_state(shop: Workshop) -> None:
    wanted(shop)
    container = shop.with_claims(claim=AWAY, release=AWAY)
    assert handle(container, "rollout", message(JOB), raising(ServerFailed())) == "server_error"
    assert_given_back(shop, "server_error")


@pytest.mark.parametrize("error", [StateCorrupt("odd"), StateError("odd")])
@pytest.mark.parametrize("operation", ["claim", "release"])
def test_a_state_that_refuses_is_a_word_and_no_exception(
    shop: Workshop, operation: str, error: StateError
) -> None:
    wanted(shop)
    container = shop.with_claims(**{operation: [error]})
    assert handle(container, "rollout", message(JOB), raising(ServerFailed())) == "error"
    assert container.heartbeat.held() == []


@pytest.mark.parametrize(
    ("error", "word"), [(StateCorrupt("odd"), "state_corrupt"), (StateError("odd"), "error")]
)
def test_a_result_that_cannot_be_stored_gives_the_job_back(shop: Workshop, error, word) -> None:
    wanted(shop)
    container = shop.with_claims(commit=[error])
    assert handle(container, "rollout", message(JOB), reply_runner()) == word
    assert_given_back(shop, word)
