"""Jobs whose calls have parameters or a reply schema of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from worker_parts import BACKEND, Workshop, message, never, rollout, said

from skillopt.domain.backend import Params
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.messages import Message, encode_messages
from skillopt.domain.reply_schema import ReplySchema
from skillopt.loop.jobs import WantedJob
from workers.delivery import handle
from workers.tasks import optimize
from workers.tasks import rollout as rollout_task

PARAMS = Params(temperature=0.2, max_output_tokens=7, extra_body={"top_k": None})
DUMPED = PARAMS.model_dump(mode="json", exclude_none=True)
CHANGED = BACKEND.using(PARAMS).fingerprint
SCHEMA = ReplySchema(name="merge-patch", body={"type": "object", "properties": {"z": {}, "a": {}}})


def attempt(fingerprint: str = CHANGED, params: object = DUMPED) -> WantedJob:
    job = rollout(fingerprint=fingerprint)
    return replace(job, spec=job.spec.model_copy(update={"params": params}))


def merge(schema: bytes = SCHEMA.encoded) -> WantedJob:
    messages = encode_messages((Message(role="user", content="Merge."),))
    spec = OptimizeSpec(
        stage="merge",
        messages=sha256_hex(messages),
        backend=CHANGED,
        params=DUMPED,
        reply_schema=sha256_hex(schema),
    )
    return WantedJob(spec, role="optimizer", label="merge", blobs=(messages, schema))


def test_an_attempt_is_asked_with_the_parameters_of_its_role(shop: Workshop) -> None:
    job = attempt()
    shop.want(job)
    assert handle(shop.container(), "rollout", message(job), rollout_task.run) == "scored"
    assert shop.chat.terms == [(PARAMS, None)]


def test_an_attempt_without_parameters_leaves_them_to_the_backend(shop: Workshop) -> None:
    job = rollout()
    shop.want(job)
    assert handle(shop.container(), "rollout", message(job), rollout_task.run) == "scored"
    assert shop.chat.terms == [(None, None)]


def test_an_optimizer_call_has_its_parameters_and_its_schema_with_the_fields_in_order(
    shop: Workshop,
) -> None:
    job = merge()
    shop.chat.script = [said("{}")]
    shop.want(job)
    assert handle(shop.container(), "optimize", message(job), optimize.run) == "scored"
    [(params, schema)] = shop.chat.terms
    assert (params, schema) == (PARAMS, SCHEMA)
    assert schema is not None
    assert list(schema.body["properties"]) == ["z", "a"]


@pytest.mark.parametrize(
    "job",
    [
        attempt(fingerprint=BACKEND.fingerprint),
        attempt(params={**DUMPED, "temperature": 0.3}),
        attempt(params=None),
    ],
    ids=["the backend's own fingerprint", "other parameters", "no parameters"],
)
def test_parameters_that_do_not_make_the_fingerprint_are_refused(
    shop: Workshop, job: WantedJob
) -> None:
    shop.want(job)
    assert handle(shop.container(), "rollout", message(job), never) == "refused"
    assert "refused: backend 'sim' differs" in shop.want(job).reason
    assert not shop.committed(job.id)


def test_parameters_of_another_version_are_given_back_as_not_understood(shop: Workshop) -> None:
    job = attempt(params={"warmth": 1})
    shop.want(job)
    assert handle(shop.container(), "rollout", message(job), never) == "incompatible"
    assert "the parameters of a job are not understood" in shop.want(job).reason


def test_a_schema_that_is_none_is_given_back_before_any_call(shop: Workshop) -> None:
    job = merge(b"{}")
    shop.want(job)
    assert handle(shop.container(), "optimize", message(job), optimize.run) == "incompatible"
    assert shop.chat.requests == []
