"""Versions that differ: work is refused in words and waited for, never misread."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from fleet_double import TIMING, Bench, decisions, undisturbed
from scripted_run import make_plan

from producer.coordinator import Coordinator
from producer.run_folder import RunFolder
from skillopt import __version__
from skillopt.domain.events import Finished, encode_event
from skillopt.domain.steering_events import Paused
from skillopt.domain.view import RunView, read_view
from skillopt.errors import NotUnderstood, StateCorrupt
from skillopt.state.ports import Lane

REFUSAL = (
    "incompatible: a worker of version 0.0.9 (backend 'sim') refuses: the run is pinned to version "
    "2 of judge 'exact', this worker has version 1; upgrade it, or start one of the version that "
    "the run needs"
)


def refused_until(bench: Bench, upgraded_at: float) -> Callable[[object, Lane], str | None]:
    """Have old workers refuse everything until one is upgraded."""
    return lambda job, lane: None if bench.clock.now >= upgraded_at else REFUSAL


def test_a_run_waits_for_a_worker_that_fits_and_says_what_it_waits_for():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    # Far longer than any number of rounds after which a run would pause.
    upgraded_at = bench.clock.now + 10 * TIMING.max_infra_rounds * TIMING.infra_delay_s
    bench.fleet.mishap = refused_until(bench, upgraded_at)
    told: list[str] = []
    show = bench.doorbell.idle

    def listen() -> None:
        told.append(read_view(bench.state.runs.view(run)).waiting)
        show()

    bench.doorbell.idle = listen
    bench.drive(run)
    assert bench.known(plan).finished
    assert decisions(bench.events(run)) == undisturbed()
    assert not [event for event in bench.events(run) if isinstance(event, Paused)]
    assert any("a worker of version 0.0.9 (backend 'sim') refuses" in words for words in told)
    assert any("upgrade it" in words for words in told)


def test_what_a_person_must_mend_is_told_before_what_ends_by_itself():
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run

    def mishap(job, lane):
        return REFUSAL if "val-gamma" in job.label else "rate_limited: slow down"

    bench.fleet.mishap = mishap
    told: set[str] = set()

    def listen() -> None:
        told.add(read_view(bench.state.runs.view(run)).waiting)
        bench.stop.set()

    bench.doorbell.idle = listen
    bench.drive(run)
    assert any(words.startswith("a worker of version 0.0.9") for words in told), told


# --- a coordinator of an older version ----------------------------------------------------------


def newer_event(change: str) -> str:
    finished = json.loads(encode_event(Finished(reason="completed", best="x")))
    changes: dict[str, dict[str, object]] = {
        "kind": {"type": "distilled"},
        "field": {"confidence": 0.5},
        "value": {"reason": "converged"},
    }
    return json.dumps({**finished, **changes[change]})


@pytest.mark.parametrize("change", ["kind", "field", "value"])
def test_a_coordinator_does_not_drive_a_run_with_events_of_a_newer_version(change):
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    lead = bench.state.runs.lead(run, "newer")
    assert lead is not None
    bench.state.runs.step(
        lead, version=1, events=[newer_event(change)], status="running", open=True
    )
    bench.state.runs.resign(lead)
    before = bench.state.runs.log(run), bench.state.runs.ledger(run)
    with pytest.raises(NotUnderstood, match=f"not understood by version {__version__}.*upgrade"):
        bench.drive(run)
    assert (bench.state.runs.log(run), bench.state.runs.ledger(run)) == before
    assert bench.fleet.messages == []
    with pytest.raises(NotUnderstood):
        bench.submit(plan)
    assert (bench.state.runs.log(run), bench.state.runs.ledger(run)) == before


def test_a_plan_of_a_newer_version_is_not_driven(tmp_path):
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    newer = {**json.loads(plan.model_dump_json()), "temperature_schedule": "cosine"}
    [sha] = bench.state.blobs.put([json.dumps(newer).encode()])
    lead = bench.state.runs.lead(run, "newer")
    bench.state.archive.pin_plan(lead, sha)
    bench.state.runs.resign(lead)
    with pytest.raises(NotUnderstood, match=r"plan of run .* upgrade this one"):
        bench.drive(run)
    assert len(bench.events(run)) == 1


def test_one_run_that_cannot_be_read_does_not_keep_a_coordinator_from_the_others(tmp_path):
    bench = Bench()
    damaged, sound = make_plan(replica=1), make_plan()
    bench.submit(damaged)
    lead = bench.state.runs.lead(damaged.run_id, "newer")
    bench.state.runs.step(
        lead, version=1, events=[newer_event("kind")], status="running", open=True
    )
    bench.state.runs.resign(lead)
    bench.submit(sound)
    RunFolder(tmp_path / sound.run_id).create(sound, {})
    coordinator = Coordinator(bench.state, bench.fleet, tmp_path, bench.timing)
    for run in bench.state.runs.open_runs():
        coordinator._drive(run, bench.stop)
    assert coordinator._failures == []
    assert bench.known(sound).finished
    shown = read_view(bench.state.runs.view(damaged.run_id)).waiting
    assert shown.startswith(f"a coordinator of version {__version__} does not drive this run")
    assert "upgrade this one" in shown


def test_a_coordinator_of_one_run_ends_with_it(tmp_path):
    bench = Bench()
    run = bench.submit(make_plan()).run
    lead = bench.state.runs.lead(run, "newer")
    bench.state.runs.step(lead, version=1, events=["{}"], status="running", open=True)
    bench.state.runs.resign(lead)
    coordinator = Coordinator(bench.state, bench.fleet, tmp_path, bench.timing)
    with pytest.raises(StateCorrupt, match="an event of the log"):
        coordinator.serve(bench.stop, only=run)


# --- what people see ----------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["", "nonsense", "[]", '{"stage": 7}', '{"mood": "fine"}'])
def test_a_view_of_another_version_is_shown_as_such_and_refused_by_nobody(stored):
    assert "another version" in read_view(stored).waiting


def test_a_view_that_nobody_told_is_empty():
    assert read_view(None) == RunView()


# --- what is pinned -----------------------------------------------------------------------------


def never(*_):
    raise AssertionError("a run that goes on reads no template of its machine")


def test_templates_and_judge_versions_of_a_running_run_are_those_of_its_plan(monkeypatch):
    """Whatever the packages of the machine say now, the jobs are the same."""
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    stops = iter([True])

    class StopsOnce:
        def follow(self, entries, state, facts):
            if len(state.steps) == 2 and next(stops, False):
                bench.stop.set()

    bench.mirror = StopsOnce()
    bench.drive(run)
    assert not bench.known(plan).finished
    bench.stop.clear()
    monkeypatch.setattr("skillopt.judges.exact.ExactScorer.version", 7)
    monkeypatch.setattr("skillopt.config.prompt_folder.read_templates", never)
    bench.drive(run, "upgraded")
    assert decisions(bench.events(run)) == undisturbed()
