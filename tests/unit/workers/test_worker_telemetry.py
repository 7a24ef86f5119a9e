"""The figures of a worker, from jobs that it really does."""

from __future__ import annotations

import logging

from prometheus_client import CollectorRegistry
from worker_parts import BACKEND, Workshop, message, rollout, said

from skillopt.domain.backend import Price
from skillopt.errors import RateLimited, ServerFailed
from skillopt.state.ports import Finished
from skillopt.telemetry.log_lines import SubjectFilter, log_about
from workers.delivery import handle
from workers.tasks import rollout as rollout_task
from workers.telemetry import WorkerTelemetry

JOB = rollout()


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, {"backend": "sim", **labels})


def done(shop: Workshop, telemetry: WorkerTelemetry, **changes) -> str:
    shop.want(JOB)
    container = shop.container(state=telemetry.watching(shop.state), **changes)
    return handle(container, "rollout", message(JOB), rollout_task.run)


def test_a_job_is_counted_with_its_calls_tokens_and_waits(shop: Workshop) -> None:
    telemetry = WorkerTelemetry("sim")
    shop.want(JOB)
    shop.clock.now += 2.5
    assert done(shop, telemetry) == "scored"
    figures = telemetry.registry
    assert value(figures, "so_exec_total") == 1
    assert value(figures, "so_commit_total") == 2  # the rollout, and its judgement
    assert value(figures, "so_dup_total") == 0
    assert value(figures, "so_queue_wait_seconds_sum") == 2.5
    assert value(figures, "so_limiter_wait_seconds_count") == 1
    assert value(figures, "so_call_seconds_count", status="ok") == 1
    assert value(figures, "so_tokens_total", dir="in") == 10
    assert value(figures, "so_tokens_total", dir="out") == 5
    assert value(figures, "so_cost_usd_total") == 0


def test_money_is_counted_in_dollars(shop: Workshop) -> None:
    telemetry = WorkerTelemetry("sim")
    priced = BACKEND.model_copy(update={"price": Price(input=100_000, output=200_000)})
    assert done(shop, telemetry, backend=priced) == "scored"
    assert value(telemetry.registry, "so_cost_usd_total") == 2.0


def test_calls_that_fail_are_told_apart(shop: Workshop) -> None:
    telemetry = WorkerTelemetry("sim")
    shop.chat.script = [ServerFailed("down"), said("hello")]
    assert done(shop, telemetry) == "scored"
    assert value(telemetry.registry, "so_call_seconds_count", status="failed") == 1
    assert value(telemetry.registry, "so_call_seconds_count", status="ok") == 1


def test_a_job_that_is_done_already_is_not_begun(shop: Workshop) -> None:
    telemetry = WorkerTelemetry("sim")
    done(shop, telemetry)
    again = shop.container(state=telemetry.watching(shop.state))
    assert handle(again, "rollout", message(JOB), rollout_task.run) == "cached"
    assert value(telemetry.registry, "so_exec_total") == 1


def test_a_second_result_and_a_lost_lease_are_counted(shop: Workshop) -> None:
    telemetry = WorkerTelemetry("sim")
    shop.want(JOB)
    state = telemetry.watching(shop.state)
    claims = state.claims
    claims.claim(JOB.id, run="r1", owner="slow", lane="normal")
    shop.clock.now += shop.timing.lease_s + 1
    shop.want(JOB)
    assert done(shop, telemetry) == "scored"
    assert claims.renew({JOB.id: "slow"})[JOB.id] == "lost"
    assert value(telemetry.registry, "so_lease_lost_total") == 1
    stored = shop.state.results.get([JOB.id])[JOB.id]
    late = Finished(job=JOB.id, line=stored.line, body=stored.body, receipt=stored.receipt)
    assert claims.commit([late], owner="slow") == [False]
    assert value(telemetry.registry, "so_dup_total") == 1


def test_log_lines_of_a_job_are_about_it(shop: Workshop, caplog) -> None:
    telemetry = WorkerTelemetry("sim")
    shop.chat.script = [RateLimited("slow down", retry_after_s=900)]
    caplog.handler.addFilter(SubjectFilter())
    with caplog.at_level(logging.WARNING), log_about(backend="sim"):
        assert done(shop, telemetry) == "rate_limited"
    [record] = [one for one in caplog.records if "given back" in one.message]
    assert (record.run, record.job, record.backend, record.attempt) == ("r1", JOB.id, "sim", 1)
