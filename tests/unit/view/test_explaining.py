from __future__ import annotations

import pytest
from scripted_run import ScriptedRun, make_plan

from producer.view.explaining import explain_epoch, explain_run, explain_step
from skillopt.domain.run import RunState
from skillopt.errors import InputError


def finished(**settings: object) -> RunState:
    return ScriptedRun(make_plan(settings=settings)).finish().state


def test_a_step_is_explained_with_its_verdict_and_its_tasks():
    state = finished()
    gated = next(step.gated for step in state.steps if step.gated and step.gated.improved)
    told = explain_step(state, gated.step)
    text = " ".join(told.sentences)
    assert "accepted" in told.title
    assert gated.reason in text
    assert all(task in text for task in gated.improved)
    assert "became the current and the best document" in text


def test_a_rejected_step_says_that_the_document_stayed():
    state = finished()
    rejected = [g for g in state.gates if g.verdict == "reject"]
    for gated in rejected:
        assert "The current document stayed" in " ".join(explain_step(state, gated.step).sentences)


def test_a_skipped_step_says_why_there_was_nothing_to_measure():
    state = finished(optimizer={"learning_rate": 0, "min_learning_rate": 0})
    told = explain_step(state, 1)
    assert told.title.endswith("no candidate")
    assert any("the edit budget of this step is 0" in sentence for sentence in told.sentences)


def test_an_early_decision_says_how_much_it_took():
    state = finished(
        evaluation={"early_decision": True, "no_regression": ["all"]},
        optimizer={"learning_rate": 1, "min_learning_rate": 1},
        train={"num_epochs": 4, "batch_size": 2},
    )
    early = [gated for gated in state.gates if gated.early]
    for gated in early:
        text = " ".join(explain_step(state, gated.step).sentences)
        assert f"stopped after {len(gated.measurement.items)} of 4 tasks" in text


def test_a_run_is_explained_in_the_order_in_which_it_happened():
    state = finished(
        train={"num_epochs": 3, "batch_size": 8},
        optimizer={"use_slow_update": True, "use_meta_skill": True, "learning_rate": 1,
                   "min_learning_rate": 1},
    )  # fmt: skip
    titles = [part.title.split(":")[0] for part in explain_run(state)]
    assert titles[:2] == ["Step 1 (epoch 1)", "Step 2 (epoch 2)"]
    for epoch in state.epoch_ends:
        place = titles.index(f"End of epoch {epoch}")
        assert titles[place - 1].endswith(f"(epoch {epoch})")
        told = explain_epoch(state, epoch)
        assert any("epoch before" in sentence for sentence in told.sentences)
    assert state.epoch_ends, "the run came to an epoch's end"


def test_a_test_in_words_names_chance_and_level():
    state = finished(evaluation={"significance": 0.5})
    tested = [g for g in state.gates if g.p_value is not None]
    assert tested
    for gated in tested:
        text = " ".join(explain_step(state, gated.step).sentences)
        assert f"{gated.p_value:.3g}" in text
        assert f"{gated.level:.3g}" in text


@pytest.mark.parametrize("number", [0, 99])
def test_a_step_that_is_not_there_is_an_error_that_names_those_that_are(number):
    with pytest.raises(InputError, match=r"has no step .*; its steps: 1 to"):
        explain_step(finished(), number)


def test_an_epoch_without_an_end_is_an_error():
    with pytest.raises(InputError, match="epochs with an end: none"):
        explain_epoch(finished(), 1)


def test_no_sentence_is_empty_or_unfinished():
    for part in explain_run(finished()):
        for sentence in part.sentences:
            assert sentence.strip().endswith(".")
