"""Dead letters: what is listed, what a second try does, doing without a task."""

from __future__ import annotations

import pytest
from fleet_double import Bench, decisions, undisturbed
from rich.console import Console
from scripted_run import make_plan

from producer.dead import DeadLetter, dead_letters, exclude, meant, retry
from producer.facts import LedgerFacts
from producer.known_runs import KnownRuns
from producer.view.dead_page import list_page, place, show_page
from skillopt.domain.steering_events import LeftOut, Paused
from skillopt.errors import InputError
from skillopt.loop.decide import decide
from skillopt.loop.jobs import WantedJob
from skillopt.state.ports import Lane, Want


def kills_its_worker(job: WantedJob, lane: Lane) -> str | None:
    return "killed" if job.label == "baseline / val-beta / 0" else None


def poisoned(bench: Bench) -> str:
    """Have a run pause because one job kills every worker that takes it."""
    bench.fleet.mishap = kills_its_worker
    run = bench.submit().run
    bench.drive(run)
    assert isinstance(bench.events(run)[-1], Paused)
    return run


def letters_of(bench: Bench, run: str | None = None) -> list[DeadLetter]:
    return dead_letters(bench.state, KnownRuns(bench.state), run)


def test_a_job_that_kills_its_workers_is_listed_with_all_that_is_known():
    bench = Bench()
    run = poisoned(bench)
    [letter] = letters_of(bench)
    assert (letter.run, letter.dead, letter.status) == (run, True, "paused")
    assert (letter.kind, letter.stage, letter.task, letter.sample) == (
        "rollout",
        "baseline",
        "val-beta",
        0,
    )
    assert (letter.claims, letter.quarantine_claims) == (2, 2)
    assert letter.reason.startswith("lost: 2 claims were lost")
    assert letter.at is not None
    assert place(letter) == "baseline, task 'val-beta', sample 0"


def test_a_job_that_was_given_up_is_listed_with_its_reason():
    bench = Bench()
    bench.fleet.mishap = lambda job, lane: (
        "bad_request: too: long" if "/ val-beta /" in job.label else None
    )
    run = bench.submit().run
    bench.drive(run)
    [letter] = letters_of(bench)
    assert (letter.dead, letter.reason) == (False, "bad_request: too: long")
    assert (letter.label, letter.run) == ("baseline / val-beta / 0", run)
    assert letter.rounds == 1


def test_a_dead_job_that_its_run_has_not_noticed_yet_has_its_place_all_the_same():
    bench = Bench()
    run = bench.submit().run
    lead = bench.state.runs.lead(run, "c1")
    assert lead is not None
    runs = KnownRuns(bench.state)
    known = runs.find(run)
    facts = LedgerFacts(run, {}, bench.state.results, bench.state.blobs)
    job = decide(runs.state_of(known), facts, known.factory).wanted[0]
    for number in range(4):
        [answer] = bench.state.board.want(lead, [Want(job.id, job.spec.encoded)], room=1)
        bench.state.claims.claim(job.id, run=run, owner=f"w:{number}", lane=answer.lane)
        bench.clock.now += bench.timing.lease_s + 1
    bench.state.claims.claim(job.id, run=run, owner="w:5", lane="quarantine")
    [letter] = letters_of(bench)
    assert (letter.job, letter.label, letter.status) == (job.id, job.label, "running")
    assert (letter.worker, letter.dead) == ("w", True)


def test_a_job_tried_again_after_its_cause_is_gone_completes_the_run_unchanged():
    bench, plan = Bench(), make_plan()
    run = poisoned(bench)
    bench.fleet.mishap = lambda job, lane: None
    runs = KnownRuns(bench.state)
    [done] = retry(bench.state, runs, letters_of(bench), bench._wait)
    assert (done.run, done.outcome, done.status, done.jobs) == (run, "here", "running", 1)
    assert letters_of(bench) == []
    bench.drive(run)
    assert bench.known(plan).finished
    assert decisions(bench.events(run)) == undisturbed()


