"""`skillopt backends` on a Redis with workers: who serves what, and how the limits stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis
from worker_fleet import KEY, WorkerFleet

from producer.cli import main
from producer.serving import serving
from skillopt.domain.backend import Limits
from skillopt.domain.timing import Timing
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running
from skillopt.state.memory.build import build
from skillopt.state.ports import CallEnd, ThrottleScope, WorkerInfo
from skillopt.state.redis.connect import connect
from skillopt.state.urls import queue_url

SCOPE = ThrottleScope("gpt", "c" * 16, "e" * 16)
LIMITS = Limits(concurrency=4)


def worker(name: str = "gpt-1@h", **changes) -> WorkerInfo:
    fields = {"worker": name, "backend": "gpt", "fingerprint": "f" * 64, "capacity": 4}
    shared = {"credential": SCOPE.credential, "endpoint": SCOPE.endpoint}
    return WorkerInfo(**{**fields, **shared, **changes})


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    for name in ("SKILLOPT_BACKENDS", "SKILLOPT_REDIS_URL", "SIM_URL"):
        monkeypatch.delenv(name, raising=False)


def test_workers_that_share_a_credential_share_one_standing():
    state = build(Timing(), lambda: 1_800_000_000.0)
    for one in (worker(), worker("gpt-2@h"), worker("gpt-3@h", credential="d" * 16)):
        state.fleet.announce(one)
    state.throttle.admit(SCOPE, LIMITS, "call-1", tokens=1)
    found = serving(state, {"gpt": LIMITS, "idle": Limits()})
    assert len(found["gpt"].workers) == 3
    in_flight = {scope.credential: one.in_flight for scope, one in found["gpt"].standings}
    assert in_flight == {"c" * 16: 1, "d" * 16: 0}
    assert found["idle"].workers == ()


def test_a_worker_that_names_no_credential_is_still_counted():
    state = build(Timing(), lambda: 1_800_000_000.0)
    state.fleet.announce(worker(credential="", endpoint=""))
    found = serving(state, {})["gpt"]
    assert (len(found.workers), found.standings) == (1, ())


def test_traffic_and_queues_are_shown(redis_url: str, capsys):
    Path("b.yaml").write_text(
        "backends:\n  gpt: {kind: openai_chat, model: m, limits: {concurrency: 4}}\n"
    )
    with connect(redis_url, Timing()) as state:
        state.fleet.announce(worker(version="0.0.1", lane="quarantine"))
        state.fleet.announce(WorkerInfo("far-1@h", "far", "0" * 64, 2))
        for call in ("call-1", "call-2"):
            assert state.throttle.admit(SCOPE, LIMITS, call, tokens=1).granted
        state.throttle.leave(SCOPE, LIMITS, "call-1", CallEnd("limited", hold_s=90))
    with redis.Redis.from_url(queue_url(redis_url)) as broker:
        broker.rpush("cel:b.gpt", "one", "two")
        broker.rpush("cel:b.gpt.q", "three")
    arguments = ["backends", "--backends", "b.yaml", "--redis", redis_url]
    assert main.run_command([*arguments, "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["backends"]}
    [info] = found["gpt"]["workers"]
    assert (info["name"], info["lane"], info["same_fingerprint"]) == (
        "gpt-1@h",
        "quarantine",
        False,
    )
    [traffic] = found["gpt"]["traffic"]
    assert (traffic["in_flight"], traffic["breaker"]) == (1, "closed")
    assert 80 < traffic["hold_s"] <= 90
    assert (found["gpt"]["queued"], found["gpt"]["quarantined"]) == (2, 1)
    assert found["far"]["defined_in"] is None
    assert main.run_command(arguments) == 0
    text = capsys.readouterr().out
    assert "ANOTHER FINGERPRINT: ffffffffffffffff" in text
    assert "1 in flight of 1, held for" in text
    assert "2 messages waiting, 1 in quarantine" in text
    assert "far  (not in this catalogue)" in text


def test_a_real_worker_is_listed_with_its_traffic(redis_url: str, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PLANTED_WORKER_KEY", KEY)
    with running(SimulatorOptions(api_key=KEY)) as provider:
        fleet = WorkerFleet(redis_url, tmp_path, provider)
        try:
            fleet.start("7", concurrency=3)
            entry = fleet.backend.model_dump(
                mode="json", include={"kind", "model", "base_url", "api_key_env", "revision"}
            )
            Path("b.yaml").write_text(json.dumps({"backends": {"sim": entry}}))
            code = main.run_command(
                ["backends", "--backends", "b.yaml", "--redis", redis_url, "--json"]
            )
            out, err = capsys.readouterr()
        finally:
            fleet.close()
    assert code == 0
    assert KEY not in out + err
    [sim] = json.loads(out)["backends"]
    [info] = sim["workers"]
    assert (info["capacity"], info["same_fingerprint"]) == (3, True)
    [traffic] = sim["traffic"]
    assert (traffic["in_flight"], traffic["breaker"], traffic["hold_s"]) == (0, "closed", 0.0)
