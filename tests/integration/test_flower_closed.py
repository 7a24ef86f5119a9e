"""Flower as we start it: closed on every route, and unable to change anything."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flower.urls import handlers
from private_redis import redis_on_a_port

from producer.dispatch import Dispatcher
from skillopt.domain.item import ExactJudge, Item, TaskPrompt
from skillopt.domain.jobs import RolloutSpec
from skillopt.health import complaints
from skillopt.loop.jobs import WantedJob
from skillopt.state.urls import broker_url

REDIS_PASSWORD = "redis-password-of-the-test"
PROMPT = "a prompt that nobody shall see in Flower"
USER, PASSWORD = "team", "flower-password-of-the-test"
HEADER = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
WRONG = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}x".encode()).decode()
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "TRACE")


@dataclass(frozen=True)
class Running:
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def ask(
        self, path: str, method: str = "GET", header: str | None = None, body: bytes | None = None
    ) -> tuple[int, bytes]:
        request = urllib.request.Request(self.url + path, method=method, data=body)
        if header is not None:
            request.add_header("Authorization", header)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read()


def start(folder: Path, redis_url: str, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "SKILLOPT_REDIS_URL": redis_url,
        "SKILLOPT_FLOWER_AUTH": f"{USER}:{PASSWORD}",
    }
    with (folder / "flower.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "producer.cli", "flower", "--log-format", "json", *arguments],
            env=environment,
            stdout=log,
            stderr=log,
        )


def port_of(log: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = re.search(r"Flower at http://127\.0\.0\.1:(\d+)", log.read_text())
        if found:
            return int(found[1])
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(f"Flower did not start: {log.read_text()}")


@pytest.fixture(scope="module")
def flower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("flower")
    with redis_on_a_port(password=REDIS_PASSWORD) as redis_url:
        process = start(folder, redis_url, "--port", "0", "--health-file", str(folder / "health"))
        worker = start_worker(folder, redis_url)
        try:
            port = port_of(folder / "flower.log", process)
            running = Running(f"http://127.0.0.1:{port}", process, folder / "flower.log")
            send_a_task(folder, redis_url, running)
            yield running
        finally:
            for one in (worker, process):
                one.send_signal(signal.SIGTERM)
            for one in (worker, process):
                assert one.wait(timeout=30) == 0
        assert not (folder / "health").exists()


def start_worker(folder: Path, redis_url: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "producer.cli", "worker", "--backend", "sim"]
    with (folder / "worker.log").open("wb") as log:
        return subprocess.Popen(
            [*command, "--health-file", str(folder / "worker-health")],
            env={**os.environ, "SKILLOPT_REDIS_URL": redis_url, "SKILLOPT_TIMING": "embedded"},
            stdout=log,
            stderr=log,
        )


def send_a_task(folder: Path, redis_url: str, flower: Running) -> None:
    """Send a message as a coordinator would, and wait until Flower has seen its end."""
    health, end = folder / "worker-health", time.monotonic() + 60
    while complaints(health, ready=True, now=time.monotonic()):
        assert time.monotonic() < end, (folder / "worker.log").read_text()
        time.sleep(0.05)
    item = Item(id="<b>t1</b>", prompt=TaskPrompt(task=PROMPT), judge=ExactJudge(answer="x"))
    hashes = dict.fromkeys(("skill", "prompt", "template", "backend"), "a" * 64)
    job = WantedJob(
        RolloutSpec(**hashes),
        role="target",
        label=f"step 1 / gate / {item.id} / 0",
        blobs=(PROMPT.encode(),),
    )
    dispatcher = Dispatcher(broker_url(redis_url))
    dispatcher.send("r1", job, backend="sim", lane="normal")
    dispatcher.close()
    while b"unknown_job" not in flower.ask("/api/tasks", "GET", HEADER)[1]:
        assert time.monotonic() < end, flower.ask("/api/tasks", "GET", HEADER)
        time.sleep(0.1)


def routes() -> list[str]:
    """Give a path for each route that this version of Flower has."""
    patterns = [one.regex.pattern if hasattr(one, "regex") else one[0] for one in handlers]
    filled = [
        re.sub(r"\([^)]*\)", "css/flower.css" if "static" in pattern else "x", pattern)
        for pattern in patterns
    ]
    return sorted(
        {one.rstrip("$").replace("/?", "").replace(".*", "/no-such-page") for one in filled}
    )


def test_the_table_of_routes_is_not_empty() -> None:
    found = routes()
    assert {"/", "/metrics", "/healthcheck", "/static/css/flower.css", "/no-such-page"} <= set(
        found
    )
    assert len(found) > 25


@pytest.mark.parametrize("header", [None, WRONG, "Bearer x", "Basic !", "Basic " + "%" * 8])
def test_every_route_and_method_is_closed_without_the_credentials(
    flower: Running, header: str | None
) -> None:
    methods = METHODS if header is None else ("GET", "POST")
    answers = {
        (method, path): flower.ask(path, method, header)[0]
        for path in routes()
        for method in methods
    }
    assert set(answers.values()) == {401}, answers


def test_a_body_that_makes_no_sense_is_refused_like_any_other(flower: Running) -> None:
    for body in (b"\0" * 1000, b"a=%zz", b"{"):
        assert flower.ask("/api/task/apply/so.rollout", "POST", None, body)[0] == 401


def test_every_change_is_refused_with_the_credentials(flower: Running) -> None:
    control = [path for path in routes() if path.startswith("/api/")]
    assert any("shutdown" in path for path in control)
    for path in control:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert flower.ask(path, method, HEADER, b"{}")[0] == 403, (method, path)
    assert flower.ask("/", "OPTIONS", HEADER)[0] == 403


def test_pages_are_shown_with_the_credentials_and_tell_no_password(flower: Running) -> None:
    shown = ["/", "/workers", "/tasks", "/broker", "/metrics", "/healthcheck", "/api/workers"]
    shown += ["/api/tasks", "/api/queues/length", "/static/css/flower.css"]
    for path in shown:
        status, body = flower.ask(path, "GET", HEADER)
        assert status == 200, (path, body[-300:])
        assert REDIS_PASSWORD.encode() not in body, path
        assert PASSWORD.encode() not in body, path


def test_a_task_shows_where_it_belongs_and_in_one_word_what_came_of_it(flower: Running) -> None:
    [task] = json.loads(flower.ask("/api/tasks", "GET", HEADER)[1]).values()
    assert task["name"] == "so.rollout"
    assert task["args"] == "r1 / step 1 / gate / <b>t1</b> / 0"
    assert task["result"] == "'unknown_job'"
    assert task["exception"] is None
    assert task["routing_key"] == "b.sim"
    assert task["worker"].startswith("sim-1-")


def test_pages_of_workers_and_tasks_show_no_password_no_prompt_and_no_markup(
    flower: Running,
) -> None:
    [task] = json.loads(flower.ask("/api/tasks", "GET", HEADER)[1]).values()
    worker = json.loads(flower.ask("/api/workers?refresh=1", "GET", HEADER)[1])
    assert list(worker) == [task["worker"]]
    listed = "draw=1&start=0&length=10&order%5B0%5D%5Bcolumn%5D=0&order%5B0%5D%5Bdir%5D=asc"
    pages = [f"/worker/{task['worker']}", f"/task/{task['uuid']}", "/workers?json=1", "/workers"]
    pages += ["/api/workers", "/broker", "/metrics", f"/api/task/info/{task['uuid']}"]
    for path in pages:
        status, body = flower.ask(path, "GET", HEADER)
        assert status == 200, (path, body[-300:])
        assert REDIS_PASSWORD.encode() not in body, path
        assert PROMPT.encode() not in body, path
        if path.startswith("/task/"):
            assert b"&lt;b&gt;t1" in body
            assert b"<b>t1" not in body
    status, body = flower.ask(f"/tasks/datatable?{listed}", "POST", HEADER, b"")
    assert status == 200
    assert task["uuid"].encode() in body


def test_no_page_fails(flower: Running) -> None:
    failing = {
        path: status for path in routes() if (status := flower.ask(path, "GET", HEADER)[0]) >= 500
    }
    # A result backend there is none, which is what these two would ask.
    assert set(failing) <= {"/api/task/result/x", "/api/task/info/x"}, failing


def test_no_password_is_in_arguments_or_log(flower: Running) -> None:
    arguments = Path(f"/proc/{flower.process.pid}/cmdline").read_bytes()
    log = flower.log.read_text()
    for secret in (REDIS_PASSWORD, PASSWORD):
        assert secret.encode() not in arguments
        assert secret not in log
    for line in log.splitlines():
        json.loads(line)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "flower.example.org"])
def test_an_open_address_is_refused(tmp_path: Path, host: str) -> None:
    process = start(tmp_path, "redis://127.0.0.1:1/0", "--host", host, "--port", "0")
    assert process.wait(timeout=60) == 2
    told = (tmp_path / "flower.log").read_text()
    assert repr(host) in told
    assert "--allow-remote" in told
