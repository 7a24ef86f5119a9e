"""The HTTP API on a real server on loopback, over a state in memory with runs of two teams."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from fleet_double import TIMING, Bench, Fleet
from scripted_run import make_plan

from producer.api.server import ApiServer, ServeOptions
from producer.api.settings import ApiSettings
from producer.queue.models import Tags
from producer.queue.on_redis import RedisQueue
from producer.run_folder import RunFolder
from producer.tokens import issue
from skillopt.config.yaml_source import read_document
from skillopt.domain.plan import RunPlan
from skillopt.state.redis.connect import connect

#: Token name -> role, owner, team.
TOKENS = {
    "alice-viewer": ("viewer", "alice", "blue"),
    "alice-runner": ("runner", "alice", "blue"),
    "bob-runner": ("runner", "bob", "blue"),
    "carol-runner": ("runner", "carol", "red"),
    "carol-viewer": ("viewer", "carol", "red"),
    "loner": ("runner", "dave", ""),
    "root": ("admin", "root", ""),
}


@dataclass
class Submitted:
    """What reached the queue."""

    spec: Path
    files: list[str]
    tags: Tags
    overrides: tuple[str, ...]
    owner: str
    team: str


@dataclass
class Submissions:
    """Makes a run of any spec that gets through, and remembers what it was given."""

    bench: Bench
    seen: list[Submitted] = field(default_factory=list)

    def submit(
        self, spec: Path, tags: Tags, overrides: Sequence[str], *, owner: str, team: str
    ) -> str:
        top = next(path for path in spec.parents if path.name == "files")
        files = sorted(p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file())
        self.seen.append(Submitted(spec, files, tags, tuple(overrides), owner, team))
        name = read_document(spec).data.get("name") or "unnamed"
        return self.bench.submit(make_plan(name=name, owner=owner, team=team)).run


@dataclass
class Service:
    url: str
    bench: Bench
    submissions: Submissions
    secrets: dict[str, str]
    #: Ids by owner; alice's is finished, the others wait.
    runs: dict[str, str]
    folder: Path

    def client(self, token: str | None = None) -> httpx2.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {self.secrets[token]}"}
        return httpx2.Client(
            base_url=self.url + "/api/v1", headers=headers, trust_env=False, timeout=20
        )

    def get(self, token: str | None, path: str, **query: object) -> httpx2.Response:
        with self.client(token) as client:
            return client.get(path, params=query or None)

    def ask(self, token: str | None, method: str, path: str, **more: object) -> httpx2.Response:
        with self.client(token) as client:
            return client.request(method, path, **more)


def plan_of(owner: str, team: str) -> RunPlan:
    return make_plan(name=f"{owner}s", owner=owner, team=team)


@contextmanager
def serving(
    folder: Path, settings: ApiSettings | None = None, bench: Bench | None = None
) -> Iterator[Service]:
    """Serve until the block ends."""
    bench = bench or bench_with_runs()
    secrets = {
        name: issue(bench.state.tokens, name=name, role=role, owner=owner, team=team).secret
        for name, (role, owner, team) in TOKENS.items()
    }
    submissions = Submissions(bench)
    queue = RedisQueue(bench.state, folder, submitter=submissions)
    options = ServeOptions(folder, port=0, settings=settings or ApiSettings(poll_s=0.02))
    server = ApiServer(options, bench.state, queue, _report)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    runs = {info.meta["owner"]: info.run for info in bench.state.runs.all()}
    try:
        yield Service(server.url, bench, submissions, secrets, runs, folder)
    finally:
        server.stop()
        thread.join(timeout=20)
        assert not thread.is_alive()


@contextmanager
def redis_bench(url: str) -> Iterator[Bench]:
    """Give the same runs in a real Redis, which is empty before."""
    with connect(url, TIMING) as state:
        state.client.flushall()
        bench = Bench()
        bench.state, bench.fleet = state, Fleet(state, TIMING)
        yield bench_with_runs(bench)
        state.client.flushall()


def bench_with_runs(bench: Bench | None = None) -> Bench:
    bench = bench or Bench()
    bench.run(plan_of("alice", "blue"))
    for owner, team in (("bob", "blue"), ("carol", "red")):
        bench.submit(plan_of(owner, team))
    return bench


def _report(folder: RunFolder) -> str:
    return f"<!doctype html><title>{folder.state().run}</title>"