def test_a_job_that_is_still_poison_dies_again_and_pauses_the_run_again():
    bench = Bench()
    run = poisoned(bench)
    retry(bench.state, KnownRuns(bench.state), letters_of(bench), bench._wait)
    bench.drive(run)
    assert isinstance(bench.events(run)[-1], Paused)
    [letter] = letters_of(bench)
    assert letter.dead


def test_a_task_left_out_lets_the_run_end_and_still_counts_in_coverage():
    bench, plan = Bench(), make_plan()
    run = poisoned(bench)
    known = KnownRuns(bench.state).find(run)
    done = exclude(bench.state, known, ["val-beta"], bench._wait)
    assert (done.outcome, done.status) == ("here", "running")
    bench.drive(run)
    state = bench.known(plan)
    assert state.finished
    assert [e.items for e in bench.events(run) if isinstance(e, LeftOut)] == [
        {"val-beta": "left out by skillopt dead exclude"}
    ]
    measured = [m for (_, split), m in state.measured.items() if split == "val"]
    assert {m.coverage for m in measured} == {0.75}
    assert all(m.items["val-beta"].status == "left_out" for m in measured)
    with pytest.raises(InputError, match="finished"):
        exclude(bench.state, known, ["val-alpha"], bench._wait)


def test_a_task_that_the_run_does_not_have_is_refused_with_the_nearest():
    bench = Bench()
    run = poisoned(bench)
    known = KnownRuns(bench.state).find(run)
    before = bench.events(run)
    with pytest.raises(InputError, match="did you mean 'val-beta'"):
        exclude(bench.state, known, ["val-betta"], bench._wait)
    assert bench.events(run) == before


def test_what_a_finished_run_gave_up_is_listed_only_if_it_is_asked_for():
    bench = Bench()
    plan = make_plan(settings={"evaluation": {"min_coverage": 0.5}})
    bench.fleet.mishap = lambda job, lane: (
        "bad_request: no" if "/ val-beta /" in job.label else None
    )
    run = bench.submit(plan).run
    bench.drive(run)
    assert bench.known(plan).finished
    assert letters_of(bench) == []
    runs = KnownRuns(bench.state)
    assert dead_letters(bench.state, runs, finished=True) == letters_of(bench, run) != []
    [done] = retry(bench.state, runs, letters_of(bench, run), bench._wait)
    assert done.outcome == "finished"


def test_jobs_are_named_by_their_first_digits():
    letters = [
        DeadLetter(job=job, run="r", dead=True, reason="lost: x", at=1.0)
        for job in ("abcd1111", "abcd2222", "ffff0000")
    ]
    assert [one.job for one in meant(letters, ["FFFF", "abcd1"])] == ["ffff0000", "abcd1111"]
    for reference, problem in (("abc", "too short"), ("abcd", "several"), ("12345", "no dead job")):
        with pytest.raises(InputError, match=problem):
            meant(letters, [reference])


def test_pages_tell_what_to_do_and_hide_control_characters():
    letter = DeadLetter(
        job="a" * 64,
        run="r-1",
        dead=True,
        reason="lost: \x1b[31mred",
        at=1_800_000_000.0,
        label="step 2 / gate / t 1 / 3",
        kind="rollout",
        stage="step 2 / gate",
        task="t 1",
        sample=3,
        claims=2,
        quarantine_claims=3,
        worker="sim-1@host",
        status="paused",
    )
    console = Console(width=200, record=True)
    for part in (*list_page([letter]), *show_page([letter]), *list_page([])):
        console.print(part)
    shown = console.export_text()
    assert "step 2, gate, task 't 1', sample 3" in shown
    assert "skillopt dead exclude r-1 --task 't 1'" in shown
    assert "skillopt dead retry aaaaaaaaaaaa" in shown
    assert "sim-1@host" in shown
    assert "2027-01-15" in shown
    assert "\x1b" not in shown
