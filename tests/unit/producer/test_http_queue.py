"""The queue over HTTP does what the queue itself does, and says what went wrong alike."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from api_service import Service, serving

from producer.api.settings import ApiSettings
from producer.client import Client
from producer.queue.models import EventRow, Quota, Retuning, RunStatus, Tags
from producer.queue.on_redis import RedisQueue
from producer.queue.open import open_queue
from producer.queue.over_http import HttpQueue
from producer.queue.port import Queue
from skillopt.config.packaged import configs_dir
from skillopt.errors import (
    ConfigError,
    Conflict,
    InputError,
    NotAllowed,
    StateError,
    StateUnavailable,
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    many = ApiSettings(request_burst=1e6, failure_burst=1e6, poll_s=0.02)
    with serving(tmp_path_factory.mktemp("api"), many) as running:
        yield running


@pytest.fixture
def as_(service: Service) -> Iterator[Callable[[str], Queue]]:
    """Give the queue of a token; all are closed in the end."""
    with ExitStack() as opened:

        def queue(token: str) -> Queue:
            one = HttpQueue(service.url, service.secrets[token])
            opened.callback(one.close)
            return one

        yield queue


@pytest.fixture
def over_http(as_: Callable[[str], Queue]) -> Queue:
    return as_("root")


@pytest.fixture
def directly(service: Service) -> Queue:
    return RedisQueue(service.bench.state, service.folder)


def test_every_page_is_the_same_over_http(service: Service, over_http: Queue, directly: Queue):
    run = service.runs["alice"]
    assert over_http.runs() == directly.runs()
    assert over_http.runs(owner="bob", limit=1) == directly.runs(owner="bob", limit=1)
    assert over_http.runs(phase="finished") == directly.runs(phase="finished")
    assert over_http.runs(labels={"no": "such"}) == []
    assert over_http.status(run) == directly.status(run)
    assert over_http.curve(run) == directly.curve(run)
    assert over_http.gates(run) == directly.gates(run)
    assert over_http.diff(run) == directly.diff(run)
    assert over_http.diff(run, "1") == directly.diff(run, "1")
    assert over_http.blame(run) == directly.blame(run)
    assert over_http.events(run, after=3, limit=4) == directly.events(run, after=3, limit=4)
    records = over_http.records(run, step=1, limit=5)
    assert records == directly.records(run, step=1, limit=5)
    assert len(records) == 5
    assert over_http.fleet() == directly.fleet()
    assert over_http.quotas() == directly.quotas()
    assert over_http.spend("owner") == directly.spend("owner")
    assert over_http.spend("run", since_s=3600) == directly.spend("run", since_s=3600)


def test_following_gives_all_events_and_the_end(service: Service, over_http: Queue):
    run = service.runs["alice"]
    told = list(over_http.follow(run, after=2))
    events = [one for one in told if isinstance(one, EventRow)]
    assert events == over_http.events(run, after=2)
    last = told[-1]
    assert isinstance(last, RunStatus)
    assert last.row.phase == "finished"


def test_steering_and_retuning_reach_the_run(service: Service, as_: Callable[[str], Queue]):
    queue = as_("bob-runner")
    run = service.runs["bob"]
    assert queue.pause(run).run == run
    assert queue.status(run).row.phase == "paused"
    assert queue.resume(run).run == run
    assert queue.retune(run, Retuning(max_usd=None, priority="high")).run == run
    assert queue.status(run).row.priority == "high"
    assert queue.cancel("bobs").run == run
    assert queue.status(run).row.phase == "cancelled"
    with pytest.raises(Conflict, match="cancelled"):
        queue.resume(run)


def test_an_admin_sets_quotas_and_limits(service: Service, over_http: Queue):
    over_http.set_quota(Quota(owner="carol", max_runs=2, max_window=5))
    found = {one.owner: one for one in over_http.quotas()}["carol"]
    assert (found.max_runs, found.max_window) == (2, 5)
    over_http.set_quota(Quota(owner="carol"))
    found = {one.owner: one for one in over_http.quotas()}["carol"]
    assert (found.max_runs, found.max_window) == (None, None)


def test_an_export_brings_the_artifacts(service: Service, over_http: Queue, tmp_path: Path):
    run = service.runs["alice"]
    exported = over_http.export(run, tmp_path / "there")
    assert exported["run"] == run
    assert exported["folder"] == str(tmp_path / "there")
    files = {one["path"]: one["bytes"] for one in exported["files"]}
    assert {"best_skill.md", "events.jsonl", "summary.json"} <= set(files)
    for name, size in files.items():
        assert (tmp_path / "there" / name).stat().st_size == size
    slim = over_http.export(run, tmp_path / "slim", records=False)
    assert not any(one["path"].startswith("rollouts/") for one in slim["files"])
    assert len(slim["files"]) < len(files)
    with pytest.raises(InputError, match="not empty"):
        over_http.export(run, tmp_path / "slim")


def test_a_submission_sends_what_the_spec_needs_and_no_more(
    service: Service, as_: Callable[[str], Queue], tmp_path: Path
):
    home = tmp_path / "my-skill"
    shutil.copytree(configs_dir() / "example", home)
    (home / ".skillopt").mkdir()
    (home / "secret.env").write_text("KEY=1")
    queue = as_("alice-runner")
    row = queue.submit(
        home / "spec.yaml",
        Tags(priority="low", labels={"area": "a=b c"}),
        overrides=["train.seed=3"],
    )
    assert row.owner == "alice"
    sent = service.submissions.seen[-1]
    assert sent.files == [
        "SKILL.md", "spec.yaml", "tasks/benchmark.jsonl", "tasks/held-out.jsonl"
    ]  # fmt: skip
    assert sent.tags == Tags(priority="low", labels={"area": "a=b c"})
    assert sent.overrides[0] == "train.seed=3"
    assert sent.overrides[-1].startswith("name=")


def test_what_the_token_may_not_do_is_told_with_the_fix(
    service: Service, as_: Callable[[str], Queue]
):
    viewer = as_("alice-viewer")
    with pytest.raises(NotAllowed, match="use a token of role runner or admin"):
        viewer.pause(service.runs["alice"])
    with pytest.raises(InputError, match="no run 'carols' that you may see"):
        viewer.status("carols")
    with (
        closing(HttpQueue(service.url, "sofl_" + "x" * 43)) as stranger,
        pytest.raises(NotAllowed, match="not valid"),
    ):
        stranger.runs()
    with pytest.raises(InputError, match="'nonsense'"):
        viewer.diff(service.runs["alice"], "nonsense")


def test_a_server_that_is_away_is_asked_again_and_then_named():
    waits: list[float] = []
    queue = HttpQueue("http://127.0.0.1:1", "sofl_x", wait=waits.append)
    with pytest.raises(StateUnavailable, match=r"'http://127\.0\.0\.1:1' cannot be reached"):
        queue.fleet()
    assert waits == [0.5, 1.0, 2.0]
    with pytest.raises(StateUnavailable, match="broke off"):
        list(queue.follow("r"))
    queue.close()


def test_a_flood_is_waited_out(tmp_path: Path):
    waits: list[float] = []
    settings = ApiSettings(requests_per_minute=60, request_burst=2)
    with serving(tmp_path, settings) as service:

        def wait(seconds: float) -> None:
            import time

            waits.append(seconds)
            time.sleep(seconds)

        queue = HttpQueue(service.url, service.secrets["root"], wait=wait)
        for _ in range(3):
            queue.quotas()
        queue.close()
    assert len(waits) == 1
    assert waits[0] >= 1


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://queue.example.org", "not encrypted"),
        ("http://10.0.0.1:8484", "not encrypted"),
        ("https://me:pw@queue.example.org", "holds a name or password"),
        ("https://", "not that of a server"),
        ("https://h/?x=1", "not that of a server"),
        ("https://h:99999", "not that of a server"),
    ],
)
def test_a_url_that_a_token_may_not_go_to_is_refused(url: str, words: str):
    with pytest.raises(ConfigError, match=words) as refused:
        open_queue(url, "sofl_x", environ={})
    assert "pw" not in str(refused.value)


def test_plain_http_is_possible_where_a_person_says_so():
    open_queue("http://10.0.0.1:8484/", "sofl_x", environ={"SKILLOPT_PLAIN_HTTP": "1"}).close()


def test_a_redirect_takes_no_token_elsewhere(service: Service):
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(307)
            self.send_header("Location", service.url + "/api/v1/quotas")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        queue = HttpQueue(f"http://127.0.0.1:{server.server_port}", service.secrets["root"])
        with pytest.raises(StateError, match="elsewhere"):
            queue.quotas()
        queue.close()
        thread.join()


def test_the_environment_names_the_queue(service: Service):
    environ = {"SKILLOPT_URL": service.url, "SKILLOPT_TOKEN": service.secrets["root"]}
    queue = open_queue(environ={**environ, "SKILLOPT_REDIS_URL": "redis://127.0.0.1:1/0"})
    assert {row.owner for row in queue.runs()} >= {"alice", "carol"}
    queue.close()
    with pytest.raises(ConfigError, match="SKILLOPT_TOKEN"):
        open_queue(service.url, environ={})
    with pytest.raises(ConfigError, match="no queue is named"):
        open_queue(environ={})
    with pytest.raises(ConfigError, match="not understood"):
        open_queue("nonsense", environ={})


def test_a_redis_url_is_the_queue_in_redis(redis_url: str, tmp_path: Path):
    queue = open_queue(redis_url, store=tmp_path, environ={})
    assert isinstance(queue, RedisQueue)
    assert queue.runs() == []
    queue.close()


def test_a_program_waits_for_a_run_and_takes_its_artifacts(service: Service, tmp_path: Path):
    with Client(service.url, service.secrets["alice-runner"], environ={}) as client:
        row = next(one for one in client.runs(phase="finished") if one.name == "alices")
        status = client.wait(row.run, timeout_s=10)
        assert status.row.phase == "finished"
        assert client.export(row.run, tmp_path / "out")["run"] == row.run
        assert client.status("alices") == status
        with pytest.raises(TimeoutError, match="after 0 s"):
            client.wait(row.run, timeout_s=0, until=lambda status: False)
        with pytest.raises(Conflict):
            client.retune(row.run, max_calls=5)
