"""Files that come with a task, from the blobs to the model."""

from __future__ import annotations

import pytest
from worker_parts import Workshop, message, rollout

from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import Attachment, ExactJudge, Item, TaskPrompt
from skillopt.domain.messages import decode_messages
from skillopt.domain.results import BODY
from skillopt.state.ports import WantStatus
from workers import inputs as inputs_module
from workers.delivery import handle
from workers.inputs import Inputs
from workers.tasks import rollout as rollout_task

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
TEXT = b"The code of room 7 is tulip."


def attached(path: str, content: bytes, media_type: str) -> Attachment:
    return Attachment(
        path=path, sha256=sha256_hex(content), media_type=media_type, size=len(content)
    )


ITEM = Item(
    id="t1",
    prompt=TaskPrompt(
        task="Which code?",
        attachments=(
            attached("rooms.txt", TEXT, "text/plain"),
            attached("plan.png", PNG, "image/png"),
        ),
    ),
    judge=ExactJudge(answer="hello"),
)
JOB = rollout(ITEM)


def attempt(shop: Workshop) -> str:
    shop.want(JOB)
    return handle(shop.container(), "rollout", message(JOB), rollout_task.run)


def test_the_model_gets_texts_and_pictures_and_only_their_names_are_kept(shop: Workshop) -> None:
    shop.state.blobs.put([TEXT, PNG])
    assert attempt(shop) == "scored"
    [(_, user)] = shop.chat.requests
    assert f"### rooms.txt\n\n```\n{TEXT.decode()}\n```" in user.content
    assert [image.data for image in user.images] == [PNG]
    body = BODY.validate_json(shop.state.results.get([JOB.id])[JOB.id].body)
    told = decode_messages(shop.state.blobs.get([body.trajectory])[body.trajectory])
    assert told[1].content == user.content
    assert [(image.sha256, image.data) for image in told[1].images] == [(sha256_hex(PNG), b"")]


def test_a_lost_file_costs_no_call_and_is_named(shop: Workshop) -> None:
    shop.state.blobs.put([TEXT])
    assert attempt(shop) == "state_corrupt"
    assert shop.chat.requests == []
    answer = shop.want(JOB)
    assert answer.status is WantStatus.HELD
    assert f"{sha256_hex(PNG)[:16]} is not stored" in answer.reason
    assert "attachments 'rooms.txt', 'plan.png'" in answer.reason
    shop.state.blobs.put([PNG])
    shop.clock.now += 6
    assert attempt(shop) == "scored"


def test_a_process_keeps_no_more_bytes_than_it_may(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs_module, "KEPT_BYTES", 100)
    large, small, other = b"a" * 101, b"b" * 60, b"c" * 50
    names = shop.state.blobs.put([large, small, other])
    inputs = Inputs(shop.state.blobs)
    for name, content in zip(names, (large, small, other), strict=True):
        assert inputs.load([name]) == {name: content}
    assert inputs.load([names[2], names[2]]) == {names[2]: other}
    assert sum(map(len, inputs._kept.values())) == inputs._kept_bytes == 50
