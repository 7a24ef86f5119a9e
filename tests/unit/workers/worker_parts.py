"""A worker without Celery: the real container on the memory state, with a scripted model."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillopt.backends.base import ChatReply
from skillopt.domain.backend import Backend, Params
from skillopt.domain.fingerprint import canonical_json, sha256_hex, text_hash
from skillopt.domain.item import ExactJudge, Item, TaskPrompt
from skillopt.domain.jobs import RolloutSpec
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.domain.results import Receipt, ReplyBody
from skillopt.domain.timing import Timing
from skillopt.domain.usage import Usage
from skillopt.errors import StateUnavailable
from skillopt.gateway.retry import RetryPolicy
from skillopt.gateway.throttling import scope_of
from skillopt.judges import judge_versions
from skillopt.loop.jobs import WantedJob
from skillopt.state.memory.build import build
from skillopt.state.ports import Finished, Lead, State, Want, WantAnswer, WorkerInfo
from workers.container import Container
from workers.delivery import finished_job
from workers.heartbeat import Heartbeat
from workers.held import Held
from workers.http_loop import HttpLoop
from workers.inputs import Inputs
from workers.live_limits import LiveLimits

TIMING = Timing(lease_s=30, infra_delay_s=5, max_lost_claims=2, max_quarantine_claims=1)
BACKEND = Backend(name="sim", kind="openai_compatible", model="m", timeout_s=30)
SKILL = "# Greeter\n\nSay hello.\n"
TEMPLATE = "{{skill}}"
ITEM = Item(id="t1", prompt=TaskPrompt(task="Greet Ada."), judge=ExactJudge(answer="hello"))
DEADLINE_S = 10.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Chat:
    """Answers with what the script says, one line for each request; the last line stays."""

    credential = "c1"

    def __init__(self, *script: ChatReply | BaseException) -> None:
        self.script = list(script) or [said("hello")]
        self.requests: list[tuple[Message, ...]] = []
        #: The parameters and the schema of each request.
        self.terms: list[tuple[Params | None, ReplySchema | None]] = []
        self.cancelled = threading.Event()
        #: While set, a request hangs until it is cancelled.
        self.hangs = False
        self.hanging = threading.Event()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Any = (),
        sample: int = 0,
        params: Any = None,
        schema: Any = None,
    ) -> ChatReply:
        self.requests.append(tuple(messages))
        self.terms.append((params, schema))
        if self.hangs:
            await self._hang()
        line = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(line, BaseException):
            raise line
        return line

    async def _hang(self) -> None:
        self.hanging.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def close(self) -> None:
        pass


def said(text: str, reason: str = "stop", *, refused: bool = False) -> ChatReply:
    return ChatReply(text, reason, Usage(10, 5), refused=refused)


class Port:
    """A port of the state with the failures that a test asks for, one list for each operation."""

    def __init__(self, port: Any, **failures: Iterable[BaseException]) -> None:
        self._port = port
        self._failures = {name: iter(errors) for name, errors in failures.items()}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._port, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            error = next(self._failures.get(name, iter(())), None)
            self.calls.append(name)
            if error is not None:
                raise error
            return operation(*args, **kwargs)

        return call


AWAY = (StateUnavailable("away"), StateUnavailable("away"))


@dataclass
class Workshop:
    """A run that wants jobs, and one worker of its backend."""

    clock: Clock = field(default_factory=Clock)
    chat: Chat = field(default_factory=Chat)
    timing: Timing = TIMING

    def __post_init__(self) -> None:
        self.state: State = build(self.timing, self.clock)
        self.lead = self.lead_of("r1")
        self.http = HttpLoop()
        self.ids = map(str, itertools.count(1))

    def close(self) -> None:
        self.http.close()

    def container(self, **changes: Any) -> Container:
        """Build the worker; its state may differ from ours in what fails."""
        state = changes.pop("state", self.state)
        info = WorkerInfo("w1", BACKEND.name, BACKEND.fingerprint, 4)
        parts: dict[str, Any] = {
            "name": "w1",
            "backend": BACKEND,
            "lane": "normal",
            "state": state,
            "inputs": Inputs(state.blobs),
            "timing": self.timing,
            "policy": RetryPolicy(max_tries=2, base_s=0.001),
            "chat": self.chat,
            "limits": LiveLimits(state.limits, BACKEND, every_s=self.timing.limits_s),
            "http": self.http,
            "heartbeat": Heartbeat(state, info, 0.01, scope_of(BACKEND, self.chat)),
            "new_id": lambda: next(self.ids),
        }
        return Container(**{**parts, **changes})

    def with_claims(self, **failures: Iterable[BaseException]) -> Container:
        claims: Any = Port(self.state.claims, **failures)
        return self.container(state=replace(self.state, claims=claims))

    # --- the coordinator's side

    def lead_of(self, run: str) -> Lead:
        self.state.runs.create(run, meta={}, events=[], status="running")
        lead = self.state.runs.lead(run, "coordinator")
        assert lead is not None
        return lead

    def want(self, job: WantedJob, lead: Lead | None = None) -> WantAnswer:
        self.state.blobs.put(job.blobs)
        [answer] = self.state.board.want(
            lead or self.lead, [Want(job.id, job.spec.encoded)], room=10
        )
        return answer

    def claim(self, job: str, owner: str = "other") -> Held:
        claimed = self.state.claims.claim(job, run="r1", owner=owner, lane="normal")
        assert claimed.status == "run", claimed.status
        return Held(job, owner, "r1")

    def committed(self, job: str) -> bool:
        return job in self.state.results.get([job])


def rollout(item: Item = ITEM, *, fingerprint: str = BACKEND.fingerprint) -> WantedJob:
    prompt = canonical_json(item.prompt.model_dump(mode="json"))
    judge = canonical_json(item.judge.model_dump(mode="json"))
    spec = RolloutSpec(
        skill=text_hash(SKILL),
        prompt=sha256_hex(prompt),
        template=text_hash(TEMPLATE),
        backend=fingerprint,
    )
    return WantedJob(
        spec,
        role="target",
        label="step 1 / rollout / t1 / 0",
        blobs=(SKILL.encode(), TEMPLATE.encode(), prompt, judge),
        judge=judge,
        judge_version=judge_versions()[item.judge.kind],
    )


def message(job: WantedJob, /, **changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "version": 1,
        "job": job.id,
        "run": "r1",
        "backend": BACKEND.name,
    }
    if job.judge is not None:
        fields |= {"judge": sha256_hex(job.judge), "judge_version": job.judge_version}
    return {key: value for key, value in {**fields, **changes}.items() if value is not None}


def reply_runner(text: str = "hello", reason: str = "stop") -> Callable[..., Sequence[Finished]]:
    """Run any job by leaving a reply behind."""

    def run(container: Any, spec: Any, message: Any, held: Held) -> Sequence[Finished]:
        body = ReplyBody(text=text, finish_reason=reason)
        return [finished_job(spec.id, body, payer=held.run, receipt=Receipt(worker="w1"))]

    return run


def raising(error: BaseException) -> Callable[..., Sequence[Finished]]:
    def run(container: Any, spec: Any, message: Any, held: Held) -> Sequence[Finished]:
        raise error

    return run


def never(*_: Any) -> Sequence[Finished]:
    raise AssertionError("this job must not run")


def until(condition: Callable[[], Any], what: str) -> Any:
    """Poll until a condition holds and give its value."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.002)
    raise AssertionError(f"waited {DEADLINE_S} s for {what}")
