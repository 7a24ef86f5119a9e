"""A worker that does not understand a job says so to the run that waits, and to nobody else."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from celery import signals
from worker_parts import Workshop, message, never, raising, reply_runner, rollout

from skillopt import __version__
from skillopt.domain.fingerprint import canonical_json, sha256_hex
from skillopt.domain.jobs import JudgeSpec
from skillopt.domain.results import ReplyBody
from skillopt.errors import NotUnderstood, StateUnavailable
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Want, WantStatus
from skillopt.wire.payloads import addressed
from workers.app import create_app
from workers.delivery import handle
from workers.tasks import judge
from workers.tasks import rollout as rollouts

JOB = rollout()
OURS = f"incompatible: a worker of version {__version__} (backend 'sim') refuses: "


def assert_waits_for_another(shop: Workshop, job: WantedJob = JOB) -> str:
    """The job rests for a moment, unharmed, and whoever waits for it knows why."""
    answer = shop.want(job)
    assert answer.status is WantStatus.HELD
    assert (answer.rounds, answer.lane) == (0, "normal")
    assert answer.reason.startswith(OURS), answer.reason
    assert "upgrade it" in answer.reason
    assert not shop.committed(job.id)
    return answer.reason


@pytest.mark.parametrize(
    "changes", [{"version": 2}, {"version": 2, "shard": "a"}, {"priority": 3}, {"lane": "fast"}]
)
def test_a_message_of_a_newer_version_is_refused_in_words_that_reach_the_run(
    shop: Workshop, changes
) -> None:
    shop.want(JOB)
    word = handle(shop.container(), "rollout", message(JOB, **changes), never)
    assert word == "incompatible"
    version = changes.get("version", 1)
    assert f"message of version {version} is not understood" in assert_waits_for_another(shop)


def test_a_worker_that_understands_does_the_job_afterwards(shop: Workshop) -> None:
    shop.want(JOB)
    for _ in range(5):
        assert handle(shop.container(), "rollout", message(JOB, version=2), never) == "incompatible"
        assert_waits_for_another(shop)
        shop.clock.now += shop.timing.infra_delay_s
        assert shop.want(JOB).status is WantStatus.SEND
    assert handle(shop.container(), "rollout", message(JOB), reply_runner()) == "scored"


@pytest.mark.parametrize(
    "payload",
    [
        message(JOB, version=0),
        message(JOB, version="2"),
        message(JOB, version=2, job=JOB.id[:-1]),
        message(JOB, version=2, run="../r1"),
        message(JOB, version=2, backend="other"),
        message(JOB, version=2, job="0" * 64),
        [message(JOB, version=2)],
    ],
)
def test_what_is_not_about_a_job_of_ours_changes_nothing(shop: Workshop, payload) -> None:
    shop.want(JOB)
    assert handle(shop.container(), "rollout", payload, never) == "refused"
    assert shop.want(JOB).status is WantStatus.QUEUED
    assert shop.state.budgets.spend("r1").executions == 0


def test_a_job_that_another_worker_does_is_left_alone(shop: Workshop) -> None:
    shop.want(JOB)
    shop.claim(JOB.id)
    assert handle(shop.container(), "rollout", message(JOB, version=2), never) == "refused"
    assert shop.want(JOB).status is WantStatus.LEASED


def test_a_state_that_is_away_is_not_waited_for(shop: Workshop) -> None:
    shop.want(JOB)

    class Away:
        def claim(self, *_, **__):
            raise StateUnavailable("gone")

    container = shop.container(state=replace(shop.state, claims=Away()))
    assert handle(container, "rollout", message(JOB, version=2), never) == "refused"


# --- jobs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"kind": "distil"}, {"beam": 4}, {"sample": "many"}])
def test_a_spec_of_a_newer_version_is_refused(shop: Workshop, change) -> None:
    spec = canonical_json({**json.loads(JOB.spec.encoded), **change})
    job = sha256_hex(spec)
    shop.state.board.want(shop.lead, [Want(job, spec)], room=1)
    payload = {**message(JOB), "job": job}
    assert handle(shop.container(), "rollout", payload, never) == "incompatible"
    [answer] = shop.state.board.want(shop.lead, [Want(job, spec)], room=1)
    assert answer.reason.startswith(OURS)
    assert "spec of job" in answer.reason
    assert "\n" not in answer.reason


def test_another_judge_version_is_refused_by_name(shop: Workshop) -> None:
    described = canonical_json({"kind": "exact", "answer": "hello"})
    reply = canonical_json(ReplyBody(text="hello").model_dump(mode="json"))
    spec = JudgeSpec(judge=sha256_hex(described), version=2, reply=sha256_hex(reply))
    job = WantedJob(spec, role="target", label="judge", blobs=(described, reply))
    shop.want(job)
    assert handle(shop.container(), "judge", message(job), judge.run) == "incompatible"
    reason = assert_waits_for_another(shop, job)
    assert "pinned to version 2 of judge 'exact', this worker has version 1" in reason


def test_a_template_with_a_slot_of_a_newer_version_is_refused_before_any_call(
    shop: Workshop,
) -> None:
    template = b"{{skill}} {{persona}}"
    spec = JOB.spec.model_copy(update={"template": sha256_hex(template)})
    spec = type(JOB.spec).model_validate(spec.model_dump())
    job = replace(JOB, spec=spec, blobs=(*JOB.blobs, template))
    shop.want(job)
    assert handle(shop.container(), "rollout", message(job), rollouts.run) == "incompatible"
    assert "'{{persona}}', which is not known here" in assert_waits_for_another(shop, job)
    assert shop.chat.requests == []


def test_anything_a_job_finds_of_another_version_is_a_refusal(shop: Workshop) -> None:
    shop.want(JOB)
    word = handle(shop.container(), "rollout", message(JOB), raising(NotUnderstood("odd")))
    assert word == "incompatible"
    assert "odd" in assert_waits_for_another(shop)


# --- kinds of tasks -----------------------------------------------------------------------------


class Consumer:
    def __init__(self, app) -> None:
        self.app = app


def unknown_task(app, body) -> None:
    """Tell of a message of an unregistered task, as Celery's consumer does."""
    sender = Consumer(app)
    signals.task_unknown.send(sender=sender, message=SimpleNamespace(payload=body), name="so.new")


def test_a_kind_of_job_of_a_newer_version_is_refused(shop: Workshop) -> None:
    shop.want(JOB)
    app = create_app(shop.container(), "memory://")
    unknown_task(app, ([message(JOB)], {}, {}))
    assert "kind of the job is not known" in assert_waits_for_another(shop)


@pytest.mark.parametrize("body", [None, "", [], {}, [[]], [None], [{"job": 1}], ([7], {}, {})])
def test_an_unknown_task_that_is_none_of_ours_changes_nothing(shop: Workshop, body) -> None:
    shop.want(JOB)
    app = create_app(shop.container(), "memory://")
    unknown_task(app, body)
    assert shop.want(JOB).status is WantStatus.QUEUED


def test_an_unknown_task_of_another_app_is_not_ours_to_refuse(shop: Workshop) -> None:
    shop.want(JOB)
    create_app(shop.container(), "memory://")
    unknown_task(object(), ([message(JOB)], {}, {}))
    assert shop.want(JOB).status is WantStatus.QUEUED


def test_whom_a_message_is_about_is_read_from_any_version() -> None:
    about = addressed(message(JOB, version=99, anything=[1]))
    assert about is not None
    assert (about.job, about.run, about.backend) == (JOB.id, "r1", "sim")
