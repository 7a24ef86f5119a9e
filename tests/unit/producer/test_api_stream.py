"""A run's events and status over a stream that can be taken up again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from api_service import Service, serving

from producer.api.settings import ApiSettings


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    settings = ApiSettings(poll_s=0.01, heartbeat_s=0.05, streams_per_token=2)
    with serving(tmp_path, settings) as running:
        yield running


def _messages(
    service: Service, run: str, token: str = "root", **more: object
) -> list[httpx2.ServerSentEvent]:
    with (
        service.client(token) as client,
        client.sse(f"/runs/{run}/stream", **more) as source,
    ):
        assert source.response.headers["Content-Type"].startswith("text/event-stream")
        return list(source)


def test_the_stream_of_an_ended_run_gives_all_its_events_and_its_end(service: Service):
    run = service.runs["alice"]
    messages = _messages(service, run)
    events = [json.loads(one.data) for one in messages if one.event == "event"]
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    assert events == service.get("root", f"/runs/{run}/events").json()
    status = json.loads([one for one in messages if one.event == "status"][-1].data)
    assert status["row"]["phase"] == "finished"


def test_a_reader_comes_back_with_the_last_id_and_misses_nothing(service: Service):
    run = service.runs["alice"]
    every = [one for one in _messages(service, run) if one.event == "event"]
    middle = len(every) // 2
    for more in (
        {"headers": {"Last-Event-ID": every[middle].id}},
        {"params": {"after": every[middle].id}},
        {"params": {"after": 0}, "headers": {"Last-Event-ID": every[middle].id}},
    ):
        rest = [one for one in _messages(service, run, **more) if one.event == "event"]
        assert [one.data for one in rest] == [one.data for one in every[middle + 1 :]]


def test_news_arrive_while_the_reader_waits(service: Service):
    run = service.runs["bob"]
    with service.client("root") as client, client.sse(f"/runs/{run}/stream") as source:
        stream = iter(source)
        seen = [next(stream) for _ in range(3)]
        assert [one.event for one in seen if one.event != "message"] == ["event", "status"]
        service.bench.drive(run)
        rest = list(stream)
    assert json.loads([one for one in rest if one.event == "status"][-1].data)["row"]["phase"] == (
        "finished"
    )
    assert json.loads([one for one in rest if one.event == "event"][-1].data)["type"] == "finished"


def test_a_quiet_stream_says_that_it_is_alive(service: Service):
    path = f"/runs/{service.runs['bob']}/stream"
    with service.client("root") as client, client.stream("GET", path) as response:
        for line in response.iter_lines():
            if line.startswith(":"):
                break
        else:
            pytest.fail("the stream ended")


def test_a_token_has_only_so_many_streams_and_closed_ones_do_not_count(service: Service):
    path = f"/runs/{service.runs['bob']}/stream"
    with service.client("root") as client:
        with client.stream("GET", path) as one, client.stream("GET", path) as two:
            assert one.status_code == two.status_code == 200
            lines = [one.iter_lines(), two.iter_lines()]
            assert [next(each) for each in lines] == ["retry: 2000"] * 2
            third = client.get(path)
            assert third.status_code == 429
            assert third.json()["error"]["code"] == "too_many_streams"
        for _ in range(500):
            with client.stream("GET", path) as again:
                if again.status_code == 200:
                    break
        else:
            pytest.fail("a closed stream is still counted")


def test_a_stream_ends_when_its_token_is_revoked(service: Service):
    path = f"/runs/{service.runs['bob']}/stream"
    with service.client("bob-runner") as client, client.stream("GET", path) as response:
        lines = response.iter_lines()
        next(lines)
        service.bench.state.tokens.revoke("bob-runner")
        for _ in lines:
            pass


@pytest.mark.parametrize("given", ["x", "-1", "1e3", "\uff19", "9" * 30])
def test_an_id_that_is_no_number_is_refused(service: Service, given: str):
    path = f"/runs/{service.runs['alice']}/stream"
    reply = service.ask("root", "GET", path, headers={"Last-Event-ID": given.encode()})
    assert reply.status_code == 422
