from __future__ import annotations

import pytest
from recorded_runs import MODES, folder_of, run_of
from scripted_run import ScriptedRun, make_plan

from producer.artifacts import write_records
from producer.run_folder import RunFolder
from skillopt.domain.events import Compared, Gated, Measured, MetaLearned, Proposed, Reflected
from skillopt.domain.steering_events import GaveUp, LeftOut


def write(folder: RunFolder, run: ScriptedRun) -> list[str]:
    folder.mirror(run.log())
    return write_records(folder, run.store.state(), run.state, run)


def test_each_record_file_is_written_when_its_stage_is_over(tmp_path):
    run = ScriptedRun()
    folder = folder_of(run, tmp_path / "run")
    assert write(folder, run) == []
    assert write(folder, run.until(Measured)) == ["baseline-val"]
    assert write(folder, run.until(Reflected)) == ["step-0001-1-rollout"]
    assert write(folder, run.until(Proposed)) == ["step-0001-2-optimizer"]
    assert write(folder, run.until(Gated)) == ["step-0001-3-gate"]
    rest = write(folder, run.finish())
    assert f"test-{run.state.best[:16]}" in rest
    assert f"test-{run.plan.initial_key[:16]}" in rest
    assert folder.record_names() > set(rest)


def test_with_nothing_due_no_result_is_read(tmp_path):
    run = ScriptedRun().finish()
    folder = folder_of(run, tmp_path / "run")
    assert write(folder, run)
    run.store.reads = 0
    assert write(folder, run) == []
    assert run.store.reads == 0


def test_a_successor_writes_what_the_first_writer_did_not_reach(tmp_path):
    run = ScriptedRun().finish()
    folder = folder_of(run, tmp_path / "run")
    write(folder, run)
    path = folder.path / "rollouts" / "step-0001-3-gate.jsonl.zst"
    content = path.read_bytes()
    path.unlink()
    (folder.path / "rollouts" / ".step-0001-3-gate.jsonl.zst.abc.tmp").write_bytes(b"half")
    assert write(RunFolder(folder.path), run) == ["step-0001-3-gate"]
    assert path.read_bytes() == content


def test_records_are_found_by_step_task_and_call(tmp_path):
    run = ScriptedRun().finish()
    folder = folder_of(run, tmp_path / "run")
    write(folder, run)
    everything = list(folder.records())
    assert {record.stage for record in everything} >= {
        "baseline", "step 1 / rollout", "step 1 / optimizer", "step 1 / gate", "final test",
    }  # fmt: skip
    first = list(folder.records(step=1))
    assert {record.step for record in first} == {1}
    assert [record.stage for record in first] == sorted(
        (record.stage for record in first),
        key=["step 1 / rollout", "step 1 / optimizer", "step 1 / gate"].index,
    )
    gate = list(folder.records(step=1, item="val-alpha"))
    assert [(record.split, record.skill) for record in gate] == [
        ("val", run.state.steps[0].proposed.skill)
    ]
    train = run.state.steps[0].started.items[0]
    assert {record.kind for record in folder.records(step=1, item=train)} == {
        "rollout", "optimizer",
    }  # fmt: skip
    (call,) = [record for record in first if record.kind == "optimizer"][:1]
    assert call in list(folder.records(job=call.job[:12]))
    assert list(folder.records(job="no-such-job")) == []


def test_records_agree_with_what_the_gate_measured(tmp_path):
    run = ScriptedRun().finish()
    folder = folder_of(run, tmp_path / "run")
    write(folder, run)
    gated = run.state.steps[0].gated
    scores = {r.item: r.hard for r in folder.records(step=1) if r.stage == "step 1 / gate"}
    assert scores == {item: score.hard for item, score in gated.measurement.items.items()}


@pytest.mark.parametrize("mode", MODES)
def test_a_gates_records_are_exactly_the_tasks_of_its_measurement(mode, tmp_path):
    run = run_of(mode).finish()
    folder = folder_of(run, tmp_path / "run")
    write(folder, run)
    gates = [step.gated for step in run.state.steps if step.gated]
    assert gates
    for gated in gates:
        stage = f"step {gated.step} / gate"
        records = [record for record in folder.records() if record.stage == stage]
        assert list(dict.fromkeys(record.item for record in records)) == list(
            gated.measurement.items
        )
        for item, score in gated.measurement.items.items():
            hard = [record.hard for record in records if record.item == item]
            assert sum(hard) / len(hard) == pytest.approx(score.hard)


