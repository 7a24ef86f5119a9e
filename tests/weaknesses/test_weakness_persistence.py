"""Persistence: a run is its log; whatever dies, nothing is lost, doubled or half written."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from config_workspace import Workspace
from fleet_double import TIMING, Bench, decisions, undisturbed
from recorded_runs import folder_of, run_of
from scripted_models import sections
from scripted_run import Models, ScriptedRun, finished_job, make_plan
from weakness_parts import (
    Scripted,
    append,
    drive_until,
    executed,
    finish,
    labelled,
    patch,
    prompts,
    resumed,
)

from producer.mirror import FolderMirror
from producer.run_folder import RunFolder
from skillopt.config.catalogue import dump_catalogue
from skillopt.domain.events import Gated, Measured, Proposed, Reflected
from skillopt.domain.results import ReplyBody
from skillopt.errors import Fenced, InputError
from skillopt.loop.fold import fold
from skillopt.state.ports import ClaimStatus, RenewStatus

# --- 15: one log, whole files ---------------------------------------------------------------------


def test_w15_a_log_that_was_torn_anywhere_is_read_and_completed(tmp_path):
    """The defect: a crash while the history was written left a file that blocked the resume."""
    run = finish(run_of("slow update"))
    folder = folder_of(run, tmp_path / "run")
    log = tmp_path / "run" / "events.jsonl"
    whole = log.read_bytes()
    *_, last = whole.splitlines(keepends=True)
    for torn in range(1, len(last) + 1, 7):
        log.write_bytes(whole[:-torn])
        successor = RunFolder(tmp_path / "run")
        assert successor.state() == fold(run.plan, run.events[:-1])
        successor.mirror(run.log())
        assert log.read_bytes() == whole
    assert folder.state() == run.state


def test_w15_files_are_replaced_whole_and_never_written_in_place(tmp_path):
    """The defect: files were overwritten in place, so that a crash left half of one."""
    run = run_of("edits").until(Gated)
    folder = folder_of(run, tmp_path / "run")
    folder.derive(run.state)
    names = ("history.jsonl", "best_skill.md", "plan.json")
    before = {name: (folder.path / name).read_bytes() for name in names}
    for name in names:  # a second name of the same file sees what is written in place
        os.link(folder.path / name, tmp_path / name)
    finish(run)
    folder.mirror(run.log())
    folder.derive(run.state)
    folder.create(run.plan.model_copy(update={"name": run.plan.name}), {"skill": "elsewhere"})
    for name in ("history.jsonl", "best_skill.md"):
        assert (folder.path / name).read_bytes() != before[name], "the run must have gone on"
    for name in names:
        assert (tmp_path / name).read_bytes() == before[name]
    assert not list(folder.path.rglob("*.tmp"))


def test_w15_a_step_that_is_done_again_leaves_one_row(tmp_path):
    """The defect: a crash between two files of one commit gave a step two rows of history."""
    run = run_of("edits")
    folder = folder_of(run, tmp_path / "run")
    while run.advance():
        for _ in range(2):
            RunFolder(folder.path).mirror(run.log())
            RunFolder(folder.path).derive(run.state)
    rows = [json.loads(line) for line in (folder.path / "history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3, 4]


def test_w15_a_crash_at_any_event_leaves_one_truth(tmp_path):
    """The defect: state and history were separate files, and a crash left them at odds."""
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    folder = RunFolder(tmp_path / "run")
    folder.create(plan, {})
    usual = bench.mirror
    for kind in (Measured, Reflected, Proposed, Gated):
        drive_until(bench, run, kind, owner=f"until {kind.__name__}")
        entries = bench.state.runs.log(run)
        # The folder is behind by what its writer had not mirrored when it died.
        folder.mirror(entries[:-1])
        bench.mirror = FolderMirror(folder, bench.state)  # type: ignore[assignment]
        drive_until(bench, run, kind, owner=f"again {kind.__name__}")
        bench.mirror = usual
    bench.mirror = FolderMirror(folder, bench.state)  # type: ignore[assignment]
    bench.drive(run, "last")
    assert decisions(bench.events(run)) == undisturbed()
    assert folder.state() == bench.known(plan)
    best = (folder.path / "best_skill.md").read_text()
    assert best == bench.known(plan).texts[bench.known(plan).best].skill


def test_w15_a_moved_run_is_the_same_run(tmp_path):
    """The defect: absolute paths in the saved state broke a run that had been moved."""
    run = run_of("edits").until(Gated)
    folder_of(run, tmp_path / "here").derive(run.state)
    shutil.move(tmp_path / "here", tmp_path / "there")
    moved = RunFolder(tmp_path / "there")
    assert moved.state() == run.state
    for path in moved.path.rglob("*"):
        if path.is_file():
            assert str(tmp_path).encode() not in path.read_bytes(), path
    finish(run)
    moved.mirror(run.log())
    moved.derive(run.state)
    assert moved.state() == run.state


# --- 16: what is known does not die with a process ------------------------------------------------

TRYING = Scripted(
    replies={"reflect": lambda parts: patch(append(f"Try {len(parts.get('Earlier steps', ''))}."))}
)


def test_w16_a_successor_asks_exactly_what_its_predecessor_would_have_asked():
    """The defect: what earlier steps had tried was only in memory and died with the process."""
    settings = {
        "train": {"num_epochs": 2, "batch_size": 4},
        "optimizer": {"learning_rate": 1, "use_meta_skill": True},
    }
    plan = make_plan(settings=settings)
    whole = finish(ScriptedRun(plan, models=TRYING))
    assert sum("Earlier steps" in sections(prompt) for prompt in prompts(whole, "reflect")) >= 2
    for length in range(1, len(whole.events)):
        successor = finish(resumed(plan, whole.events[:length], models=TRYING))
        assert {job.id for job in labelled(successor, "/ reflect")} <= whole.performed.keys()
        assert successor.events == whole.events


def test_w16_spending_and_results_outlive_their_process():
    """The defect: token totals and the cache began at nothing after each restart."""
    calm, restless, plan = Bench(), Bench(), make_plan()
    calm.run(plan)
    run = restless.submit(plan).run
    for owner, (kind, count) in enumerate(
        [(Measured, 1), (Reflected, 1), (Proposed, 1), (Gated, 1), (Reflected, 2), (Gated, 2)]
    ):
        drive_until(restless, run, kind, count, owner=f"c{owner}")
    restless.drive(run, "last")
    assert restless.state.budgets.spend(run) == calm.state.budgets.spend(run)
    assert Counter(executed(restless)) == Counter(executed(calm))
    assert max(Counter(restless.fleet.executed).values()) == 1


# --- 20: late workers and late coordinators -------------------------------------------------------


def test_w20_a_worker_that_was_given_up_can_neither_go_on_nor_write():
    """The defect: a timed-out attempt went on and wrote into what others were reading."""
    bench, plan = Bench(), make_plan()
    slow: list[tuple[str, str]] = []

    def one_hangs(job, lane) -> str | None:
        if not slow and job.label == "baseline / val-alpha / 0":
            slow.append((job.id, f"w{len(bench.fleet.messages)}"))
            return "killed"  # it holds the job and is not heard of again
        return None

    bench.fleet.mishap = one_hangs
    run = bench.submit(plan).run
    drive_until(bench, run, Measured)
    [(job, owner)] = slow
    assert bench.state.claims.renew({job: owner}) == {job: RenewStatus.LOST}
    lucky = finished_job(job, ReplyBody(text="alpha"), payer=run, calls=1)
    kept = bench.state.results.get([job])[job]
    assert bench.state.claims.commit([lucky], owner=owner) == [False]
    assert bench.state.results.get([job])[job] == kept
    bench.drive(run, "c2")
    assert decisions(bench.events(run)) == undisturbed()


def test_w20_work_that_nobody_waits_for_is_stopped():
    """The defect: attempts that no decision needed any more went on spending."""
    bench = Bench()
    plan = run_of("early").plan
    held: list[tuple[str, str]] = []

    def last_ones_hang(job, lane) -> str | None:
        if "gate / val-alpha" in job.label:
            held.append((job.id, f"w{len(bench.fleet.messages)}"))
            return "killed"
        return None

    bench.fleet.mishap = last_ones_hang
    run = bench.submit(plan).run
    drive_until(bench, run, Gated)
    assert bench.known(plan).gates[0].early
    drive_until(bench, run, Reflected, count=2, owner="c2")
    assert held
    job, owner = held[0]
    assert bench.state.claims.renew({job: owner}) == {job: RenewStatus.UNWANTED}
    later = bench.state.claims.claim(job, run=run, owner="another", lane="normal")
    assert later.status in (ClaimStatus.UNWANTED, ClaimStatus.BUSY)


def test_w20_a_coordinator_that_slept_too_long_writes_nothing():
    """The defect: two processes could write one run without noticing each other."""
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    sleeper = bench.driver(run, "sleeper")
    bench.clock.now += TIMING.lead_s + 1
    drive_until(bench, run, Measured, owner="successor")
    log = bench.state.runs.log(run)
    with pytest.raises(Fenced):
        sleeper.drive(bench.stop)
    assert bench.state.runs.log(run) == log
    bench.drive(run, "successor")
    assert decisions(bench.events(run)) == undisturbed()


# --- 23: secrets ----------------------------------------------------------------------------------

SECRET = "sk-live-4f9a8c7e6b5d"


def test_w23_a_key_is_nowhere_but_in_its_variable(workspace: Workspace, tmp_path: Path):
    """The defect: keys stood in clear in the saved settings and in the summary."""
    workspace.spec(
        "backends:\n  gpt: {kind: openai_chat, model: m, api_key_env: MY_KEY, price: 0}\n",
        model="{target: gpt}",
    )
    loaded = workspace.load(environ={"MY_KEY": SECRET})
    bench = Bench()
    bench.fleet.models = Models()
    folder = RunFolder(tmp_path / "run")
    folder.create(loaded.plan, {"skill": str(loaded.skill_path)})
    bench.submit(loaded.plan)
    stored = bench.state.runs.info(loaded.plan.run_id)
    assert stored is not None
    texts = [path.read_bytes() for path in folder.path.rglob("*") if path.is_file()]
    texts += bench.state.blobs.get([stored.meta["plan"]]).values()
    texts += [repr((loaded, stored)).encode(), dump_catalogue(loaded.backends).encode()]
    assert not [text for text in texts if SECRET.encode() in text]
    assert loaded.backends["gpt"].api_key_env == "MY_KEY"


@pytest.mark.parametrize(
    "entry",
    [
        f"api_key: {SECRET}",
        f"azure_openai_api_key: {SECRET}",
        f"qwen_chat_api_key: {SECRET}",
        f"optimizer_api_key: {SECRET}",
        f"token: {SECRET}",
        f"api_key_env: {SECRET}",
        f"base_url: 'https://user:{SECRET}@host/v1'",
        f"base_url: 'https://host/v1?key={SECRET}'",
        f"params: {{extra_headers: {{Authorization: 'Bearer {SECRET}'}}}}",
        f"params: {{extra_headers: {{X-Api-Key: {SECRET}}}}}",
        f"params: {{extra_headers: {{X-Goog-Api-Key: {SECRET}}}}}",
        f"params: {{extra_headers: {{Ocp-Apim-Subscription-Key: {SECRET}}}}}",
        f"params: {{extra_headers: {{X-Auth-Token: {SECRET}}}}}",
        f"params: {{extra_body: {{api_key: {SECRET}}}}}",
    ],
)
def test_w23_a_key_in_a_file_is_refused_and_not_repeated(workspace: Workspace, entry):
    """The defect: only three spellings of a key were kept out of what was written."""
    workspace.spec(
        f"backends:\n  gpt: {{kind: openai_chat, model: m, {entry}}}\n", model="{target: gpt}"
    )
    with pytest.raises(InputError) as caught:
        workspace.load()
    assert SECRET not in str(caught.value)
