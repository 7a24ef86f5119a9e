"""What a Redis URL says about the way to its server."""

from __future__ import annotations

import pytest

from skillopt.errors import ConfigError
from skillopt.state.urls import Access, access_of, databases_needed, queue_url


@pytest.mark.parametrize(
    ("url", "queue"),
    [
        ("redis://host:6380/3", "redis://host:6380/3"),
        ("redis://me:p%40@host/0?client_name=x", "redis://me:p%40@host/0?client_name=x"),
        ("unix:///run/r.sock?db=1&password=pw", "unix://:pw@/run/r.sock?db=1"),
        ("redis+socket:///run/r.sock?virtual_host=4", "unix:///run/r.sock?db=4"),
    ],
)
def test_the_queues_database_is_given_as_redis_py_reads_it(url, queue):
    assert queue_url(url) == queue


@pytest.mark.parametrize(
    ("url", "access"),
    [
        ("unix:///run/r.sock", Access(local=True, encrypted=False, verified=True, password=False)),
        ("redis://127.0.0.1/0", Access(True, False, True, False)),
        ("redis://[::1]:6380/0", Access(True, False, True, False)),
        ("redis://localhost", Access(True, False, True, False)),
        ("redis://db.example.org/0", Access(False, False, True, False)),
        ("redis://:pw@db.example.org/0", Access(False, False, True, True)),
        ("rediss://me:pw@db.example.org:6380/0", Access(False, True, True, True)),
        ("rediss://:pw@h.example/0?ssl_cert_reqs=none", Access(False, True, False, True)),
    ],
)
def test_how_safe_the_way_to_a_server_is(url, access):
    assert access_of(url) == access


def test_the_state_lives_two_databases_above_the_queue():
    assert databases_needed("redis://h/0") == 3
    assert databases_needed("redis://h/13") == 16


def test_a_url_that_is_not_understood_is_refused_without_its_password():
    with pytest.raises(ConfigError) as caught:
        access_of("http://:secret@host")
    assert "secret" not in str(caught.value)
