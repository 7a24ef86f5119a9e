"""The address at which a process gives its figures to Prometheus.

It asks for no credential, and tells names of runs and backends, and numbers: so it listens on this
machine alone unless another address is given.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server

from skillopt.errors import ConfigError

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True)
class MetricsAddress:
    """Where to listen; port 0 takes any free one."""

    port: int
    host: str = LOOPBACK


class MetricsEndpoint:
    """Answers `GET /metrics` from a thread of its own until closed."""

    def __init__(self, address: MetricsAddress, registry: CollectorRegistry) -> None:
        """Begin to listen; raises ConfigError if the address cannot be had."""
        try:
            self._server, self._thread = start_http_server(
                address.port, addr=address.host, registry=registry
            )
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"metrics cannot be given at {address.host!r}, port {address.port!r} ({error}): "
                "give another --metrics-port or --metrics-host"
            ) from error

    @property
    def port(self) -> int:
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop listening. Safe to repeat."""
        with suppress(OSError):
            self._server.shutdown()
            self._server.server_close()
        self._thread.join()

    def __enter__(self) -> MetricsEndpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
