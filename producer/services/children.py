"""The processes that services are made of."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from producer.embedded import children as embedded
from producer.embedded.child import ChildSpec, StopOrder
from producer.embedded.store import Store
from skillopt.domain.backend import Backend
from skillopt.telemetry.endpoint import LOOPBACK

#: Calls in flight from one worker process, if neither an option nor the catalogue says how many.
THREADS: Final = 16
#: What people look at ends before what it looks at.
FRONT: Final = StopOrder.COORDINATOR - 5


@dataclass(frozen=True)
class MetricsPorts:
    """Hands a port to each process, in the order they are asked for; none without a first one."""

    first: int | None = None
    host: str = LOOPBACK

    def arguments(self) -> Iterator[tuple[str, ...]]:
        number = 0
        while True:
            if self.first is None:
                yield ()
            else:
                port = str(self.first + number)
                yield ("--metrics-port", port, "--metrics-host", self.host)
            number += 1


NO_METRICS: Final = MetricsPorts()


@dataclass(frozen=True)
class Makings:
    """What the processes of one command share.

    `folder` holds their health files; their output goes to its logs, or to our own standard error.
    """

    folder: Store
    env: Mapping[str, str]
    backends: Mapping[str, Backend]
    catalogue: Path
    metrics: Iterator[tuple[str, ...]]
    key_variables: frozenset[str] = frozenset()
    concurrency: int | None = None
    logs_here: bool = False

    def keyless(self, but: Backend | None = None) -> dict[str, str]:
        """Give the environment without keys, but those of one backend."""
        return embedded.without_keys(
            self.env, self.backends.values(), but, besides=self.key_variables
        )

    def coordinator(self, number: int, runs_dir: Path) -> ChildSpec:
        name = f"coordinator-{number}"
        argv = (sys.executable, "-m", "producer.coordinator", "--runs-dir", str(runs_dir))
        return self._child(name, argv, self.keyless(), StopOrder.COORDINATOR)

    def worker(self, backend: Backend, number: int, *, quarantine: bool = False) -> ChildSpec:
        spec = embedded.worker(
            self.folder,
            backend,
            self.catalogue,
            self.keyless(but=backend),
            number=number,
            concurrency=self.concurrency or backend.limits.concurrency or THREADS,
            quarantine=quarantine,
        )
        log_path = None if self.logs_here else spec.log_path
        return replace(spec, argv=(*spec.argv, *next(self.metrics)), log_path=log_path)

    def command(self, name: str, *arguments: str) -> ChildSpec:
        """A command of ours that people look at, as a process of its own."""
        argv = (sys.executable, "-m", "producer.cli", name, *arguments)
        return self._child(name, argv, self.keyless(), FRONT, metrics=False)

    def _child(
        self,
        name: str,
        argv: tuple[str, ...],
        env: Mapping[str, str],
        order: int,
        *,
        metrics: bool = True,
    ) -> ChildSpec:
        health = self.folder.health_dir / name
        figures = next(self.metrics) if metrics else ()
        return ChildSpec(
            name=name,
            argv=(*argv, "--health-file", str(health), *figures),
            env=env,
            log_path=None if self.logs_here else self.folder.logs_dir / f"{name}.log",
            stop_order=order,
            health_path=health,
        )
