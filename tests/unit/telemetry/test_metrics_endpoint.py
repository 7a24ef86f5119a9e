"""Figures over HTTP: on loopback, and an address that is taken is said so."""

from __future__ import annotations

import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Counter

from skillopt.errors import ConfigError
from skillopt.telemetry.endpoint import LOOPBACK, MetricsAddress, MetricsEndpoint
from skillopt.telemetry.observed import observed


def test_figures_are_given_until_it_is_closed() -> None:
    registry = CollectorRegistry()
    Counter("so_test_total", "For a test.", registry=registry).inc(3)
    with MetricsEndpoint(MetricsAddress(0), registry) as endpoint:
        url = f"http://{LOOPBACK}:{endpoint.port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert b"so_test_total 3.0" in answer.read()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=10)


def test_it_listens_on_this_machine_unless_told_otherwise() -> None:
    assert MetricsAddress(9100).host == "127.0.0.1"


def test_an_address_that_is_taken_is_named_with_the_fix() -> None:
    registry = CollectorRegistry()
    with (
        MetricsEndpoint(MetricsAddress(0), registry) as first,
        pytest.raises(ConfigError, match=rf"{first.port}.*--metrics-port"),
    ):
        MetricsEndpoint(MetricsAddress(first.port), registry)


def test_looking_on_changes_nothing_but_what_is_looked_at() -> None:
    class Port:
        def add(self, a: int, b: int = 0) -> int:
            return a + b

        def name(self) -> str:
            return "port"

    seen: list[int] = []

    def around(add, a: int, **named: int) -> int:
        seen.append(a)
        return add(a, **named)

    port = observed(Port(), add=around)
    assert (port.add(1, b=2), port.name(), seen) == (3, "port", [1])
    with pytest.raises(ValueError, match="Port has no operation sub"):
        observed(Port(), sub=around)
