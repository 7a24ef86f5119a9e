from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from scripted_run import SKILL, ScriptedRun, make_plan

from producer.run_folder import RunFolder, find_run
from skillopt.domain.events import Gated, Proposed, Reflected
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.skill import SkillDocument
from skillopt.domain.skill_folder import SkillFile
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import Paused
from skillopt.errors import InputError, StateCorrupt
from skillopt.state.ports import LogEntry

ORIGIN = {"skill": "SKILL.md", "tasks": "tasks.jsonl"}


def folder_of(run: ScriptedRun, path: Path) -> RunFolder:
    folder = RunFolder(path)
    folder.create(run.plan, ORIGIN)
    folder.mirror(run.log())
    folder.derive(run.state)
    return folder


def files(path: Path) -> dict[str, bytes]:
    return {
        str(found.relative_to(path)): found.read_bytes()
        for found in sorted(path.rglob("*"))
        if found.is_file()
    }


def history(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "history.jsonl").read_text().splitlines()]


# --- the mirror -------------------------------------------------------------------------------


def test_a_folder_gives_back_the_plan_and_the_state_of_its_run(tmp_path):
    run = ScriptedRun().finish()
    folder = folder_of(run, tmp_path / "run")
    assert folder.read_plan() == run.plan
    assert RunFolder(folder.path).state() == run.state


def test_mirroring_appends_only_what_is_new(tmp_path):
    run = ScriptedRun().finish()
    folder = RunFolder(tmp_path / "run")
    folder.create(run.plan, ORIGIN)
    assert folder.mirror(run.log()[:3]) == 3
    assert folder.mirror(run.log()[1:5]) == 2
    assert folder.mirror(run.log()[5:6]) == 1
    assert folder.mirror(run.log()[:6]) == 0
    assert folder.mirror([]) == 0
    lines = (folder.path / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert folder.last_seq() == 6


@pytest.mark.parametrize("cut", [1, 20, None])
def test_a_line_torn_by_a_crash_is_ignored_by_readers_and_repaired_by_the_next_writer(
    tmp_path, cut
):
    run = ScriptedRun().finish()
    whole = folder_of(run, tmp_path / "whole").path / "events.jsonl"
    folder = RunFolder(tmp_path / "torn")
    folder.create(run.plan, ORIGIN)
    folder.mirror(run.log()[:4])
    path = folder.path / "events.jsonl"
    lost = whole.read_bytes().splitlines(keepends=True)[4]
    with path.open("ab") as stream:
        stream.write(lost[:cut] if cut else lost.rstrip(b"\n"))

    assert folder.last_seq() == 4
    assert [entry.seq for entry in RunFolder(folder.path).read_entries()] == [1, 2, 3, 4]
    folder.mirror(run.log())
    assert path.read_bytes() == whole.read_bytes()


def test_a_last_line_of_empty_blocks_is_repaired(tmp_path):
    run = ScriptedRun().finish()
    folder = RunFolder(tmp_path / "run")
    folder.create(run.plan, ORIGIN)
    folder.mirror(run.log()[:2])
    with (folder.path / "events.jsonl").open("ab") as stream:
        stream.write(b"\0" * 64 + b"\n")
    folder.mirror(run.log())
    assert folder.state() == run.state


def test_another_writer_of_the_same_log_is_noticed(tmp_path):
    run = ScriptedRun().finish()
    first, second = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "run")
    first.create(run.plan, ORIGIN)
    first.mirror(run.log()[:2])
    second.mirror(run.log()[:5])
    first.mirror(run.log()[2:6])
    assert [entry.seq for entry in first.read_entries()] == [1, 2, 3, 4, 5, 6]


def test_a_gap_in_the_log_is_refused_and_writes_nothing(tmp_path):
    run = ScriptedRun().finish()
    folder = RunFolder(tmp_path / "run")
    folder.create(run.plan, ORIGIN)
    folder.mirror(run.log()[:2])
    before = (folder.path / "events.jsonl").read_bytes()
    with pytest.raises(StateCorrupt, match="given entry 4 where 3 is due"):
        folder.mirror(run.log()[3:])
    with pytest.raises(StateCorrupt, match="given entry 5 where 4 is due"):
        folder.mirror([run.log()[2], run.log()[4]])
    assert (folder.path / "events.jsonl").read_bytes() == before


def test_a_different_history_is_refused(tmp_path):
    run = ScriptedRun().finish()
    folder = folder_of(run, tmp_path / "run")
    other = LogEntry(2, 1.0, Paused(why="budget", detail="").model_dump_json())
    with pytest.raises(StateCorrupt, match=r"entry 2 of .*another history"):
        folder.mirror([run.log()[0], other])


def test_damage_inside_the_log_is_an_error_not_a_shorter_log(tmp_path):
    folder = folder_of(ScriptedRun().finish(), tmp_path / "run")
    path = folder.path / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"{oops}\n", *lines[3:]]))
    with pytest.raises(StateCorrupt, match="line 3"):
        folder.read_entries()


# --- what derives from it ---------------------------------------------------------------------


