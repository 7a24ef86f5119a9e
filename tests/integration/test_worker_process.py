"""Real worker processes: jobs done once, secrets kept, stops and kills survived."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis
from redis_contents import events_of_celery, stored_values
from worker_fleet import (
    ANSWER_WORD,
    KEY,
    RUN,
    SKILL_WORD,
    TASK_WORD,
    WorkerFleet,
    until,
)

from producer.embedded.redis_binary import find_redis_binary
from skillopt import __version__
from skillopt.domain.results import Receipt
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running
from skillopt.state.ports import Amount, WantStatus, WorkerInfo
from skillopt.state.urls import state_url

MakeFleet = Callable[..., WorkerFleet]


@pytest.fixture
def make_fleet(redis_url: str, tmp_path: Path) -> Iterator[MakeFleet]:
    """Make a fleet with a simulator of its own; its processes end with the test."""
    with ExitStack() as opened:

        def make(url: str = redis_url, environ: dict[str, str] | None = None, **simulator: Any):
            options = SimulatorOptions(**{"api_key": KEY, **simulator})
            provider = opened.enter_context(running(options))
            fleet = WorkerFleet(url, tmp_path, provider, environ or {})
            opened.callback(fleet.close)
            return fleet

        yield make


# --- work ---------------------------------------------------------------------------------------


def test_a_rollout_is_run_and_judged_in_one_go(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    fleet.start()
    job = fleet.rollout()
    assert fleet.ask_for(job).status is WantStatus.SEND
    stored = fleet.result(job)
    judgement = fleet.judgement(job)
    assert judgement is not None, "it is committed in the same script"
    assert fleet.reply(job).text
    assert judgement.hard in (0.0, 1.0)
    assert fleet.want(job).status is WantStatus.HIT
    receipt = Receipt.model_validate_json(stored.receipt)
    assert receipt.worker.startswith("sim-1@")
    assert receipt.calls == 1
    spend = fleet.spend()
    assert (spend.executions, spend.calls["target"], spend.reserved) == (1, 1, Amount())
    assert spend.input_tokens == receipt.input_tokens > 0
    assert fleet.stats()["calls"]["total"] == 1
    until(fleet.queue_is_empty, "the confirmation of the message")


def test_an_optimizer_call_is_run(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    fleet.start()
    job = fleet.optimize()
    fleet.ask_for(job)
    assert fleet.reply(job).trajectory == job.spec.messages
    assert fleet.spend().calls["optimizer"] == 1


def test_a_worker_says_what_it_is(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    fleet.start("7", concurrency=3)
    [info] = fleet.state.fleet.workers()
    assert info == WorkerInfo(
        worker=f"sim-7@{os.uname().nodename}",
        backend="sim",
        fingerprint=fleet.backend.fingerprint,
        capacity=3,
        lane="normal",
        version=__version__,
        credential=info.credential,
        endpoint=info.endpoint,
        limits={"min_concurrency": 1},
    )
    # Hashes, so that others can see how the limits stand without seeing the key or the address.
    for shared in (info.credential, info.endpoint):
        assert re.fullmatch(r"[0-9a-f]{16}", shared), shared


def test_duplicates_in_the_queue_are_run_once(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(latency_s=0.3)
    jobs = [fleet.rollout(number) for number in range(3)]
    for job in jobs:
        fleet.ask_for(job)
        for _ in range(4):
            fleet.send(job)
    fleet.start("1")
    fleet.start("2")
    for job in jobs:
        fleet.result(job)
    until(fleet.queue_is_empty, "the end of the duplicates", *fleet.workers)
    assert fleet.stats()["calls"]["total"] == 3
    assert fleet.spend().executions == 3
    assert fleet.spend().repaid_calls == 0


def test_messages_that_must_not_be_followed_are_refused_and_the_worker_goes_on(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet()
    foreign, good = fleet.rollout(1), fleet.rollout(2)
    fleet.want(foreign)
    payload = {"version": 1, "job": foreign.id, "run": RUN, "backend": "another"}
    app = fleet.dispatcher._app
    for name, args in (
        ("so.rollout", [payload]),
        ("so.rollout", [{**payload, "backend": "sim", "version": 99}]),
        ("so.rollout", []),
        ("so.rollout", [1, 2, 3]),
        ("so.judge", ["garbage"]),
        ("so.unheard_of", [payload]),
    ):
        app.send_task(name, args=args, queue="b.sim")
    app.send_task("so.rollout", args=[payload], queue="b.sim", serializer="yaml")
    fleet.ask_for(good)
    worker = fleet.start()
    fleet.result(good)
    until(fleet.queue_is_empty, "the end of the queue", worker)
    assert fleet.state.results.get([foreign.id]) == {}
    assert sum(fleet.spend().calls.values()) == 1  # a refused message may claim, and pays nothing
    assert "message for backend 'another' reached a worker of 'sim'" in worker.text()
    assert worker.process.poll() is None


# --- secrets ------------------------------------------------------------------------------------


def test_no_key_is_stored_anywhere_and_no_text_is_in_a_message(
    make_fleet: MakeFleet, redis_url: str
) -> None:
    fleet = make_fleet(latency_s=0.5)
    job = fleet.rollout()
    fleet.ask_for(job)
    fleet.ask_for(fleet.optimize())
    waiting = list(stored_values(redis_url))
    worker = fleet.start()
    fleet.in_flight(2)
    running_values = list(stored_values(redis_url))
    fleet.result(job)
    fleet.control(outage_calls=2, outage_kind="500")
    fleet.ask_for(fleet.rollout(2))
    fleet.result(fleet.rollout(2))
    done = list(stored_values(redis_url))

    bodies = [value for name, value in waiting if name == "cel:b.sim"]
    assert any(job.id.encode() in body for body in bodies), "the messages were looked into"
    blobs = [value for name, value in done if name.startswith("so:blob:")]
    assert any(TASK_WORD.encode() in blob for blob in blobs), "the blobs were looked into"
    for name, value in waiting + running_values + done:
        assert KEY.encode() not in value, name
        if name.startswith(("cel:", "_kombu", "unacked")):
            for word in (TASK_WORD, SKILL_WORD, ANSWER_WORD):
                assert word.encode() not in value, name
    assert KEY not in worker.text()


def test_celery_and_flower_see_words_and_no_text(make_fleet: MakeFleet, redis_url: str) -> None:
    fleet = make_fleet()
    with events_of_celery(redis_url) as heard:
        fleet.start()
        fleet.ask_for(fleet.rollout())
        fleet.dispatcher._app.send_task("so.rollout", args=["garbage"], queue="b.sim")
        until(
            lambda: [event["type"] for event in heard()].count("task-succeeded") == 2,
            "the events of both messages",
            *fleet.workers,
        )
        events = heard()
    results = {event["result"] for event in events if event["type"] == "task-succeeded"}
    assert results == {"'scored'", "'refused'"}
    received = [event for event in events if event["type"] == "task-received"]
    assert f"{RUN} / step 1 / rollout / t0 / 0" in {event["args"] for event in received}
    for word in (KEY, TASK_WORD, SKILL_WORD, ANSWER_WORD):
        assert word not in str(events)


def test_a_refused_key_is_named_by_its_error_and_never_shown(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(api_key="another")
    worker = fleet.start()
    job = fleet.rollout()
    fleet.ask_for(job)
    held = until(
        lambda: (a := fleet.want(job)).status is WantStatus.HELD and a, "the refusal", worker
    )
    assert held.reason.startswith("auth: HTTP 401")
    assert KEY not in held.reason
    assert KEY not in worker.text()
    assert fleet.stats()["calls"]["total"] == 1


# --- stops --------------------------------------------------------------------------------------


def test_sigterm_lets_the_call_in_flight_finish(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(latency_s=1.0)
    worker = fleet.start()
    job = fleet.rollout()
    fleet.ask_for(job)
    fleet.in_flight()
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 0
    assert fleet.reply(job).text
    assert fleet.judgement(job) is not None
    assert fleet.state.fleet.workers() == []
    assert fleet.stats()["calls"]["total"] == 1
    assert fleet.queue_is_empty()


def test_sigterm_gives_back_a_call_that_does_not_finish_in_time(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(latency_s=600.0)
    worker = fleet.start(SKILLOPT_TIMING_DRAIN_S="0.5")
    job, waiting = fleet.rollout(1), fleet.rollout(2)
    fleet.ask_for(job)
    fleet.in_flight()
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 0
    again = fleet.want(job)
    assert again.status is WantStatus.SEND, "at once, its lease is not waited for"
    assert (again.rounds, again.lane) == (0, "normal")
    assert again.reason.startswith("draining")
    assert fleet.state.fleet.workers() == []
    until(lambda: fleet.stats()["in_flight"] == 0, "the end of the call")
    assert fleet.spend().reserved == Amount()
    # What comes while nobody is there waits for the next worker.
    fleet.ask_for(waiting)
    fleet.send(job)
    fleet.control(latency_s=0)
    fleet.start("2")
    assert fleet.reply(job).text
    assert fleet.reply(waiting).text


def test_sigterm_ends_an_idle_worker(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    worker = fleet.start()
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 0
    assert fleet.state.fleet.workers() == []


def test_after_sigkill_another_worker_finishes_the_job_and_the_lost_call_is_counted(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(latency_s=600.0)
    first = fleet.start("1")
    job = fleet.rollout()
    fleet.ask_for(job)
    fleet.in_flight()
    first.tell(signal.SIGKILL)
    first.exit_code()
    assert fleet.want(job).status is WantStatus.LEASED
    fleet.control(latency_s=0)
    fleet.start("2")
    stored = fleet.brought(job)
    assert Receipt.model_validate_json(stored.receipt).worker.startswith("sim-2@")
    spend = fleet.spend()
    assert (spend.executions, spend.repaid_calls) == (2, 1)
    # The call of the dead worker is never forgotten: it ends as unconfirmed.
    until(lambda: fleet.spend().unconfirmed.calls == 1, "the lapse of its reservation")
    assert fleet.spend().calls["target"] == 2


def test_a_worker_that_cannot_give_its_jobs_back_leaves_all_the_same(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    binary = find_redis_binary().path
    command = [binary, "--port", "0", "--unixsocket", tmp_path / "r.sock", "--save", ""]
    with subprocess.Popen(
        [*command, "--dir", tmp_path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            until((tmp_path / "r.sock").exists, "the private Redis")
            fleet = make_fleet(f"unix://{tmp_path / 'r.sock'}?db=0", latency_s=600.0)
            worker = fleet.start(SKILLOPT_TIMING_DRAIN_S="0.5")
            fleet.ask_for(fleet.rollout())
            fleet.in_flight()
        finally:
            server.kill()
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 1
    assert "left to their leases" in worker.text()


# --- throttles ----------------------------------------------------------------------------------


def test_after_a_429_all_workers_wait_and_every_job_succeeds(
    make_fleet: MakeFleet, redis_url: str
) -> None:
    fleet = make_fleet(rpm=1, window_s=3.0)
    fleet.start("1", concurrency=2)
    fleet.start("2", concurrency=2)
    jobs = [fleet.rollout(number) for number in range(4)]
    fleet.ask_for(jobs[0])
    fleet.result(jobs[0])
    fleet.ask_for(jobs[1])
    with redis.Redis.from_url(state_url(redis_url)) as client:

        def held() -> bool:
            return bool(client.keys("so:hold:*"))

        until(held, "the hold after the 429", *fleet.workers)
        for job in jobs[2:]:
            fleet.ask_for(job)
        until(lambda: fleet.spend().executions == 4, "the claims of all jobs", *fleet.workers)
        assert held(), "the hold ended before it could be observed"
        while True:
            calls = fleet.stats()["calls"]["total"]
            if not held():
                break
            assert calls == 2
        fleet.control(rpm=None)
    for job in jobs:
        assert fleet.reply(job).text
    assert fleet.stats()["violations"]["rpm"] <= 3
    assert fleet.spend().executions == 4, "no job was given back"
