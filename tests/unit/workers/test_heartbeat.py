"""What keeps a worker's jobs its own, and what tells it to let them go."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from throttle_scopes import FREE, hold
from worker_parts import BACKEND, Port, Workshop, message, rollout, said, until

from skillopt.errors import CallTimeout, StateCorrupt, StateUnavailable
from skillopt.state.ports import Amount, RenewStatus, ThrottleScope, WantStatus, WorkerInfo
from workers.delivery import handle
from workers.heartbeat import Heartbeat
from workers.held import Held, JobStopped, Stop
from workers.tasks import rollout as rollout_task

JOB = rollout()
SCOPE = ThrottleScope(BACKEND.name, "c1", "e1")
INFO = WorkerInfo("w1", BACKEND.name, BACKEND.fingerprint, 4)


def heart(shop: Workshop, **ports: Port) -> Heartbeat:
    return Heartbeat(replace(shop.state, **ports), INFO, 0.01, SCOPE)


def claimed(shop: Workshop, heartbeat: Heartbeat) -> Held:
    shop.want(JOB)
    held = shop.claim(JOB.id, "mine")
    heartbeat.add(held)
    return held


def test_a_renewed_lease_outlives_its_time(shop: Workshop) -> None:
    heartbeat = heart(shop)
    held = claimed(shop, heartbeat)
    for _ in range(5):
        shop.clock.now += 20
        heartbeat._beat()
    assert held.stop is None
    assert shop.want(JOB).status is WantStatus.LEASED


def test_a_job_that_was_removed_is_not_renewed(shop: Workshop) -> None:
    heartbeat = heart(shop)
    heartbeat.remove(claimed(shop, heartbeat))
    shop.clock.now += 20
    heartbeat._beat()
    shop.clock.now += 20
    assert shop.want(JOB).status is WantStatus.SEND


def test_a_lost_lease_stops_the_job_but_not_the_call_that_is_paid_already(shop: Workshop) -> None:
    heartbeat = heart(shop)
    held = claimed(shop, heartbeat)
    cut = threading.Event()
    held.cancel = cut.set
    shop.clock.now += 31
    shop.claim(JOB.id, "another")
    heartbeat._beat()
    assert held.stop is Stop.LOST
    assert held.stopped.is_set()
    assert not cut.is_set()


def test_an_unwanted_job_is_abandoned_and_its_call_cut(shop: Workshop) -> None:
    heartbeat = heart(shop)
    held = claimed(shop, heartbeat)
    cut = threading.Event()
    held.cancel = cut.set
    shop.state.board.unwant(shop.lead, [JOB.id])
    heartbeat._beat()
    assert held.stop is Stop.ABANDONED
    assert cut.is_set()
    assert shop.want(JOB).status is WantStatus.SEND


def test_a_job_that_is_wanted_again_in_between_goes_on(shop: Workshop) -> None:
    class LateNews(Port):
        def renew(self, leases):
            return dict.fromkeys(leases, RenewStatus.UNWANTED)

    heartbeat = heart(shop, claims=LateNews(shop.state.claims))
    held = claimed(shop, heartbeat)
    heartbeat._beat()
    assert held.stop is None
    assert shop.want(JOB).status is WantStatus.LEASED


def test_the_first_reason_to_stop_stays() -> None:
    held = Held("j", "o", "r")
    held.tell_to_stop(Stop.ABANDONED)
    held.tell_to_stop(Stop.DRAINING)
    assert held.stop is Stop.ABANDONED


def test_a_job_claimed_anew_by_the_same_process_stops_its_older_self(shop: Workshop) -> None:
    heartbeat = heart(shop)
    older = claimed(shop, heartbeat)
    shop.clock.now += 31
    newer = shop.claim(JOB.id, "mine too")
    heartbeat.add(newer)
    assert (older.stop, newer.stop) == (Stop.LOST, None)
    heartbeat.remove(older)
    assert heartbeat.held() == [newer]


def test_reservations_of_calls_in_flight_do_not_lapse(shop: Workshop) -> None:
    heartbeat = heart(shop)
    held = claimed(shop, heartbeat)
    held.reservations.add("rsv")
    estimate = Amount(calls=1, tokens=10)
    shop.state.budgets.reserve("r1", "rsv", job=JOB.id, role="target", estimate=estimate)
    for _ in range(4):
        shop.clock.now += 25
        heartbeat._beat()
    spend = shop.state.budgets.spend("r1")
    assert (spend.reserved, spend.unconfirmed) == (estimate, Amount())
    shop.clock.now += 91
    assert shop.state.budgets.spend("r1").unconfirmed == estimate


def test_slots_of_calls_in_flight_do_not_come_back(shop: Workshop) -> None:
    heartbeat, throttle = heart(shop), shop.state.throttle
    held = claimed(shop, heartbeat)
    held.reservations.add("call")
    assert throttle.admit(SCOPE, FREE, "call", tokens=0).granted
    for _ in range(4):
        shop.clock.now += 25
        heartbeat._beat()
    assert throttle.standing(SCOPE, FREE).in_flight == 1
    shop.clock.now += 31
    assert throttle.standing(SCOPE, FREE).in_flight == 0


def test_a_beat_without_the_state_is_missed_and_the_next_one_renews(shop: Workshop) -> None:
    heartbeat = heart(shop, claims=Port(shop.state.claims, renew=[StateUnavailable("away")]))
    claimed(shop, heartbeat)
    shop.clock.now += 20
    heartbeat._beat()
    heartbeat._beat()
    shop.clock.now += 20
    assert shop.want(JOB).status is WantStatus.LEASED


def test_one_bad_value_does_not_stop_the_heart(
    shop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    fleet = Port(shop.state.fleet, announce=[StateCorrupt("odd")] * 100)
    heartbeat = heart(shop, fleet=fleet)
    claimed(shop, heartbeat)
    shop.clock.now += 20
    heartbeat._beat()
    shop.clock.now += 20
    assert shop.want(JOB).status is WantStatus.LEASED
    assert "heartbeat failed" in caplog.text


def test_a_worker_is_announced_while_it_lives(shop: Workshop) -> None:
    heartbeat = heart(shop)
    heartbeat.start()
    assert shop.state.fleet.workers() == [INFO]
    shop.clock.now += 1000
    until(lambda: shop.state.fleet.workers() == [INFO], "the next announcement")
    heartbeat.end()
    assert shop.state.fleet.workers() == []


def test_a_heart_starts_once_and_may_end_before_it_started(shop: Workshop) -> None:
    heartbeat = heart(shop)
    heartbeat.start()
    heartbeat.start()
    assert shop.state.fleet.workers() == [INFO]
    heartbeat.end()
    assert shop.state.fleet.workers() == []
    heart(shop).end()
    assert shop.state.fleet.workers() == []


def test_retiring_without_the_state_is_no_error(shop: Workshop) -> None:
    heartbeat = heart(shop, fleet=Port(shop.state.fleet, retire=[StateUnavailable("away")]))
    heartbeat.start()
    heartbeat.end()
    assert shop.state.fleet.workers() == [INFO], "it expires by itself"


# --- calls that are cut -------------------------------------------------------------------------


def test_an_abandoned_call_is_cancelled_where_it_hangs(shop: Workshop) -> None:
    shop.chat.hangs = True
    shop.want(JOB)
    container = shop.container()
    with ThreadPoolExecutor(1) as pool:
        word = pool.submit(handle, container, "rollout", message(JOB), rollout_task.run)
        assert shop.chat.hanging.wait(10)
        container.heartbeat._beat()
        assert not word.done()
        shop.state.board.unwant(shop.lead, [JOB.id])
        container.heartbeat._beat()
        assert word.result(timeout=10) == "abandoned"
    assert shop.chat.cancelled.wait(10)
    assert not shop.committed(JOB.id)
    assert shop.state.budgets.spend("r1").reserved == Amount()


def test_a_drained_call_is_cancelled_and_its_job_given_back(shop: Workshop) -> None:
    shop.chat.hangs = True
    shop.want(JOB)
    container = shop.container()
    with ThreadPoolExecutor(1) as pool:
        word = pool.submit(handle, container, "rollout", message(JOB), rollout_task.run)
        assert shop.chat.hanging.wait(10)
        [held] = container.heartbeat.held()
        until(lambda: held.cancel is not None, "the way to cut the call")
        held.tell_to_stop(Stop.DRAINING)
        assert word.result(timeout=10) == "draining"
    assert shop.want(JOB).status is WantStatus.SEND


def test_a_job_that_waits_is_woken_to_stop(shop: Workshop) -> None:
    hold(shop.state, "c1", 15.0)
    shop.want(JOB)
    container = shop.container()
    with ThreadPoolExecutor(1) as pool:
        word = pool.submit(handle, container, "rollout", message(JOB), rollout_task.run)
        [held] = until(container.heartbeat.held, "the claim")
        held.tell_to_stop(Stop.DRAINING)
        assert word.result(timeout=10) == "draining"
    assert shop.chat.requests == []
    assert sum(shop.state.budgets.spend("r1").calls.values()) == 0


def test_a_call_without_an_answer_is_a_timeout(shop: Workshop) -> None:
    shop.chat.hangs = True
    backend = BACKEND.model_copy(update={"timeout_s": 0.02})
    container = shop.container(backend=backend)
    calls = container.calls_of(Held("j", "o", "r1"), "target")
    with pytest.raises(CallTimeout, match=r"within 0\.02 s"):
        calls.complete(())
    assert len(shop.chat.requests) == 2  # the policy of the workshop allows two tries


def test_a_stopped_job_makes_no_call(shop: Workshop) -> None:
    held = Held("j", "o", "r1")
    held.tell_to_stop(Stop.LOST)
    with pytest.raises(JobStopped):
        shop.container().calls_of(held, "target").complete(())
    assert shop.chat.requests == []


def test_a_stop_that_comes_as_the_call_starts_cuts_it(shop: Workshop) -> None:
    held = Held("j", "o", "r1")
    held.stop = Stop.DRAINING  # told between the last look and the call
    with pytest.raises(JobStopped):
        shop.http.call(asyncio.sleep(60), held, 60)
    assert held.cancel is None


def test_closing_the_loop_cuts_what_is_left(shop: Workshop) -> None:
    other = Workshop()
    other.chat.hangs = True
    held = Held("j", "o", "r1")
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(other.http.call, other.chat.complete(()), held, 60)
        assert other.chat.hanging.wait(10)
        other.close()
        with pytest.raises(JobStopped):
            call.result(timeout=10)
    assert other.chat.cancelled.is_set()


def test_calls_of_many_threads_share_one_loop(shop: Workshop) -> None:
    shop.chat.script = [said("hello")]
    container = shop.container()

    def one(number: int) -> str:
        return container.calls_of(Held(f"j{number}", "o", "r1"), "target").complete(()).text

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, range(64))) == ["hello"] * 64
    assert shop.state.budgets.spend("r1").calls["target"] == 64