def test_every_document_is_kept_under_its_step_and_hash(tmp_path):
    run = ScriptedRun().finish()
    folder = folder_of(run, tmp_path / "run")
    kept = {path.name: path.read_bytes() for path in (folder.path / "skills").iterdir()}
    proposed = [event for event in run.events if isinstance(event, Proposed)]
    assert proposed
    assert set(kept) == {
        f"0000-{run.plan.initial_key[:16]}.md",
        *(f"{event.step:04d}-{event.skill[:16]}.md" for event in proposed),
    }
    for name, content in kept.items():
        assert sha256_hex(content).startswith(name[5:21])
    assert kept[f"0000-{run.plan.initial_key[:16]}.md"].decode() == SKILL
    assert (folder.path / "best_skill.md").read_text() == run.state.texts[run.state.best].skill


@pytest.mark.parametrize(
    "update",
    ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"],
)
def test_a_run_of_a_skill_folder_and_a_memory_leaves_all_of_it(tmp_path, update):
    text = (
        "---\nname: greeter\n---\n"
        + SKILL
        + "\n<!-- FROZEN_START -->\nStay.\n<!-- FROZEN_END -->\n"
    )
    script = SkillFile.of("scripts/a.sh", b"#!/bin/sh\n", executable=True)
    learning = {"learning_rate": 2, "min_learning_rate": 1, "skill_update_mode": update}
    settings = {"optimizer": learning, "evolve": "both" if update == "patch" else "skill"}
    plan = make_plan(skill=text, files=(script,), memory="- m\n", settings=settings)
    run = ScriptedRun(plan).finish()
    folder = folder_of(run, tmp_path / "run").path
    best = run.state.texts[run.state.best]
    assert run.state.best != plan.initial_key
    assert (folder / "best_skill/SKILL.md").read_text() == best.skill
    assert (folder / "best_skill/scripts/a.sh").read_bytes() == b"#!/bin/sh\n"
    assert os.access(folder / "best_skill/scripts/a.sh", os.X_OK)
    assert (folder / "best_memory.md").read_text() == best.memory
    for name in ("skills", "memories"):
        assert len(list((folder / name).iterdir())) == len(run.state.texts)
    for documents in run.state.texts.values():
        document = SkillDocument.parse(documents.skill)
        assert document.frozen == ("\nStay.\n",)
        assert document.front_matter == "---\nname: greeter\n---\n"


def test_history_says_what_became_of_each_step(tmp_path):
    run = ScriptedRun().finish()
    rows = history(folder_of(run, tmp_path / "run").path)
    assert [row["step"] for row in rows] == [step.started.step for step in run.state.steps]
    actions = [row["action"] for row in rows]
    assert actions[0] == "accept_new_best"
    assert any(action.startswith("skip_") or action == "reject" for action in actions)
    first = rows[0]
    assert first["rollout"] == {"hard": 0.0, "soft": 0.0, "n": 4}
    assert first["groups"] == {"ok": 2, "repaired": 0, "dropped": 0}
    assert first["n_edits_selected"] == 2
    assert set(first["edit_reports"]) == {"applied_append"}
    assert first["candidate_score"] > first["current_score"]
    assert (first["current"], first["best"], first["best_step"]) == (
        first["candidate"], first["candidate"], 1,
    )  # fmt: skip
    assert (rows[-1]["current"], rows[-1]["best"]) == (run.state.current, run.state.best)


def test_history_has_no_row_for_a_step_that_is_under_way(tmp_path):
    run = ScriptedRun().until(Reflected)
    assert history(folder_of(run, tmp_path / "run").path) == []


def test_a_step_without_edits_has_nulls_where_it_did_not_get(tmp_path):
    none = {"learning_rate": 0, "min_learning_rate": 0}
    run = ScriptedRun(make_plan(settings={"optimizer": none})).finish()
    row = history(folder_of(run, tmp_path / "run").path)[0]
    assert row["action"] == "skip_no_edits"
    assert row["rollout"] is None
    assert row["groups"] is None
    assert row["candidate_score"] is None
    assert row["pairs"] is None


def test_times_and_order_of_arrival_do_not_reach_history_and_skills(tmp_path):
    together = folder_of(ScriptedRun(started_at=5.0).finish(), tmp_path / "a").path
    one_by_one = folder_of(ScriptedRun(order_seed=7, started_at=9e8).finish(), tmp_path / "b").path
    assert (together / "events.jsonl").read_bytes() != (one_by_one / "events.jsonl").read_bytes()
    kept = ("history.jsonl", "best_skill.md", "skills/")
    assert {k: v for k, v in files(together).items() if k.startswith(kept)} == {
        k: v for k, v in files(one_by_one).items() if k.startswith(kept)
    }


def test_deriving_again_touches_nothing(tmp_path):
    run = ScriptedRun().finish()
    folder = folder_of(run, tmp_path / "run")
    paths = [path for path in folder.path.rglob("*") if path.is_file()]
    for path in paths:
        os.utime(path, (1, 1))
    folder.create(run.plan, ORIGIN)
    folder.derive(run.state)
    assert {path.stat().st_mtime for path in paths} == {1}


