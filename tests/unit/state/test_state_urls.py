from __future__ import annotations

import pytest
import redis
from kombu import Connection
from kombu.utils.url import url_to_parts
from redis.connection import parse_url

from skillopt.errors import ConfigError
from skillopt.state.urls import broker_url, redacted, state_url


@pytest.mark.parametrize(
    ("url", "state", "broker"),
    [
        ("redis://host", "redis://host/2", "redis://host/0"),
        ("redis://host:6380/3", "redis://host:6380/5", "redis://host:6380/3"),
        ("redis://host?db=4", "redis://host/6", "redis://host/4"),
        ("redis://[::1]:6380/1", "redis://[::1]:6380/3", "redis://[::1]:6380/1"),
        ("redis://:p%40ss@host/0", "redis://:p%40ss@host/2", "redis://:p%40ss@host/0"),
        ("redis://me:pw@host/0", "redis://me:pw@host/2", "redis://me:pw@host/0"),
        (
            "redis://host/0?client_name=x",
            "redis://host/2?client_name=x",
            "redis://host/0",
        ),
        ("rediss://host/0", "rediss://host/2", "rediss://host/0?ssl_cert_reqs=required"),
        (
            "rediss://host/0?ssl_cert_reqs=none",
            "rediss://host/2?ssl_cert_reqs=none",
            "rediss://host/0?ssl_cert_reqs=none",
        ),
        (
            "unix:///run/r.sock",
            "unix:///run/r.sock?db=2",
            "redis+socket:///run/r.sock?virtual_host=0",
        ),
        (
            "unix:///run/r.sock?db=1&password=pw",
            "unix://:pw@/run/r.sock?db=3",
            "redis+socket://:pw@/run/r.sock?virtual_host=1",
        ),
        (
            "redis+socket:///run/r.sock?virtual_host=4",
            "unix:///run/r.sock?db=6",
            "redis+socket:///run/r.sock?virtual_host=4",
        ),
    ],
)
def test_one_url_names_both_databases(url: str, state: str, broker: str):
    assert state_url(url) == state
    assert broker_url(url) == broker


@pytest.mark.parametrize(
    ("url", "path", "password"),
    [
        ("unix:///run/a%20b/r.sock?db=1", "/run/a b/r.sock", None),
        ("unix:///run/r.sock?db=1&password=p%40:/w", "/run/r.sock", "p@:/w"),
    ],
)
def test_redis_py_and_kombu_read_the_same_socket(url: str, path: str, password: str | None):
    ours = parse_url(state_url(url))
    assert (ours["path"], ours["db"], ours.get("password")) == (path, 3, password)
    theirs = url_to_parts(broker_url(url).removeprefix("redis+"))
    assert (f"/{theirs.path}", theirs.query, theirs.password) == (
        path,
        {"virtual_host": "1"},
        password,
    )


def test_kombu_reaches_the_brokers_database(redis_url: str):
    with Connection(broker_url(redis_url)) as connection, connection.SimpleQueue("q") as queue:
        queue.put({"try": "this"})
    with redis.Redis.from_url(redis_url) as broker, redis.Redis.from_url(state_url(redis_url)) as s:
        assert broker.llen("q") == 1
        assert s.dbsize() == 0


def test_kombu_checks_certificates():
    assert Connection(broker_url("rediss://host/0")).ssl["ssl_cert_reqs"].name == "CERT_REQUIRED"


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("http://host/0", "'http://host/0'"),
        ("localhost:6379", "'localhost"),
        ("redis://host/first", "'first'"),
        ("redis://host/-1", "'-1'"),
        ("unix:///run/r.sock?db=x", "'x'"),
        ("redis:///0", "no host"),
        ("unix://?db=0", "no path"),
    ],
)
def test_a_url_that_is_not_understood_is_named(url: str, names: str):
    for read in (state_url, broker_url):
        with pytest.raises(ConfigError, match=names):
            read(url)


def test_an_error_about_a_url_hides_its_password():
    with pytest.raises(ConfigError) as caught:
        state_url("redis://me:s3cret@host/first")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://:s3cret@host/0", "redis://:***@host/0"),
        ("redis://me:s3@cret@host/0", "redis://me:***@host/0"),
        ("unix:///run/r.sock?db=1&password=s3cret", "unix:///run/r.sock?db=1&password=***"),
        ("rediss://host/0?ssl_password=s3cret", "rediss://host/0?ssl_password=***"),
    ],
)
def test_a_shown_url_has_no_password(url: str, shown: str):
    assert redacted(url) == shown
