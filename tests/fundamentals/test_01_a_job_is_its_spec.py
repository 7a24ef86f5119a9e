"""1. A job's id is the hash of its spec.

Everything SkillOpt pays for is a *job*: an attempt at a task, a judgement of a reply, a call of
the optimizer. A job is described by a spec, and the spec's hash is its id. Two people who want
the same work done want the same job, whether they know of each other or not.
"""

from __future__ import annotations

import json

import pytest

from skillopt.domain.fingerprint import sha256_hex, text_hash
from skillopt.domain.jobs import RolloutSpec, decode_spec
from skillopt.errors import StateCorrupt

ATTEMPT = RolloutSpec(
    skill=text_hash("# Be brief\n"),
    prompt=text_hash("Summarise the report."),
    template=text_hash("{{skill}}"),
    backend="fingerprint-of-the-model",
)


def test_the_id_is_the_sha256_of_the_canonical_json():
    assert ATTEMPT.id == sha256_hex(ATTEMPT.encoded)
    assert json.loads(ATTEMPT.encoded)["kind"] == "rollout"


def test_equal_specs_are_the_same_job():
    again = RolloutSpec.model_validate(ATTEMPT.model_dump())
    assert again.id == ATTEMPT.id


def test_whatever_can_change_the_result_changes_the_id():
    other_skill = ATTEMPT.model_copy(update={"skill": text_hash("# Be long\n")})
    other_sample = ATTEMPT.model_copy(update={"sample": 1})
    fresh = [RolloutSpec.model_validate(spec.model_dump()) for spec in (other_skill, other_sample)]
    assert len({ATTEMPT.id, *(spec.id for spec in fresh)}) == 3


def test_a_spec_that_does_not_hash_to_its_id_is_refused():
    assert decode_spec(ATTEMPT.id, ATTEMPT.encoded) == ATTEMPT
    with pytest.raises(StateCorrupt):
        decode_spec(ATTEMPT.id, ATTEMPT.encoded.replace(b'"sample":0', b'"sample":7'))
