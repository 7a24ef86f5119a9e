"""What the server does with strangers, floods, large bodies, browsers and its own log."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path

import httpx2
import pytest
from api_service import Service, bench_with_runs, serving

from producer.api.failures import Refusal
from producer.api.rates import Rates, network_of
from producer.api.server import check_bind
from producer.api.settings import ApiSettings
from producer.api.simultaneous import Simultaneous
from producer.api.uploads import sweep
from producer.tokens import issue
from skillopt.domain.timing import EMBEDDED
from skillopt.errors import ConfigError, StateUnavailable
from skillopt.state.memory.build import build

SMALL = ApiSettings(
    requests_per_minute=60,
    request_burst=5,
    failures_per_minute=60,
    failure_burst=3,
    max_json_bytes=500,
    max_upload_bytes=2000,
    body_silence_s=0.2,
)


def _get(service: Service, secret: str) -> httpx2.Response:
    with service.client() as client:
        return client.get("/me", headers={"Authorization": f"Bearer {secret}"})


def test_one_token_may_ask_only_so_often(tmp_path: Path):
    with serving(tmp_path, SMALL) as service:
        codes = [service.get("alice-viewer", "/me").status_code for _ in range(7)]
        assert codes[:5] == [200] * 5
        last = service.get("alice-viewer", "/me")
        assert last.status_code == 429
        assert int(last.headers["Retry-After"]) >= 1
        assert last.json()["error"]["code"] == "too_many_requests"
        assert service.get("root", "/me").status_code == 200


def test_wrong_tokens_from_one_address_are_soon_not_looked_at(tmp_path: Path):
    with serving(tmp_path, SMALL) as service:
        assert service.get("root", "/me").status_code == 200
        codes = [_get(service, f"sofl_{number:043d}").status_code for number in range(6)]
        assert codes[:3] == [401] * 3
        assert codes[3:] == [429] * 3
        assert service.get("root", "/me").status_code == 200, "known: behind the same proxy"
        assert service.get("alice-viewer", "/me").status_code == 429, "not seen before"


def test_a_body_that_is_announced_too_large_is_not_read(tmp_path: Path):
    with serving(tmp_path, SMALL) as service:
        reply = service.ask("root", "PUT", "/quotas/alice", content=b"x" * 501)
        assert reply.status_code == 413
        reply = service.ask("root", "POST", "/runs", content=b"x" * 2001)
        assert reply.status_code == 413


def test_a_body_that_turns_out_too_large_is_cut_off(tmp_path: Path):
    with serving(tmp_path, SMALL) as service:
        pieces = (b"x" * 100 for _ in range(100))
        reply = service.ask("root", "PUT", "/quotas/alice", content=pieces)
        assert reply.status_code == 413
        headers = {"Content-Type": "application/zip"}
        pieces = (b"x" * 100 for _ in range(100))
        reply = service.ask("root", "POST", "/runs", content=pieces, headers=headers)
        assert reply.status_code == 413
        assert list((tmp_path / "api").iterdir()) == []


def test_a_body_that_stays_away_is_not_waited_for(tmp_path: Path):
    with serving(tmp_path, SMALL) as service:
        host, _, port = service.url.removeprefix("http://").partition(":")
        head = (
            "PUT /api/v1/quotas/alice HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n"
            f"Authorization: Bearer {service.secrets['root']}\r\n\r\n"
        )
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(head.encode() + b'{"max')
            assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


def test_every_response_tells_browsers_what_not_to_do(tmp_path: Path):
    with serving(tmp_path) as service, httpx2.Client(base_url=service.url) as browser:
        pages = [browser.get("/"), browser.get("/static/app.js"), browser.get("/nothing")]
        answers = [service.get("root", "/runs"), service.get(None, "/runs")]
        report = service.get("root", f"/runs/{service.runs['alice']}/report")
    for reply in (*pages, *answers, report):
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["X-Frame-Options"] == "DENY"
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        policy = reply.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "Server" not in reply.headers
        assert "Access-Control-Allow-Origin" not in reply.headers
    for reply in pages:
        assert "'unsafe" not in reply.headers["Content-Security-Policy"]
        assert "script-src 'self'" in reply.headers["Content-Security-Policy"]
    for reply in answers:
        assert "script-src" not in reply.headers["Content-Security-Policy"]
        assert reply.headers["Cache-Control"] == "no-store"
    assert "sandbox" in report.headers["Content-Security-Policy"]
    assert "script-src" not in report.headers["Content-Security-Policy"]


def test_the_page_loads_without_a_token_and_holds_no_data(tmp_path: Path):
    with serving(tmp_path) as service, httpx2.Client(base_url=service.url) as browser:
        page = browser.get("/")
        assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert browser.get("/static/app.js").headers["Content-Type"].startswith("text/javascript")
        assert service.runs["alice"] not in page.text
        for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"):
            assert browser.get(path).status_code == 404


def test_no_token_and_no_query_reaches_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    wrong = "sofl_" + "w" * 43
    with serving(tmp_path) as service:
        service.get("root", "/runs", owner="private-words")
        _get(service, wrong)
        secret = service.secrets["root"]
    lines = [vars(record) for record in caplog.records]
    requests = [line for line in lines if line.get("event") == "api_request"]
    assert {("/api/v1/runs", 200, "root"), ("/api/v1/me", 401, "")} <= {
        (line["path"], line["status"], line["caller"]) for line in requests
    }
    ours = str([line for line in lines if str(line["name"]).startswith(("producer", "uvicorn"))])
    for hidden in (secret, wrong, secret[5:], "private-words"):
        assert hidden not in ours


def test_a_defect_is_told_to_the_log_and_not_to_the_caller(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    from producer.queue.on_redis import RedisQueue

    def broken(self: object) -> None:
        raise ValueError("inner secret")

    monkeypatch.setattr(RedisQueue, "fleet", broken)
    with serving(tmp_path) as service:
        reply = service.get("root", "/fleet")
    assert reply.status_code == 500
    assert reply.json()["error"]["code"] == "internal"
    assert "inner secret" not in reply.text
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert "inner secret" in caplog.text


def test_a_state_that_is_away_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    bench = bench_with_runs()
    with serving(tmp_path, bench=bench) as service:

        def away(digest: str) -> None:
            raise StateUnavailable("Redis cannot serve now; is it up?")

        monkeypatch.setattr(bench.state.tokens, "find", away)
        reply = service.get("root", "/fleet")
    assert reply.status_code == 503
    assert reply.json()["error"]["code"] == "state_unavailable"
    assert reply.headers["Retry-After"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.7", "example.org"])
def test_an_open_address_is_refused_until_there_is_a_token(host: str):
    tokens = build(EMBEDDED, lambda: 1_800_000_000.0).tokens
    with pytest.raises(ConfigError, match="skillopt token create"):
        check_bind(host, tokens)
    issue(tokens, name="one", role="viewer", owner="alice")
    check_bind(host, tokens)
    tokens.revoke("one")
    with pytest.raises(ConfigError, match="no token is in force"):
        check_bind(host, tokens)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.5", "::1", "localhost"])
def test_this_machine_may_be_served_without_tokens(host: str):
    check_bind(host, build(EMBEDDED, lambda: 0.0).tokens)


def test_a_bucket_fills_again_with_time():
    now = 0.0
    rates = Rates(60, 2, lambda: now)
    assert [rates.take("a") for _ in range(3)] == [0.0, 0.0, 1.0]
    assert rates.take("b") == 0.0
    now = 0.5
    assert rates.take("a") == 0.5
    now = 1.0
    assert rates.take("a") == 0.0
    now = 100.0
    assert [rates.take("a") == 0.0 for _ in range(3)] == [True, True, False]


def test_buckets_do_not_fill_the_memory():
    rates = Rates(1, 1, lambda: 0.0)
    for number in range(10_500):
        rates.take(str(number))
    assert "0" not in rates
    assert "10499" in rates


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", ""),
    ],
)
def test_addresses_of_one_customer_count_as_one(address: str, network: str):
    assert network_of(address) == network


@pytest.mark.parametrize("body", [b"\xff\xfe", b"{", b"[" * 60_000, b'{"max_runs": NaN}', b"[]"])
def test_a_body_that_is_no_json_object_is_refused(tmp_path: Path, body: bytes):
    with serving(tmp_path) as service:
        headers = {"Content-Type": "application/json"}
        reply = service.ask("root", "PUT", "/quotas/alice", content=body, headers=headers)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "bad_request"


@pytest.mark.parametrize(
    "body", ['{"max_usd": Infinity}', '{"max_calls": 1e400}', '{"max_tokens": 1' + "0" * 30 + "}"]
)
def test_figures_beyond_all_sense_are_refused(tmp_path: Path, body: str):
    with serving(tmp_path) as service:
        path = f"/runs/{service.runs['bob']}"
        headers = {"Content-Type": "application/json"}
        reply = service.ask("root", "PATCH", path, content=body, headers=headers)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "bad_request"


def test_where_a_folder_lies_is_told_to_admins_alone(tmp_path: Path):
    bench = bench_with_runs()
    with serving(tmp_path, bench=bench) as service:
        run = service.runs["alice"]
        folder = tmp_path / "runs" / run
        folder.mkdir(parents=True)
        (folder / "plan.json").write_text("{}")
        assert service.get("root", f"/runs/{run}").json()["run_dir"] == str(folder)
        for path in (f"/runs/{run}", f"/runs/{run}/stream"):
            assert str(tmp_path) not in service.get("alice-runner", path).text


def test_one_token_has_only_so_many_uploads_under_way():
    uploads = Simultaneous("uploads", per_token=1, in_all=2)
    with uploads.counted("a"):
        with pytest.raises(Refusal, match="token 'a' has 1 uploads open"):
            uploads.check("a")
        uploads.check("b")
        with uploads.counted("b"), pytest.raises(Refusal, match="the server 2"):
            uploads.check("c")
    uploads.check("a")


def test_what_a_killed_server_left_is_removed_when_it_is_old(tmp_path: Path):
    for name in ("upload-old", "upload-new"):
        (tmp_path / name / "files").mkdir(parents=True)
    os.utime(tmp_path / "upload-old", (1, 1))
    sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["upload-new"]
