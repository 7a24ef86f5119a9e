from __future__ import annotations

from scripted_run import ScriptedRun, make_plan

from producer.artifacts import write_records
from producer.run_folder import RunFolder
from skillopt.domain.events import Gated, Measured, Reflected


def folder_of(run: ScriptedRun, path) -> RunFolder:
    folder = RunFolder(path)
    folder.create(run.plan, {})
    return folder


def write(folder: RunFolder, run: ScriptedRun) -> list[str]:
    return write_records(folder, run.store.state(), run.state, run)


def test_each_record_file_is_written_when_its_stage_is_over(tmp_path):
    run = ScriptedRun()
    folder = folder_of(run, tmp_path / "run")
    assert write(folder, run) == []
    assert write(folder, run.until(Measured)) == ["baseline-val"]
    assert write(folder, run.until(Reflected)) == ["step-0001-1-rollout"]
    assert write(folder, run.until(Gated)) == ["step-0001-2-optimizer", "step-0001-3-gate"]
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


def test_an_evaluation_run_has_one_record_file(tmp_path):
    run = ScriptedRun(make_plan(mode="eval", eval_split="val")).finish()
    folder = folder_of(run, tmp_path / "run")
    assert write(folder, run) == ["eval-val"]
    assert len(list(folder.records())) == 4
