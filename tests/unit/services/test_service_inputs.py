"""What services refuse before they start anything."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from producer.services.backends import served_here
from producer.services.binding import free_port, require_loopback
from producer.services.children import MetricsPorts
from producer.services.redis_access import shared_redis, without_password_in_view
from skillopt.errors import ConfigError

CATALOGUE = """\
backends:
  free: {kind: openai_compatible, base_url: "http://127.0.0.1:9/v1", model: m}
  keyed: {kind: openai_chat, model: m, api_key_env: KEY_OF_THE_TEST}
  broken: {kind: openai_chat}
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "backends.yaml"
    path.write_text(CATALOGUE)
    return path


def environ(**given: str) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": "/nonexistent", **given}


def test_all_that_can_be_served_is_and_the_rest_is_told(catalogue: Path) -> None:
    served = served_here(environ(), catalogue)
    assert {"free", "sim"} <= set(served.backends)
    assert "'KEY_OF_THE_TEST'" in served.left_out["keyed"]
    assert "model" in served.left_out["broken"]
    assert "KEY_OF_THE_TEST" in served.key_variables


def test_a_key_that_is_there_lets_its_backend_be_served(catalogue: Path) -> None:
    served = served_here(environ(KEY_OF_THE_TEST="k"), catalogue)
    assert "keyed" in served.backends


@pytest.mark.parametrize(("name", "told"), [("keyed", "KEY_OF_THE_TEST"), ("none", "'none'")])
def test_a_backend_that_was_named_must_be_usable(catalogue: Path, name: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        served_here(environ(), catalogue, [name])


def test_a_password_among_the_arguments_is_refused_and_not_shown() -> None:
    url = "redis://:secret-of-redis@db.example.org:6379/0"
    with pytest.raises(ConfigError, match="SKILLOPT_REDIS_URL") as refused:
        shared_redis(url, {})
    assert "secret-of-redis" not in str(refused.value)
    assert shared_redis(url, {"SKILLOPT_REDIS_URL": url}) == url
    assert shared_redis("redis://db:6379/0", {}) == "redis://db:6379/0"


def test_a_service_without_a_redis_is_told_both_ways() -> None:
    with pytest.raises(ConfigError, match=r"SKILLOPT_REDIS_URL.*skillopt up"):
        shared_redis(None, {})
    assert without_password_in_view(None, {}) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.9.9.9"])
def test_this_machine_may_listen_to_itself(host: str) -> None:
    require_loopback(host, "it", "do not")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "example.org"])
def test_an_address_of_others_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="to other machines; do not"):
        require_loopback(host, "it", "do not")


def test_a_port_that_is_taken_is_named_with_its_option() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"--port {port}"):
            free_port("127.0.0.1", port, "--port")
    assert free_port("127.0.0.1", 0, "--port") > 0


def test_each_process_has_a_metrics_port_of_its_own() -> None:
    ports = MetricsPorts(9100).arguments()
    assert [next(ports)[1] for _ in range(3)] == ["9100", "9101", "9102"]
    assert next(MetricsPorts().arguments()) == ()
