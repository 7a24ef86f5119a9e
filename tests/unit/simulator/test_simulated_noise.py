"""Several samples of one task: what a document states is followed most of the time."""

from __future__ import annotations

import pytest

from skillopt.simulator.criteria import Criterion
from skillopt.simulator.extraction import reminders
from skillopt.simulator.options import SimulatorOptions

SKILL = '# Notes\n\n- Always include the exact text "Alpha" in the answer.'
TASKS = [f"Write a note on {topic}." for topic in ("tides", "ferries", "bridges", "harbours")]


@pytest.fixture
def followed(ask):
    """Say for each sample of a task whether its answer has the text."""

    def samples(task, options, skill=SKILL, count=100):
        return ["Alpha" in ask(task, skill, options, sample=sample).text for sample in range(count)]

    return samples


def test_without_noise_every_sample_follows_the_rule(followed):
    assert all(followed(TASKS[0], SimulatorOptions(), count=20))


def test_noise_is_the_share_of_samples_that_miss_the_rule(followed):
    options = SimulatorOptions(sample_noise=0.3)
    outcomes = [followed(task, options) for task in TASKS]

    assert all(55 <= sum(outcome) <= 85 for outcome in outcomes)
    assert len({tuple(outcome) for outcome in outcomes}) == len(TASKS)


def test_noise_depends_on_task_sample_and_seed_alone(followed):
    options = SimulatorOptions(sample_noise=0.5)
    other_words = f"{SKILL}\nMind the reader."

    assert followed(TASKS[0], options) == followed(TASKS[0], options)
    assert followed(TASKS[0], options) == followed(TASKS[0], options, other_words)
    assert followed(TASKS[0], options) != followed(
        TASKS[0], SimulatorOptions(sample_noise=0.5, seed=1)
    )


def test_competence_forgets_by_task_and_noise_by_sample(followed):
    unable = [task for n in range(12) for task in [f"{TASKS[0]} ({n})"]
              if not any(followed(task, SimulatorOptions(competence=0.5), count=4))]  # fmt: skip
    able = [task for n in range(12) for task in [f"{TASKS[0]} ({n})"]
            if all(followed(task, SimulatorOptions(competence=0.5), count=4))]  # fmt: skip

    assert len(unable) + len(able) == 12
    assert unable
    assert able


def test_one_rule_is_missed_at_a_time(ask):
    skill = f'{SKILL}\n- Add "Beta".\n- Add "Gamma".'
    options = SimulatorOptions(sample_noise=1.0)
    missed = []
    for sample in range(40):
        answer = ask(TASKS[0], skill, options, sample=sample).text
        missed += [word for word in ("Alpha", "Beta", "Gamma") if word not in answer]

    assert len(missed) == 40
    assert set(missed) == {"Alpha", "Beta", "Gamma"}


def test_a_missed_tool_call_stays_missed_for_the_whole_attempt(ask):
    tools = [{"type": "function", "function": {"name": "lookup"}}]
    system = 'Always call the tool "lookup" first.'
    options = SimulatorOptions(sample_noise=0.5)
    called = {
        ask(TASKS[0], system, options, sample=sample, tools=tools).tool for sample in range(20)
    }

    assert called == {None, "lookup"}


def test_a_reminder_keeps_a_rule_from_being_missed(followed):
    options = SimulatorOptions(sample_noise=1.0)
    note = '- Remember: the exact text "Alpha" must be included.'

    assert not any(followed(TASKS[0], options, count=10))
    assert all(followed(TASKS[0], options, f"{SKILL}\n{note}", count=10))
    assert all(followed(TASKS[0], options, f"{SKILL}\n\nReminders:\n{note}", count=10))


@pytest.mark.parametrize(
    ("kind", "arg"),
    [
        ("contains", "Alpha"), ("not_contains", "Alpha"), ("regex", r"a\d+"), ("section", "A b"),
        ("heading", "A"), ("max_chars", "300"), ("min_chars", "900"), ("no_refusal", ""),
        ("tool", "lookup"), ("exact", ""),
    ],
)  # fmt: skip
def test_the_reminder_of_each_kind_of_rule_is_understood(kind, arg):
    criterion = Criterion(kind, arg)
    two = f"{criterion.reminder} Remember: be kind."

    assert criterion.rules
    assert criterion.is_recalled_in(two)
    assert not criterion.is_recalled_in(criterion.wordings[0])
    assert reminders("Be kind.") == frozenset()