def test_whoever_takes_over_completes_the_folder(tmp_path):
    undisturbed = folder_of(ScriptedRun().finish(), tmp_path / "whole")
    run = ScriptedRun().until(Gated)
    folder_of(run, tmp_path / "run")
    (tmp_path / "run" / "best_skill.md").unlink()
    (tmp_path / "run" / "history.jsonl").write_text('{"step": 1, "half')
    successor = folder_of(run.finish(), tmp_path / "run")
    assert files(successor.path) == files(undisturbed.path)


# --- plan and spec ----------------------------------------------------------------------------


def test_whoever_takes_over_sweeps_up_half_written_files_and_nothing_else(tmp_path):
    run = ScriptedRun().finish()
    folder = RunFolder(tmp_path / "run")
    folder.create(run.plan, {})
    folder.mirror(run.log())
    folder.derive(run.state)
    kept = sorted(tmp_path.rglob("*"))
    mine = folder.path / "skills" / ".notes.tmp"
    mine.write_text("of a person")
    for place in (folder.path, folder.path / "skills", folder.path / "rollouts"):
        (place / ".summary.json.0123456789ab.tmp").write_text("{")
    folder.sweep()
    assert sorted(tmp_path.rglob("*")) == sorted([*kept, mine])


def test_the_spec_reads_as_settings_and_origins(tmp_path):
    run = ScriptedRun()
    spec = yaml.safe_load((folder_of(run, tmp_path / "run").path / "spec.yaml").read_text())
    assert spec["origin"] == ORIGIN
    assert spec["tasks"] == {"train": 8, "val": 4, "test": 2}
    assert spec["model"] == {"target": "sim", "optimizer": "sim"}
    assert spec["train"]["batch_size"] == 4


def test_a_raised_budget_updates_the_plan_of_the_same_run(tmp_path):
    run = ScriptedRun()
    folder = folder_of(run, tmp_path / "run")
    raised = run.plan.model_copy(update={"budget": Budget(max_calls=7)})
    folder.create(raised, ORIGIN)
    assert folder.read_plan().budget.max_calls == 7


def test_a_folder_of_another_run_is_not_overwritten(tmp_path):
    folder = folder_of(ScriptedRun(), tmp_path / "run")
    other = make_plan(skill="# Other\n")
    with pytest.raises(InputError, match=f"not '{other.run_id}'"):
        folder.create(other, ORIGIN)


def test_reading_what_is_no_run_folder_names_the_path(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        RunFolder(tmp_path / "nowhere").state()
    with pytest.raises(InputError, match="is not a run folder"):
        RunFolder(tmp_path).read_entries()
    (tmp_path / "plan.json").write_text('{"name": "something else"}')
    with pytest.raises(InputError, match=r"plan\.json in"):
        RunFolder(tmp_path).read_plan()


def test_a_folder_without_events_says_so(tmp_path):
    RunFolder(tmp_path / "run").create(make_plan(), ORIGIN)
    with pytest.raises(InputError, match="no events yet"):
        RunFolder(tmp_path / "run").state()


# --- finding ----------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path):
    """Three runs: two of the name `brief`, one of the name `brief-writer`; the first is newest."""
    ids = []
    for age, (name, skill) in enumerate([("brief", "a"), ("brief", "b"), ("brief-writer", "c")]):
        run = ScriptedRun(make_plan(name=name, skill=f"# {skill}\n"))
        folder = folder_of(run, tmp_path / run.plan.run_id)
        os.utime(folder.path / "events.jsonl", (1000 - age, 1000 - age))
        ids.append(run.plan.run_id)
    return tmp_path, ids


def test_a_run_is_found_by_id_prefix_name_or_last(runs):
    root, (first, second, writer) = runs
    assert find_run(root, second).path.name == second
    assert find_run(root, second[:10]).path.name == second
    assert find_run(root, "brief-writer").path.name == writer
    assert find_run(root, "brief-w").path.name == writer
    assert find_run(root, "last").path.name == first


def test_a_reference_to_several_runs_or_none_lists_the_candidates(runs):
    root, (first, second, writer) = runs
    with pytest.raises(InputError, match=f"several runs: {first}, {second};"):
        find_run(root, "brief")
    with pytest.raises(InputError, match=f"no run 'zebra' .*{first}, {second}, {writer}"):
        find_run(root, "zebra")
    with pytest.raises(InputError, match="no run ''"):
        find_run(root, "")


def test_a_store_without_runs_says_so(tmp_path):
    with pytest.raises(InputError, match="there is no run in"):
        find_run(tmp_path / "runs", "last")


def test_the_state_under_a_torn_log_is_that_of_its_whole_lines(tmp_path):
    run = ScriptedRun().until(Gated)
    folder = folder_of(run, tmp_path / "run")
    with (folder.path / "events.jsonl").open("ab") as stream:
        stream.write(b'{"seq":99,"at"')
    assert folder.state() == run.state
