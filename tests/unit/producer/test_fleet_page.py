"""The fleet page on a Redis: what waits in the broker's queues, and what holds calls up."""

from __future__ import annotations

from scripted_run import ScriptedRun

from producer.dispatch import Dispatcher
from producer.queue.fleet_page import backend_rows, job_of
from skillopt.domain.backend import Limits
from skillopt.domain.timing import Timing
from skillopt.loop.decide import decide
from skillopt.state.ports import CallEnd, ThrottleScope, Want, WorkerInfo
from skillopt.state.redis.connect import connect
from skillopt.state.urls import broker_url

SCOPE = ThrottleScope("sim", "c", "e")
WORKER = WorkerInfo("sim-1@host", "sim", "f1", capacity=4, credential="c", endpoint="e")


def test_messages_that_nobody_took_are_counted_with_the_age_of_the_oldest(redis_url: str):
    run = ScriptedRun()
    first, second, *_ = decide(run.state, run, run.factory).wanted
    dispatcher = Dispatcher(broker_url(redis_url))
    with connect(redis_url, Timing()) as state:
        lead = state.runs.lead(run.run_id, "c1")
        assert lead is not None
        for job in (first, second):
            state.board.want(lead, [Want(job.id, job.spec.encoded)], room=1)
            dispatcher.send(run.run_id, job, backend="sim", lane="normal")
        [row] = backend_rows(state, ["sim"])
        assert row.queued == 2
        assert row.queue_age_s is not None
        assert 0 <= row.queue_age_s < 60
        [oldest] = state.server.oldest(["cel:b.sim", "cel:b.none"]).values()
        assert job_of(oldest) == first.id
        state.claims.claim(first.id, run=run.run_id, owner="w", lane="normal")
        [row] = backend_rows(state, ["sim"])
        assert row.queue_age_s is None, "its message is a leftover"
    dispatcher.close()


def test_a_message_of_somebody_else_is_no_job():
    for message in (b"", b"[]", b'{"body": 1}', b'{"body": "bm8="}', b'{"body": "W1tdXQ=="}'):
        assert job_of(message) is None


def test_an_endpoint_that_fails_and_calls_that_wait_are_told(redis_url: str):
    timing = Timing(breaker_failures=1)
    with connect(redis_url, timing) as state:
        state.fleet.announce(WORKER)
        assert state.throttle.admit(SCOPE, Limits(), "s1", tokens=1).granted
        [row] = backend_rows(state, [])
        assert (row.in_flight, row.allowed, row.breaker) == (1, None, "closed")
        state.throttle.leave(SCOPE, Limits(), "s1", CallEnd("failed", detail="502"))
        assert not state.throttle.admit(SCOPE, Limits(), "s2", tokens=1).granted
        [row] = backend_rows(state, [])
        assert row.breaker.startswith("open")
        assert row.waiting.startswith("the endpoint of backend 'sim' is down (502)")
