"""What a webhook gets, and what keeps it from being posted anything."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from producer.queue.models import Money
from producer.webhook import DELIVERY, SIGNATURE, TIMESTAMP, News, NotDelivered, Webhook, signature
from skillopt.domain.notices import Notify, fault_of_webhook
from skillopt.errors import ConfigError

NEWS = News(
    id="greeter-1:9",
    kind="finished",
    at=1000.5,
    run="greeter-1",
    name="greeter",
    owner="ann",
    team="blue",
    labels={"ticket": "7"},
    phase="finished",
    words="finished: every step is done",
    initial_score=0.25,
    best_score=0.75,
    spent=Money(calls=5, tokens=70, usd=None),
)


class Receiver:
    """A server on loopback that keeps what it is posted and answers as told."""

    def __init__(self) -> None:
        receiver = self
        self.answer = 204
        self.posted: list[tuple[str, dict[str, str], bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.posted.append((self.path, dict(self.headers), body))
                self.send_response(receiver.answer)
                if receiver.answer == 302:
                    self.send_header("Location", f"{receiver.url}elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.close()
    thread.join()


def test_news_are_posted_signed_over_time_and_body(receiver: Receiver):
    Webhook(key=b"secret").post(f"{receiver.url}hook", NEWS, now=lambda: 1234.4)
    [(path, headers, body)] = receiver.posted
    assert path == "/hook"
    assert News.model_validate_json(body) == NEWS
    assert json.loads(body)["spent"]["usd"] is None, "unknown is not 0"
    assert (headers[DELIVERY], headers[TIMESTAMP]) == ("greeter-1:9", "1234")
    assert headers[SIGNATURE] == signature(b"secret", "1234", body)
    assert headers[SIGNATURE].startswith("sha256=")
    assert b"secret" not in body
    assert signature(b"other", "1234", body) != headers[SIGNATURE]


def test_without_a_key_nothing_is_signed(receiver: Receiver):
    Webhook().post(receiver.url, NEWS, now=lambda: 0.0)
    [(_, headers, _)] = receiver.posted
    assert SIGNATURE not in headers


@pytest.mark.parametrize("answer", [302, 400, 404, 410, 500])
def test_another_answer_than_2xx_is_no_delivery_and_redirects_are_not_followed(
    receiver: Receiver, answer: int
):
    receiver.answer = answer
    with pytest.raises(NotDelivered, match=f"127.0.0.1 answered {answer}"):
        Webhook().post(receiver.url, NEWS, now=lambda: 0.0)
    assert len(receiver.posted) == 1


def test_a_server_that_is_away_is_no_delivery(receiver: Receiver):
    receiver.close()
    with pytest.raises(NotDelivered, match=r"127\.0\.0\.1: ConnectError"):
        Webhook(timeout_s=1).post(receiver.url, NEWS, now=lambda: 0.0)


def test_only_named_hosts_are_told(receiver: Receiver):
    webhook = Webhook.from_environment({"SKILLOPT_WEBHOOK_HOSTS": "hooks.example, Other.example"})
    assert webhook.hosts == {"hooks.example", "other.example"}
    with pytest.raises(NotDelivered, match=r"'127\.0\.0\.1' is not among SKILLOPT_WEBHOOK_HOSTS"):
        webhook.post(receiver.url, NEWS, now=lambda: 0.0)
    assert receiver.posted == []


def test_the_key_comes_from_the_environment():
    assert Webhook.from_environment({}) == Webhook()
    assert Webhook.from_environment({"SKILLOPT_WEBHOOK_KEY": "k"}).key == b"k"
    with pytest.raises(ConfigError, match="SKILLOPT_WEBHOOK_KEY is set but empty"):
        Webhook.from_environment({"SKILLOPT_WEBHOOK_KEY": " "})


def test_a_key_is_not_shown():
    assert "secret" not in repr(Webhook(key=b"secret"))


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example/a?b=c",
        "https://hooks.example:8443/",
        "http://127.0.0.1:9/hook",
        "http://localhost/hook",
        "http://[::1]:8/",
    ],
)
def test_https_and_this_machine_may_be_told(url: str):
    assert fault_of_webhook(url) == ""
    assert Notify(webhook=url).webhook == url


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://hooks.example/a", "by https, or by http on this machine"),
        ("ftp://hooks.example/a", "by https"),
        ("https://", "by https"),
        ("hooks.example", "by https"),
        ("https://ann:secret@hooks.example/", "no user and no password"),
        ("https://hooks.example/a b", "without spaces"),
        ("https://hooks.example/\r\nX: y", "without spaces"),
        ("https://hooks.example:99999/", "no URL"),
        ("https://h/" + "x" * 2000, "plain characters"),
    ],
)
def test_anything_else_is_refused_in_words(url: str, words: str):
    assert words in fault_of_webhook(url)
    with pytest.raises(ValueError, match=words):
        Notify(webhook=url)
    with pytest.raises(NotDelivered, match=words):
        Webhook().post(url, NEWS, now=lambda: 0.0)
