"""Ids of jobs are the addresses of everything ever paid for: a change of one orphans results.

A test that fails here means that the cache of every team is lost with the next version. Change
the expected values only if that is wanted.
"""

from __future__ import annotations

import json

import pytest

from skillopt.domain.backend import Backend, Params
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import ExactJudge, Item, TaskPrompt, Tool
from skillopt.domain.jobs import JudgeSpec, OptimizeSpec, RolloutSpec, decode_spec
from skillopt.domain.messages import Message, ToolCall, encode_messages
from skillopt.domain.results import CriterionResult, InvalidBody, JudgementBody, ReplyBody

A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)
ROLLOUT = RolloutSpec(skill=A, prompt=B, template=C, backend=D)
JUDGE = JudgeSpec(judge=A, version=1, reply=B)
OPTIMIZE = OptimizeSpec(stage="merge", messages=A, backend=B)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (ROLLOUT, "5f25e5e0496afbbd2dae2720a4f6aede93a2da75853e0fd7152ead5b7146c780"),
        (
            ROLLOUT.model_copy(update={"sample": 3}),
            "3fb4f0b1ac2ce7491ef5ff32d28c95c0b679ecdb7cce42589dd110a5d9c37465",
        ),
        (
            ROLLOUT.model_copy(update={"salt": "run-1"}),
            "3e391959bda101df04ea81d9b1b7b06be5b2dfe28967158c307dc94a3862042d",
        ),
        (JUDGE, "9fa6938c015d6bf23b14bf1461a78bf5d199d1e14124dc81ba21e90071cc5204"),
        (OPTIMIZE, "122abfea683d57f31049b355f2e320e896820b9ed9dbe4021e50cb46215be9d7"),
    ],
)
def test_ids_of_jobs(spec, expected: str) -> None:
    fresh = type(spec)(**spec.model_dump())
    assert fresh.id == expected


def test_a_spec_is_stored_as_this() -> None:
    assert json.loads(ROLLOUT.encoded) == {
        "kind": "rollout",
        "env": "tasks",
        "skill": A,
        "prompt": B,
        "template": C,
        "backend": D,
        "sample": 0,
    }
    assert json.loads(JUDGE.encoded) == {"kind": "judge", "judge": A, "version": 1, "reply": B}
    assert json.loads(OPTIMIZE.encoded) == {
        "kind": "optimize",
        "stage": "merge",
        "messages": A,
        "backend": B,
        "sample": 0,
    }


@pytest.mark.parametrize("spec", [ROLLOUT, JUDGE, OPTIMIZE])
def test_a_stored_spec_is_read_back(spec) -> None:
    assert decode_spec(spec.id, spec.encoded) == spec


def test_every_field_changes_the_id() -> None:
    for spec in (ROLLOUT, JUDGE, OPTIMIZE):
        fields = spec.model_dump()
        others = {"sample": 1, "version": 2, "stage": "rank", "layout": "folder"}
        others["params"] = {"seed": 1}
        changed = [
            type(spec)(**{**fields, name: others.get(name, "e" * 64)})
            for name in fields
            if name != "kind"
        ]
        ids = {one.id for one in (spec, *changed)}
        assert len(ids) == len(fields), spec.kind


def test_hashes_of_what_specs_refer_to() -> None:
    prompt = TaskPrompt(
        task="Zähle.", context="c", system="s", tools=(Tool(name="t", parameters={"a": 1}),)
    )
    call = ToolCall(id="1", name="t")
    messages = (
        Message(role="user", content="é"),
        Message(role="assistant", content="", tool_calls=(call,)),
    )
    item = Item(id="x", prompt=prompt, judge=ExactJudge(answer="3"), tags=("t",))
    assert prompt.hash == "bb658f67acf73fcbf67af38ce421fc156a397aaae248f20aa35483640a36a6da"
    assert item.content_hash == "d3ea25e659fee40e677d167d2fc37ff406a9486d77ee0bfd2c5660dc97b5ad4b"
    assert (
        sha256_hex(encode_messages(messages))
        == "89398769cafd80608419b2b31e1330d6b9178cd872ce163b1738cdf688960d9b"
    )


def test_digests_of_results() -> None:
    criterion = CriterionResult(name="n", requirement="r", passed=True)
    reply = ReplyBody(text="t", tools_called=("x",), trajectory=A)
    assert reply.digest == "62a488ba3771c41eb3873f05eb2e199d37944e335969d0dbe239cc2872265ddd"
    assert (
        JudgementBody(hard=1.0, soft=0.5, criteria=(criterion,)).digest
        == "a7912732d51e5c8126d215f4a2c4f7be1b51ddf64149375357973a3cc7ab123f"
    )
    assert (
        InvalidBody(reason="r").digest
        == "3863124e1ffa674b6bb03f100c2791c504af6c8fa50e238d74ef5a6ae91b82ef"
    )


def test_the_fingerprint_of_a_backend_holds_what_changes_its_output_and_nothing_else() -> None:
    backend = Backend(
        name="gpt",
        kind="openai_chat",
        model="m-1",
        params=Params(temperature=0.5, max_output_tokens=10, extra_body={"a": [1]}),
    )
    assert backend.fingerprint == "42d8c0822d31c371487bb0873dd4edfe2828450a4f29787089599f9b1591d5d3"
    same = backend.model_copy(
        update={
            "name": "other",
            "base_url": "https://example.org/v1",
            "api_key_env": "KEY",
            "timeout_s": 1.0,
        }
    )
    assert same.fingerprint == backend.fingerprint
    for field, value in {
        "kind": "openai_compatible",
        "model": "m-2",
        "revision": "2",
        "params": Params(),
    }.items():
        assert backend.model_copy(update={field: value}).fingerprint != backend.fingerprint
