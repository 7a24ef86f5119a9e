"""The figures of a coordinator: of the runs it drives, for as long as it does."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from producer.telemetry import CoordinatorTelemetry
from skillopt.domain.events import Gated, encode_event
from skillopt.domain.measurement import Measurement
from skillopt.domain.timing import Timing
from skillopt.domain.view import RunView, ShareView
from skillopt.state.memory.build import build
from skillopt.state.ports import Lead, State, Want

TIMING = Timing(resend_s=10, max_lost_claims=1, max_quarantine_claims=1, lease_s=5)
JOB = "a" * 64


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def driven(telemetry: CoordinatorTelemetry, clock: Clock) -> tuple[State, Lead]:
    state = telemetry.watching(build(TIMING, clock))
    state.runs.create("r1", meta={}, events=[], status="running")
    lead = state.runs.lead("r1", "me")
    assert lead is not None
    return state, lead


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def gated(verdict: str, candidate: float, current: float) -> str:
    return encode_event(
        Gated(
            step=1,
            skill="s" * 64,
            verdict=verdict,
            metric="hard",
            candidate_score=candidate,
            current_score=current,
            pairs=4,
            reason="measured",
            measurement=Measurement(skill="s" * 64, split="val", items={}),
        )
    )


def test_a_run_is_shown_while_it_is_driven_and_not_afterwards() -> None:
    telemetry = CoordinatorTelemetry()
    state, lead = driven(telemetry, Clock())
    shares = (
        ShareView(backend="sim", in_flight=3, window=8, wanted=20),
        ShareView(backend="gpt", in_flight=1, window=4, wanted=1),
    )
    state.runs.show_view("r1", RunView(shares=shares).model_dump_json())
    figures = telemetry.registry
    assert value(figures, "so_demand", backend="sim") == 20
    assert value(figures, "so_inflight", run="r1", backend="gpt") == 1
    assert value(figures, "so_fence", run="r1") == lead.fence
    state.runs.resign(lead)
    assert value(figures, "so_demand", backend="sim") is None
    assert value(figures, "so_fence", run="r1") is None


def test_demand_is_that_of_all_runs() -> None:
    telemetry = CoordinatorTelemetry()
    state, _ = driven(telemetry, Clock())
    state.runs.create("r2", meta={}, events=[], status="running")
    state.runs.lead("r2", "me")
    view = RunView(shares=(ShareView(backend="sim", in_flight=1, window=2, wanted=5),))
    for run in ("r1", "r2"):
        state.runs.show_view(run, view.model_dump_json())
    assert value(telemetry.registry, "so_demand", backend="sim") == 10


def test_the_score_is_that_of_the_document_in_force() -> None:
    telemetry = CoordinatorTelemetry()
    state, lead = driven(telemetry, Clock())
    at = {"status": "running", "open": True}
    state.runs.step(lead, version=0, events=[gated("reject", 0.25, 0.5)], **at)
    assert value(telemetry.registry, "so_gate_score", run="r1") == 0.5
    state.runs.step(lead, version=1, events=[gated("accept", 0.75, 0.5)], **at)
    assert value(telemetry.registry, "so_gate_score", run="r1") == 0.75


def test_messages_sent_again_and_dead_jobs_are_counted_once() -> None:
    telemetry, clock = CoordinatorTelemetry(), Clock()
    state, lead = driven(telemetry, clock)
    wants = [Want(JOB, b"{}")]

    def ask() -> str:
        [answer] = state.board.want(lead, wants, room=1)
        return answer.status

    assert (ask(), ask()) == ("send", "queued")
    assert value(telemetry.registry, "so_resend_total") == 0
    clock.now += 11
    assert ask() == "send"
    assert value(telemetry.registry, "so_resend_total") == 1
    for lane in ("normal", "quarantine"):
        state.claims.claim(JOB, run="r1", owner=lane, lane=lane)
        clock.now += TIMING.lease_s + 1
        ask()
    assert (ask(), ask()) == ("dead", "dead")
    assert value(telemetry.registry, "so_dead_total") == 1
