"""Real worker processes on a real Redis, a simulator over HTTP, and the producer's dispatcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from redis_contents import broker_for_redis_py

from producer.dispatch import Dispatcher
from skillopt.config.catalogue import dump_catalogue
from skillopt.config.runtime import timing
from skillopt.domain.backend import Backend, BackendUse
from skillopt.domain.documents import Documents
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.item import ExactJudge, Item, Splits, TaskPrompt
from skillopt.domain.jobs import JudgeSpec
from skillopt.domain.messages import Message
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import BODY, JudgementBody, ReplyBody
from skillopt.domain.spec import Settings
from skillopt.judges import judge_versions
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.simulator.server import Address
from skillopt.state.ports import Lead, Spend, StoredResult, Want, WantAnswer, WantStatus
from skillopt.state.redis.connect import RedisState, connect
from skillopt.state.urls import broker_url

KEY = "sk-planted-0123456789abcdef"
KEY_VARIABLE = "PLANTED_WORKER_KEY"
#: Words that stand only in texts: in the task, in the skill and in the judge.
TASK_WORD, SKILL_WORD, ANSWER_WORD = "zebracrossing", "marmalade", "kettledrum"
SKILL = f"# Writer\n\nMention {SKILL_WORD}.\n"
RUN = "fleet-run"
DEADLINE_S = 20.0

#: Faults are noticed within seconds.
FAST = {
    "SKILLOPT_TIMING_LEASE_S": "1.5",
    "SKILLOPT_TIMING_HEARTBEAT_S": "0.3",
    "SKILLOPT_TIMING_INFRA_DELAY_S": "0.2",
    "SKILLOPT_TIMING_DRAIN_S": "5",
    "SKILLOPT_TIMING_RESERVATION_S": "2",
    "SKILLOPT_TIMING_LEAD_S": "60",
}


@dataclass
class WorkerProcess:
    """`python -m workers`, as an operator starts it."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def tell(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def exit_code(self, deadline_s: float = DEADLINE_S) -> int:
        """Wait until it has ended by itself."""
        try:
            return self.process.wait(timeout=deadline_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {deadline_s} s: {self.text()}") from None

    def text(self) -> str:
        return self.log.read_text()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@dataclass
class WorkerFleet:
    """A run that wants jobs, and the workers that a test starts for it."""

    url: str
    folder: Path
    provider: Address
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environ = {**FAST, KEY_VARIABLE: KEY, **self.environ}
        self.backend = self.make_backend()
        self.workers: list[WorkerProcess] = []
        self._open = ExitStack()
        self.state: RedisState = self._open.enter_context(connect(self.url, timing(self.environ)))
        self.dispatcher = Dispatcher(broker_url(self.url))
        self._open.callback(self.dispatcher.close)
        self.state.runs.create(RUN, meta={}, events=[], status="running")
        lead = self.state.runs.lead(RUN, "test")
        assert lead is not None
        self.lead: Lead = lead
        self.plan = self._plan()
        self.factory = JobFactory(self.plan, RUN)

    def make_backend(self) -> Backend:
        return Backend(
            name="sim",
            kind="openai_compatible",
            model="sim",
            base_url=self.provider.base_url,
            api_key_env=KEY_VARIABLE,
            revision="1",
        )

    def _plan(self) -> RunPlan:
        use = BackendUse(role="target", backend="sim", fingerprint=self.backend.fingerprint)
        optimizer = use.model_copy(update={"role": "optimizer"})
        return RunPlan(
            name="fleet",
            settings=Settings(),
            skill=SKILL,
            splits=Splits(),
            templates={"attempt": "Follow the skill.\n\n{{skill}}"},
            judge_versions=judge_versions(),
            backends={"target": use, "optimizer": optimizer},
        )

    def close(self) -> None:
        for worker in self.workers:
            worker.end()
        self._open.close()

    # --- workers --------------------------------------------------------------------------------

    def start(
        self,
        name: str = "1",
        *arguments: str,
        concurrency: int = 4,
        ready: bool = True,
        **environ: str,
    ) -> WorkerProcess:
        catalogue = self.folder / "backends.resolved.yaml"
        catalogue.write_text(dump_catalogue({"sim": self.backend}))
        log = self.folder / f"worker-{name}.log"
        command = [sys.executable, "-m", "workers", "--backend", "sim"]
        command += ["--backends", str(catalogue), "--name", name]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*command, "--concurrency", str(concurrency), *arguments],
                env={**os.environ, **self.environ, "SKILLOPT_REDIS_URL": self.url, **environ},
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        worker = WorkerProcess(process, log)
        self.workers.append(worker)
        if ready:
            until(lambda: self.announced(name), f"the announcement of worker {name!r}", worker)
        return worker

    def announced(self, name: str) -> bool:
        return any(info.worker.startswith(f"sim-{name}@") for info in self.state.fleet.workers())

    # --- jobs -----------------------------------------------------------------------------------

    def rollout(self, number: int = 0) -> WantedJob:
        item = Item(
            id=f"t{number}",
            prompt=TaskPrompt(task=f"Write a note on {TASK_WORD} number {number}."),
            judge=ExactJudge(answer=ANSWER_WORD, substring=True),
        )
        documents = Documents(skill=SKILL)
        spec = self.factory.rollout(text_hash(SKILL), documents, item, 0)
        return self.factory.wanted_rollout(spec, documents, item, "step 1 / rollout")

    def optimize(self) -> WantedJob:
        messages = (Message(role="user", content=f"Merge edits on {TASK_WORD}."),)
        return self.factory.optimize("merge", messages, "step 1 / merge")

    def want(self, job: WantedJob) -> WantAnswer:
        self.state.blobs.put(job.blobs)
        [answer] = self.state.board.want(self.lead, [Want(job.id, job.spec.encoded)], room=99)
        return answer

    def send(self, job: WantedJob) -> None:
        self.dispatcher.send(RUN, job, backend="sim", lane="normal")

    def ask_for(self, job: WantedJob) -> WantAnswer:
        """Want a job and send its message if that is due: what a coordinator does each tick."""
        answer = self.want(job)
        if answer.status is WantStatus.SEND:
            self.send(job)
        return answer

    def result(self, job: WantedJob) -> StoredResult:
        return until(lambda: self.state.results.get([job.id]), "the result", *self.workers)[job.id]

    def brought(self, job: WantedJob) -> StoredResult:
        """Ask for a job, again and again if need be, until its result is there."""
        until(lambda: self.ask_for(job).status is WantStatus.HIT, "the result", *self.workers)
        return self.result(job)

    def reply(self, job: WantedJob) -> ReplyBody:
        body = BODY.validate_json(self.result(job).body)
        assert isinstance(body, ReplyBody)
        return body

    def judgement(self, job: WantedJob) -> JudgementBody | None:
        """Read the judgement of a finished rollout, if there is one now."""
        assert job.judge is not None
        spec = JudgeSpec(
            judge=self.state.blobs.put([job.judge])[0],
            version=judge_versions()["exact"],
            reply=self.reply(job).as_judged.digest,
        )
        stored = self.state.results.get([spec.id]).get(spec.id)
        body = BODY.validate_json(stored.body) if stored else None
        assert body is None or isinstance(body, JudgementBody)
        return body

    def spend(self) -> Spend:
        return self.state.budgets.spend(RUN)

    # --- the provider ---------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        return self._talk("/stats")

    def control(self, **changes: Any) -> None:
        self._talk("/control", changes)

    def _talk(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.provider.root_url}{path}", data)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            return json.load(answer)

    def in_flight(self, count: int = 1) -> None:
        until(lambda: self.stats()["in_flight"] == count, "the call in flight", *self.workers)

    # --- Redis ----------------------------------------------------------------------------------

    def queue_is_empty(self) -> bool:
        with redis.Redis.from_url(broker_for_redis_py(self.url)) as client:
            return not client.exists("cel:b.sim") and not client.exists("cel:unacked")


def until(condition: Callable[[], Any], what: str, *workers: WorkerProcess) -> Any:
    """Poll until a condition holds and give its value; the logs of workers explain a failure."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    logs = "\n".join(worker.text() for worker in workers)
    raise AssertionError(f"waited {DEADLINE_S} s for {what}; {logs}")