def test_an_early_decision_leaves_later_tasks_out_of_the_records(tmp_path):
    run = run_of("early").finish()
    early = next(step.gated for step in run.state.steps if step.gated and step.gated.early)
    folder = folder_of(run, tmp_path / "run")
    write(folder, run)
    tasks = [r.item for r in folder.records(step=early.step) if r.stage.endswith("gate")]
    assert tasks == list(early.measurement.items)
    assert len(tasks) < len(run.plan.splits.val)


@pytest.mark.parametrize("mode", MODES)
def test_records_written_late_are_those_written_in_time(mode, tmp_path):
    run, folder = run_of(mode), None
    while run.advance():
        folder = folder or folder_of(run, tmp_path / "in-time")
        write(folder, run)
    late = folder_of(run, tmp_path / "late")
    write(late, run)
    assert late.record_names() == folder.record_names()
    assert [record.model_dump() for record in late.records()] == [
        record.model_dump() for record in folder.records()
    ]


def test_what_a_person_leaves_out_later_keeps_its_earlier_records(tmp_path):
    run = ScriptedRun().until(Measured)
    run.record(LeftOut(items={"val-alpha": "wrong"}))
    run.until(Gated)
    folder = folder_of(run, tmp_path / "run")
    write(folder, run)
    outcomes = {r.stage: r.outcome for r in folder.records(item="val-alpha")}
    assert outcomes == {"baseline": "scored", "step 1 / gate": "left_out"}


def test_a_result_that_came_too_late_for_its_stage_is_not_in_its_records(tmp_path):
    settings = {"evaluation": {"min_coverage": 0.5}}
    run = ScriptedRun(make_plan(settings=settings))
    job = run.factory.rollout(run.plan.initial_key, run.plan.initial, run.plan.splits.val[0], 0)
    run.record(GaveUp(jobs={job.id: "no answer"}))
    run.until(Measured)
    wanted = run.factory.wanted_rollout(job, run.plan.initial, run.plan.splits.val[0], "late")
    run.perform(wanted)
    folder = folder_of(run, tmp_path / "run")
    write(folder, run)
    record = next(iter(folder.records(item="val-alpha")))
    assert (record.outcome, record.problem, record.hard) == ("missing", "no answer", None)


def test_the_end_of_an_epoch_has_records_of_both_documents_the_calls_and_the_gate(tmp_path):
    run = run_of("forced").finish()
    folder = folder_of(run, tmp_path / "run")
    names = write(folder, run)
    epoch, end = next((e, end) for e, end in run.state.epoch_ends.items() if end.gated)
    assert end.compared.previous != end.compared.current
    prefix = f"epoch-{epoch:02d}"
    parts = [f"{prefix}-1-compare", f"{prefix}-2-optimizer", f"{prefix}-3-gate"]
    assert [name for name in names if name.startswith(prefix)] == parts
    records = [record for record in folder.records() if record.epoch_end == epoch]
    assert {record.step for record in records} == {None}
    for name, skill in (("previous", end.compared.previous), ("current", end.compared.current)):
        stage = f"epoch {epoch} / compare {name}"
        compared = [record for record in records if record.stage == stage]
        assert [record.item for record in compared] == list(end.compared.sampled)
        assert {record.skill for record in compared} == {skill}
    gate = [record for record in records if record.stage == f"epoch {epoch} / gate"]
    assert {record.skill for record in gate} == {end.gated.skill}


def test_the_calls_of_an_epochs_end_are_recorded_once_all_of_them_are_made(tmp_path):
    run = run_of("slow update").until(Compared)
    folder = folder_of(run, tmp_path / "run")
    write(folder, run)
    assert write(folder, run.until(Proposed)) == []
    assert write(folder, run.until(Gated)) == ["epoch-02-3-gate"]
    assert write(folder, run.until(MetaLearned)) == ["epoch-02-2-optimizer"]
    calls = [r.label for r in folder.records() if r.stage == "epoch 2 / optimizer"]
    assert calls == ["epoch 2 / slow update", "epoch 2 / meta skill"]


def test_each_arm_of_an_aa_run_has_a_file_with_samples_of_its_own(tmp_path):
    settings = {"evaluation": {"samples": 2}}
    run = ScriptedRun(make_plan(mode="aa", arms=3, settings=settings)).finish()
    folder = folder_of(run, tmp_path / "run")
    assert write(folder, run) == ["arm-1", "arm-2", "arm-3"]
    samples = [
        sorted({record.sample for record in folder.records() if record.stage == f"arm {number}"})
        for number in (1, 2, 3)
    ]
    assert samples == [[0, 1], [2, 3], [4, 5]]


def test_an_evaluation_run_has_one_record_file(tmp_path):
    run = ScriptedRun(make_plan(mode="eval", eval_split="val")).finish()
    folder = folder_of(run, tmp_path / "run")
    assert write(folder, run) == ["eval-val"]
    assert len(list(folder.records())) == 4
