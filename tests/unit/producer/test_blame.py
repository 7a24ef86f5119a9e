from __future__ import annotations

from itertools import pairwise

from scripted_run import ScriptedRun, make_plan

from producer.blame import blame, lineage
from skillopt.domain.events import Proposed
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState


def finished(plan: RunPlan | None = None) -> RunState:
    return ScriptedRun(plan or make_plan()).finish().state


def test_the_lines_of_a_blame_are_the_document():
    state = finished()
    lines = blame(state, state.best)
    assert [line.text for line in lines] == state.texts[state.best].skill.splitlines()
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))


def test_a_line_as_given_has_no_step_and_a_learnt_one_the_step_that_brought_it():
    state = finished()
    given = state.plan.skill.splitlines()
    for line in blame(state, state.best):
        if line.text in given and line.text:
            assert (line.step, line.source, line.gain) == (0, None, None)
        elif line.text:
            gated = state.steps[line.step - 1].gated
            assert gated is not None
            assert gated.verdict == "accept"
            assert line.gain == gated.candidate_score - gated.current_score > 0


def test_the_evidence_of_a_line_is_that_of_the_edit_which_has_it():
    state = finished()
    learnt = [line for line in blame(state, state.best) if line.text.startswith("Always say")]
    assert learnt
    for line in learnt:
        selected = state.steps[line.step - 1].selected
        assert selected is not None
        [edit] = [edit for edit in selected.edits if line.text in edit.content]
        assert line.tasks == edit.support != ()


def test_the_lineage_leads_from_the_initial_document_to_the_named_one():
    state = finished()
    origins = lineage(state, state.best)
    assert origins[0].proposed.parent == state.plan.initial_key
    assert origins[-1].proposed.skill == state.best
    for one, other in pairwise(origins):
        assert other.proposed.parent == one.proposed.skill


def test_the_initial_document_is_all_as_given():
    state = finished()
    assert {line.step for line in blame(state, state.plan.initial_key)} == {0}


def test_lines_of_guidance_rest_on_the_compared_tasks():
    settings = {
        "train": {"num_epochs": 3, "batch_size": 4},
        "optimizer": {"use_slow_update": True, "slow_update_gate_with_selection": False,
                      "learning_rate": 1, "min_learning_rate": 1},
    }  # fmt: skip
    state = finished(make_plan(settings=settings))
    guided = [line for line in blame(state, state.current) if line.source == "slow_update"]
    assert guided
    ends = {end.gated.step: end for end in state.epoch_ends.values() if end.gated}
    for line in guided:
        assert line.tasks == tuple(pair.item for pair in ends[line.step].compared.pairs)


def test_the_memory_is_blamed_beside_the_skill():
    state = finished(make_plan(settings={"evolve": "memory"}, memory=""))
    lines = blame(state, state.best)
    assert {line.document for line in lines} == {"skill", "memory"}
    assert {line.step for line in lines if line.document == "skill"} == {0}
    assert all(line.step > 0 for line in lines if line.document == "memory" and line.text)


def test_a_candidate_that_was_not_kept_is_blamed_as_the_document_it_is():
    state = finished()
    lost = [step for step in state.steps if step.proposed and step.gated.verdict == "reject"]
    assert lost
    for step in lost:
        lines = blame(state, step.proposed.skill)
        assert [line.text for line in lines] == step.proposed.text.splitlines()
        [origin] = lineage(state, step.proposed.skill)[-1:]
        assert origin.gated == step.gated
        brought = [line for line in lines if line.step == step.started.step]
        assert {line.verdict for line in brought} == {"reject"}


def test_a_candidate_that_is_not_decided_on_has_no_gain():
    state = ScriptedRun().until(Proposed).state
    lines = blame(state, state.steps[-1].proposed.skill)
    assert {(line.gain, line.verdict) for line in lines if line.step} == {(None, None)}


def test_a_line_is_what_editors_number_as_one():
    skill = "# Greet\u2028kindly\x0c\r\nBe brief.\r\n"
    state = finished(make_plan(skill=skill))
    lines = blame(state, state.plan.initial_key)
    assert [(line.number, line.text) for line in lines] == [
        (1, "# Greet\u2028kindly\x0c"),
        (2, "Be brief."),
    ]
