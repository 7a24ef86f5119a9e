"""A fleet as a team has it: a coordinator and workers of their own, and runs that are submitted."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import redis
from fleet_command import FAST, until
from paid_evaluation import PaidEvaluation, stats

from producer.published import published_revision
from producer.submit import submit
from skillopt.config.catalogue import dump_catalogue
from skillopt.config.load import LoadedSpec, load_eval_plan
from skillopt.config.runtime import timing
from skillopt.domain.events import decode_event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.loop.fold import fold
from skillopt.simulator.server import Address
from skillopt.state.redis.connect import RedisState, connect
from skillopt.state.urls import state_url

DEADLINE_S = 150.0


@dataclass
class TeamFleet:
    """Processes on a shared Redis. `end` ends them by their ids."""

    folder: Path
    redis: str
    simulator: Address
    concurrency: int
    environment: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.environment = {**FAST, **self.environment}
        self.state: RedisState = connect(self.redis, timing(self.environment))

    def evaluation(self, name: str, tasks: int, *, owner: str) -> LoadedSpec:
        """Give the evaluation of a document of its own, which shares no result with others."""
        made = PaidEvaluation(
            self.folder / name,
            self.redis,
            self.simulator,
            tasks,
            skill=f"# {name}\n\nSummarise the meeting for {name}.\n",
            spec=f"owner: {owner}",
        )
        return load_eval_plan(
            made.folder / "spec.yaml",
            environ={},
            publish_revision=published_revision,
        )

    def submit(self, loaded: LoadedSpec) -> None:
        self.submit_plan(loaded.plan)

    def submit_plan(self, plan: RunPlan) -> None:
        submit(self.state, plan, meta={}, wait=time.sleep)

    def start(self, loaded: LoadedSpec) -> None:
        """Start a coordinator for all runs, and a worker for the backend of this one."""
        catalogue = self.folder / "backends.resolved.yaml"
        catalogue.write_text(dump_catalogue(loaded.backends))
        self._start("producer.coordinator", "--runs-dir", str(self.folder / "runs"))
        worker = ("--backend", "sim", "--backends", str(catalogue))
        self._start("workers", *worker, "--concurrency", str(self.concurrency))
        until(self.state.fleet.workers, "a worker")

    def _start(self, module: str, *arguments: str) -> None:
        with (self.folder / f"{module}.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", module, *arguments],
                    env={
                        **os.environ,
                        **self.environment,
                        "SKILLOPT_REDIS_URL": self.redis,
                    },
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def known(self, loaded: LoadedSpec) -> RunState:
        entries = self.state.runs.log(loaded.plan.run_id)
        return fold(loaded.plan, [decode_event(entry.event) for entry in entries])

    def finished(self, loaded: LoadedSpec) -> RunState:
        """Wait for the end of a run."""

        def ended() -> RunState | None:
            self.require_alive()
            state = self.known(loaded)
            return state if state.finished else None

        state = until(ended, f"the end of {loaded.plan.run_id}", DEADLINE_S)
        assert isinstance(state, RunState)
        return state

    def calls_in_flight(self, count: int) -> None:
        """Wait until the provider has so many calls at a time."""

        def there() -> bool:
            self.require_alive()
            return bool(stats(self.simulator)["in_flight"] == count)

        until(there, f"{count} calls in flight")

    def require_alive(self) -> None:
        for process in self.processes:
            assert process.poll() is None, self.logs()

    def seconds(self, loaded: LoadedSpec) -> float:
        """Give how long a run took from its creation to its end, by the times of its log."""
        entries = self.state.runs.log(loaded.plan.run_id)
        return entries[-1].at - entries[0].at

    def keys(self, pattern: str) -> list[str]:
        with self._client() as client:
            return sorted(client.scan_iter(match=pattern, count=1000))

    def waiters(self, run: str) -> list[str]:
        """Give the sets of waiters that a run is in."""
        names = self.keys("so:wait:*")
        with self._client() as client:
            return [name for name in names if client.sismember(name, run)]

    def beats(self, count: int) -> None:
        """Wait until the worker has renewed a lease so many times."""
        lease = self.keys("so:lease:*")[0]
        with self._client() as client:
            left = int(client.pttl(lease))

            def renewed() -> bool:
                nonlocal left
                before, left = left, int(client.pttl(lease))
                return left > before

            for _ in range(count):
                until(renewed, "a renewed lease", 15)

    def _client(self) -> redis.Redis:
        return redis.Redis.from_url(state_url(self.redis), decode_responses=True)

    def logs(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.state.close()
