"""What the analyst and the forecast make of files that come with tasks."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_run import item, make_plan

from skillopt.domain.backend import Backend
from skillopt.domain.item import Attachment, Item, Splits
from skillopt.domain.messages import IMAGE_TOKENS, Image, Message
from skillopt.domain.results import JudgementBody, ReplyBody
from skillopt.loop.attempt_text import AttemptText, seen
from skillopt.loop.evaluate import Attempt
from skillopt.loop.forecast import forecast

TEXT = Attachment(path="a.csv", sha256="1" * 64, media_type="text/csv", size=4_000)
PICTURE = Attachment(path="b.png", sha256="2" * 64, media_type="image/png", size=90_000)
REPORT = Attachment(path="c.pdf", sha256="3" * 64, media_type="application/pdf", size=80_000)


def attached(task: Item, *files: Attachment) -> Item:
    prompt = task.prompt.model_copy(update={"attachments": files})
    return task.model_copy(update={"prompt": prompt})


class Facts:
    """One judged attempt with this conversation."""

    def __init__(self, *messages: Message) -> None:
        self._messages = messages

    def line(self, job: str) -> Any:
        return None

    def body(self, job: str) -> Any:
        if job == "judged":
            return JudgementBody(hard=0, soft=0)
        return ReplyBody(text="No idea.", trajectory="t")

    def messages(self, job: str) -> tuple[Message, ...]:
        return self._messages


def written(task: Item, *messages: Message, tokens: int = 4_000) -> str:
    attempt = Attempt(item=task, sample=0, rollout="rolled", judgement="judged")
    return AttemptText(tokens).whole(0, seen(Facts(*messages), attempt))


def test_the_analyst_sees_files_by_name_and_texts_as_the_target_saw_them():
    task = attached(item("t", "alpha"), TEXT, PICTURE)
    shown = f"{task.prompt.text}\n\n## Attachments\n\n### a.csv\n\n```\nx,y\n```"
    image = Image(media_type="image/png", sha256="2" * 64, data=b"\x89PNG")
    told = written(
        task,
        Message(role="system", content="skill"),
        Message(role="user", content=shown, images=(image,)),
        Message(role="assistant", content="No idea."),
    )
    assert "Files that came with it: a.csv (text/csv), b.png (image/png)" in told
    assert "What the target was shown of them:\n~~~~\n## Attachments" in told
    assert "```\nx,y\n```\n~~~~" in told
    assert "Answer:\n~~~~\nNo idea." in told
    assert "skill" not in told
    assert "PNG" not in told


def test_files_that_an_agent_opened_are_named():
    task = attached(item("t", "alpha"), REPORT)
    told = written(task, Message(role="user", content=task.prompt.text))
    assert "Files that came with it: c.pdf (application/pdf)" in told
    assert "was shown of them" not in told


def test_a_task_without_files_is_written_as_before():
    assert "Files" not in written(item("t", "alpha"), Message(role="user", content="x"))


def test_a_long_text_leaves_room_for_the_answer():
    task = attached(item("t", "alpha"), TEXT)
    shown = f"{task.prompt.text}\n\n## Attachments\n\n{'x' * 100_000}"
    told = written(task, Message(role="user", content=shown), tokens=400)
    assert len(told) < 400 * 4 + 400
    assert "characters left out" in told
    assert "No idea." in told


@pytest.mark.parametrize(
    ("kind", "files", "tokens"),
    [
        ("openai_chat", (TEXT,), 1_000),
        ("openai_chat", (TEXT, PICTURE), 1_000 + IMAGE_TOKENS),
        ("claude_cli", (TEXT, REPORT), 0),
    ],
)
def test_the_forecast_counts_what_a_prompt_shows(kind, files, tokens):
    plain = make_plan()
    val = tuple(attached(task, *files) for task in plain.splits.val)
    plan = plain.model_copy(
        update={
            "splits": Splits(train=plain.splits.train, val=val, test=plain.splits.test),
        }
    )
    backends = {"sim": Backend(name="sim", kind=kind, model="m")}
    more = forecast(plan, backends).baseline.input_tokens
    less = forecast(plain, backends).baseline.input_tokens
    assert more - less == len(val) * tokens
