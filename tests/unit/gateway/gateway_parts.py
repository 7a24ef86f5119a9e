"""A gateway on the memory state, with a scripted model and a clock that moves by waiting."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from skillopt.backends.base import ChatReply
from skillopt.domain.backend import Backend
from skillopt.domain.messages import Message
from skillopt.domain.timing import Timing
from skillopt.domain.usage import Price, Usage
from skillopt.errors import CallError, StateUnavailable
from skillopt.gateway.gateway import Gateway, JobCalls
from skillopt.gateway.retry import RetryPolicy
from skillopt.state.memory.build import build

PROMPT = (Message(role="user", content="x" * 400),)
BACKEND = Backend(name="b", kind="openai_compatible", model="m", price=Price(input=2, output=10))
OK = ChatReply("fine", "stop", Usage(input_tokens=70, output_tokens=30))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class ScriptedChat:
    """Answers with what the script says, one line for each request; the last line stays."""

    def __init__(self, *script: ChatReply | BaseException, credential: str = "c1") -> None:
        self.credential = credential
        self.script = list(script)
        self.requests = 0
        self.on_request: Callable[[], object] = lambda: None

    async def complete(
        self,
        messages: Any,
        *,
        tools: Any = (),
        sample: int = 0,
        params: Any = None,
        schema: Any = None,
    ) -> ChatReply:
        self.requests += 1
        self.on_request()
        line = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(line, BaseException):
            raise line
        return line

    async def close(self) -> None:
        pass


def run_now(coroutine: Coroutine[Any, Any, ChatReply]) -> ChatReply:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the scripted model does not wait")


def repeated(operation: Callable[[], Any]) -> Any:
    """Repeat while the state is away, as workers do, but not for ever."""
    for _ in range(10):
        try:
            return operation()
        except StateUnavailable:
            continue
    raise AssertionError("the state never came back")


class Flaky:
    """A port of the state that is away for the first calls of some operations."""

    def __init__(self, port: Any, **failures: int) -> None:
        self._port = port
        self._failures = failures
        self.log: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._port, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._failures.get(name, 0) > 0:
                self._failures[name] -= 1
                raise StateUnavailable
            self.log.append((name, args, kwargs))
            return operation(*args, **kwargs)

        return call


@dataclass
class Bench:
    """Everything around the gateway, each part at hand."""

    clock: Clock = field(default_factory=Clock)
    policy: RetryPolicy = field(default_factory=lambda: RetryPolicy(max_tries=4, total_s=300.0))
    backend: Backend = BACKEND
    throttle_wait_s: float = 20.0
    uniform: float = 0.5
    waits: list[float] = field(default_factory=list)
    ids: int = 0

    def __post_init__(self) -> None:
        self.state = build(Timing(), self.clock)
        self.budgets: Any = self.state.budgets
        self.throttle: Any = self.state.throttle

    def wait(self, seconds: float) -> None:
        if seconds:
            self.waits.append(seconds)
            self.clock.now += seconds

    def calls(self, chat: ScriptedChat, **changes: Any) -> JobCalls:
        gateway = Gateway(
            backend=self.backend,
            chat=chat,
            budgets=self.budgets,
            throttle=self.throttle,
            run=run_now,
            monotonic=self.clock,
            uniform=lambda: self.uniform,
            new_id=self._new_id,
            patiently=repeated,
            throttle_wait_s=self.throttle_wait_s,
            policy=self.policy,
        )
        defaults = {"wait": self.wait, "in_flight": set()} | changes
        return JobCalls(gateway, payer="r1", job="j1", role="target", **defaults)

    def _new_id(self) -> str:
        self.ids += 1
        return f"id-{self.ids}"

    def spend(self) -> Any:
        return self.state.budgets.spend("r1")


def failing(error_type: type[CallError], retry_after_s: float | None = None) -> CallError:
    return error_type("it failed", retry_after_s=retry_after_s)
