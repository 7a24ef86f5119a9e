"""A spec that is submitted over HTTP becomes a run in Redis, of its submitter and nobody else."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from producer.api.server import ApiServer, ServeOptions
from producer.queue.models import Tags
from producer.queue.on_redis import RUNS, RedisQueue
from producer.queue.over_http import HttpQueue
from producer.queue.submission import SpecSubmitter
from producer.tokens import issue
from skillopt.config.packaged import configs_dir
from skillopt.domain.timing import EMBEDDED
from skillopt.errors import ConfigError, Conflict
from skillopt.state.redis.connect import RedisState, connect

CATALOGUE = """
backends:
  sim: {kind: simulated, model: sim, base_url: "${SIM_URL}", price: 0, revision: r1}
"""

As = Callable[[str, str], HttpQueue]


@pytest.fixture
def state(redis_url: str) -> Iterator[RedisState]:
    with connect(redis_url, EMBEDDED) as state:
        yield state


@pytest.fixture
def as_(state: RedisState, tmp_path: Path) -> Iterator[As]:
    """Serve, and give the queue of a runner by owner and team."""
    catalogue = tmp_path / "catalogue.yaml"
    catalogue.write_text(CATALOGUE)
    store = tmp_path / "store"
    environ = {
        "SIM_URL": "http://127.0.0.1:9/v1", "SKILLOPT_OWNER": "server", "SKILLOPT_TEAM": "servers"
    }  # fmt: skip
    submitter = SpecSubmitter(
        state, store / RUNS, environ, catalogue, publish_revision=lambda backend: "r1"
    )
    queue = RedisQueue(state, store, submitter=submitter)
    server = ApiServer(ServeOptions(store, port=0), state, queue, lambda folder: "")
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    with ExitStack() as opened:

        def queue_of(owner: str, team: str) -> HttpQueue:
            secret = issue(state.tokens, name=owner, role="runner", owner=owner, team=team).secret
            one = HttpQueue(server.url, secret)
            opened.callback(one.close)
            return one

        yield queue_of
    server.stop()
    thread.join(timeout=20)
    assert not thread.is_alive()


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    home = tmp_path / "support-reply"
    shutil.copytree(configs_dir() / "example", home)
    text = (home / "spec.yaml").read_text()
    (home / "spec.yaml").write_text(
        "\n".join(line for line in text.splitlines() if not line.startswith("name:")) + "\n"
    )
    return home / "spec.yaml"


def test_a_run_belongs_to_its_submitter_and_is_named_after_their_folder(
    as_: As, spec: Path, state: RedisState
):
    row = as_("alice", "").submit(spec, Tags(labels={"area": "docs"}))
    assert row.name == "support-reply"
    assert (row.owner, row.team, row.phase) == ("alice", "", "queued")
    assert row.labels["area"] == "docs"
    info = state.runs.info(row.run)
    assert info is not None
    assert info.meta["spec"] == "spec.yaml"
    assert "api" not in info.meta["skill"]


def test_the_same_content_is_the_same_run_for_its_owner_alone(
    as_: As, spec: Path, state: RedisState
):
    alice, carol = as_("alice", "blue"), as_("carol", "red")
    first = alice.submit(spec, Tags())
    alice.pause(first.run)
    before = state.runs.log(first.run)
    other = carol.submit(spec, Tags(priority="high"), overrides=["budget.max_calls=5000"])
    assert other.run != first.run
    assert (other.owner, other.team) == ("carol", "red")
    assert state.runs.log(first.run) == before, "nobody else continues or retunes it"
    assert alice.status(first.run).row.phase == "paused"
    assert alice.status(first.run).budget["max_calls"] != 5000
    assert [row.run for row in carol.runs()] == [other.run]
    assert carol.submit(spec, Tags()).run == other.run
    assert alice.submit(spec, Tags()).run == first.run
    assert alice.status(first.run).row.phase != "paused"


def test_priority_is_the_specs_unless_given(as_: As, spec: Path):
    with spec.open("a") as file:
        file.write("priority: low\n")
    queue = as_("alice", "blue")
    assert queue.submit(spec, Tags()).priority == "low"
    assert queue.submit(spec, Tags(priority="high")).priority == "high"


def test_a_backend_that_the_server_does_not_know_is_named(as_: As, spec: Path):
    with pytest.raises(ConfigError, match="no backend is called 'mine'") as refused:
        as_("alice", "blue").submit(spec, Tags(), overrides=["model.target=mine"])
    assert "/store/" not in str(refused.value)


def test_an_owner_has_only_as_many_runs_as_they_may(as_: As, spec: Path, state: RedisState):
    state.quotas.set("alice", max_runs=1, max_window=None)
    queue = as_("alice", "blue")
    queue.submit(spec, Tags())
    with pytest.raises(Conflict, match="may have 1"):
        queue.submit(spec, Tags(), overrides=["train.seed=9"])
