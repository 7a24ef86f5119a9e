"""Messages: what is understood, and that everything else is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.domain.jobs import JobKind
from skillopt.errors import CallError, SkillOptError, StateCorrupt, WireError
from skillopt.state.ports import ClaimStatus
from skillopt.wire.payloads import TryJob, decode
from skillopt.wire.tasks import DEFAULT_QUEUE, OUTCOME_WORDS, TASK_NAMES, WIRE_VERSION, queue_of

JOB = "ab" * 32
MINIMAL = {"version": 1, "job": JOB, "run": "demo-0123456789ab", "backend": "sim"}


def test_a_message_of_this_version_is_understood() -> None:
    message = decode(MINIMAL)
    assert (message.job, message.run, message.backend) == (JOB, "demo-0123456789ab", "sim")
    assert (message.lane, message.judge, message.judge_version) == ("normal", None, None)


def test_what_is_sent_is_what_is_read() -> None:
    message = TryJob(
        job=JOB, run="r", backend="b", lane="quarantine", judge="cd" * 32, judge_version=3
    )
    sent = json.dumps(message.model_dump(mode="json", exclude_none=True))
    assert decode(json.loads(sent)) == message


def test_the_message_on_the_wire_is_this() -> None:
    """A change here needs a new WIRE_VERSION: workers of the old one are still running."""
    message = TryJob(job=JOB, run="r", backend="b", judge="cd" * 32, judge_version=3)
    assert WIRE_VERSION == 1
    assert message.model_dump(mode="json", exclude_none=True) == {
        "version": 1,
        "job": JOB,
        "run": "r",
        "backend": "b",
        "lane": "normal",
        "judge": "cd" * 32,
        "judge_version": 3,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"version": 0},
        {"version": "1"},
        {"version": None},
        {"job": "AB" * 32},
        {"job": JOB[:-1]},
        {"job": JOB + "\n"},
        {"job": 7},
        {"run": ""},
        {"run": "a/b"},
        {"run": ".hidden"},
        {"run": "r" * 129},
        {"run": "so:run"},
        {"backend": "b\n"},
        {"lane": "fast"},
        {"judge": "x"},
        {"judge_version": "3"},
        {"judge_version": 1.5},
        {"prompt": "a text has no place here"},
    ],
)
def test_anything_unexpected_is_refused(changes) -> None:
    with pytest.raises(WireError):
        decode({**MINIMAL, **changes})


@pytest.mark.parametrize("absent", ["job", "run", "backend"])
def test_a_missing_field_is_refused(absent: str) -> None:
    with pytest.raises(WireError):
        decode({key: value for key, value in MINIMAL.items() if key != absent})


def test_the_refusal_names_the_version_and_repeats_nothing_else() -> None:
    with pytest.raises(WireError, match="version 7 is not understood by version 1") as raised:
        decode({**MINIMAL, "version": 7, "secret": "sk-planted-key"})
    assert "planted" not in str(raised.value)
    with pytest.raises(WireError, match="version unknown") as raised:
        decode({**MINIMAL, "version": "sk-planted-key"})
    assert "planted" not in str(raised.value)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**5000, max_value=10**5001)
    | st.floats()
    | st.text()
    | st.binary()
    | st.sampled_from([JOB, "normal", "sim", 1]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(list(TryJob.model_fields)) | st.text(), inner, max_size=8)
        | st.dictionaries(st.integers() | st.none() | st.binary(), inner, max_size=2)
    ),
    max_leaves=12,
)


def assert_understood_or_refused(payload: object) -> None:
    try:
        message = decode(payload)
    except WireError:
        return
    assert isinstance(message, TryJob)
    assert decode(message.model_dump(mode="json", exclude_none=True)) == message


@given(ANYTHING)
def test_anything_is_a_message_or_a_wire_error(payload) -> None:
    assert_understood_or_refused(payload)


@given(st.dictionaries(st.sampled_from(list(TryJob.model_fields)), ANYTHING, max_size=3))
def test_a_message_with_anything_in_its_fields_is_a_message_or_a_wire_error(changes) -> None:
    assert_understood_or_refused({**MINIMAL, **changes})


# --- names --------------------------------------------------------------------------------------


def test_names_of_tasks_and_queues() -> None:
    assert TASK_NAMES == {"rollout": "so.rollout", "judge": "so.judge", "optimize": "so.optimize"}
    assert set(TASK_NAMES) == set(JobKind.__args__)
    assert queue_of("gpt") == "b.gpt"
    assert queue_of("gpt", quarantine=True) == "b.gpt.q"
    assert queue_of("none") == DEFAULT_QUEUE  # which is why no backend may be called so


def test_every_failure_of_a_call_has_its_word() -> None:
    def below(error: type[SkillOptError]) -> set[type[SkillOptError]]:
        return {error}.union(*(below(sub) for sub in error.__subclasses__()))

    codes = {error.code for error in below(CallError)} | {StateCorrupt.code, SkillOptError.code}
    # A filtered prompt is a result ("invalid"), never a failure of the job.
    assert codes - {"content_filter"} <= OUTCOME_WORDS
    assert len(ClaimStatus) == 7
