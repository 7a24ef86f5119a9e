"""What an analyst sees of an agent's attempt: its numbered steps, then its answer."""

from __future__ import annotations

from loop_values import Table

from skillopt.domain.item import ExactJudge, Item, TaskPrompt
from skillopt.domain.messages import Message
from skillopt.domain.results import JudgementBody, ReplyBody
from skillopt.loop.attempt_text import AttemptText, seen
from skillopt.loop.evaluate import Attempt

ITEM = Item(id="t", prompt=TaskPrompt(task="Count."), judge=ExactJudge(answer="3"))
STEPS = (
    "Step 1: says\nI look first.",
    'Step 2: uses Bash\n{"command": "ls"}\ngives\na b c',
    "It is 4.",
)


class Told(Table):
    """Facts with one conversation."""

    steps: tuple[str, ...] = STEPS

    def messages(self, job: str) -> tuple[Message, ...]:
        asked = (Message(role="system", content="S"), Message(role="user", content="Count."))
        return (*asked, *(Message(role="assistant", content=step) for step in self.steps))


def shown(*, by_agent: bool, steps: tuple[str, ...] = STEPS, tokens: int = 1_000) -> str:
    facts = Told(
        {
            "r": ReplyBody(text="It is 4.", trajectory="0" * 64),
            "j": JudgementBody(hard=0, soft=0, feedback="It is 3."),
        }
    )
    facts.steps = steps
    attempt = Attempt(ITEM, 0, "r", "j")
    return AttemptText(tokens).whole(0, seen(facts, attempt, by_agent=by_agent))


def test_the_steps_of_an_agent_are_shown_in_order_with_the_answer_once():
    text = shown(by_agent=True)
    assert "Conversation:" in text
    places = [text.index(part) for part in (*STEPS, "It is 3.")]
    assert places == sorted(places)
    assert text.count("It is 4.") == 1


def test_an_agent_that_answered_at_once_has_only_an_answer():
    text = shown(by_agent=True, steps=("It is 4.",))
    assert "Answer:" in text and "Conversation:" not in text


def test_many_steps_are_cut_in_the_middle():
    steps = tuple(f"Step {n}: says\n{'word ' * 50}" for n in range(1, 100))
    text = shown(by_agent=True, steps=(*steps, "It is 4."), tokens=500)
    assert len(text) < 500 * 4 + 500
    assert "Step 1: says" in text and "It is 4." in text and "Step 50" not in text


def test_nothing_is_fetched_of_a_plain_answer_to_a_task_without_tools():
    text = shown(by_agent=False)
    assert "Answer:" in text and "Step 1" not in text
