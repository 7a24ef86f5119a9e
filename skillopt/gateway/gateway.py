"""One model call from the inside: wait for its turn, reserve, call, classify, retry, settle.

A call is one request sent, retries included: each try is reserved before it is made and settled
after it. What a failed try took is unknown, so it counts as a call without tokens. The turn comes
before the reservation, so that calls which wait keep no budget from those that could start.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from skillopt.backends.base import ChatBackend, ChatReply
from skillopt.domain.backend import Backend, Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.domain.usage import Role, Usage, cost_micro_usd
from skillopt.errors import BudgetExhausted, CallError
from skillopt.gateway.retry import RetryPolicy
from skillopt.gateway.throttling import Turn, Wait, end_after, scope_of
from skillopt.state.ports import Amount, Budgets, CallEnd, Throttle, ThrottleScope

#: Output tokens assumed for a reservation when the backend sets no limit.
DEFAULT_OUTPUT_TOKENS = 1_024
CHARACTERS_PER_TOKEN = 4

T = TypeVar("T")


class Patience(Protocol):
    """Repeats an operation on the shared state until the state can be reached again, so that a
    reply which was paid for is not lost with it.
    """

    def __call__(self, operation: Callable[[], T], /) -> T: ...


class Answer(Protocol):
    """What every kind of request brings."""

    @property
    def text(self) -> str: ...

    @property
    def usage(self) -> Usage: ...


R = TypeVar("R", bound=Answer)


@dataclass(frozen=True)
class Request(Generic[R]):
    """One request that may be sent several times, and what it is expected to take."""

    ask: Callable[[], Coroutine[Any, Any, R]]
    expected: Usage
    prompt_tokens: int


class RunCall(Protocol):
    """Runs a coroutine of the backend to its end, or cancels it."""

    def __call__(self, coroutine: Coroutine[Any, Any, R], /) -> R: ...


@dataclass(frozen=True)
class Gateway:
    """The way to one backend from one worker process."""

    backend: Backend
    chat: ChatBackend
    budgets: Budgets
    throttle: Throttle
    run: RunCall
    monotonic: Callable[[], float]
    uniform: Callable[[], float]
    new_id: Callable[[], str]
    patiently: Patience
    throttle_wait_s: float
    policy: RetryPolicy = field(default_factory=RetryPolicy)

    @cached_property
    def scope(self) -> ThrottleScope:
        return scope_of(self.backend, self.chat)


@dataclass
class JobCalls:
    """The calls of one job: who pays, what they took, how to wait."""

    gateway: Gateway
    payer: str
    job: str
    role: Role
    wait: Wait
    in_flight: set[str]
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    micro_usd: int = 0

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        sample: int = 0,
        params: Params | None = None,
        schema: ReplySchema | None = None,
    ) -> ChatReply:
        """Make one call; raises a `CallError` when no try succeeded."""
        chat = self.gateway.chat
        used = params or self.gateway.backend.params

        def ask() -> Coroutine[Any, Any, ChatReply]:
            return chat.complete(messages, tools=tools, sample=sample, params=params, schema=schema)

        prompt_tokens = _tokens_of(messages)
        expected = Usage(prompt_tokens, used.max_output_tokens or DEFAULT_OUTPUT_TOKENS)
        return self._call(Request(ask, expected, prompt_tokens))

    def _call(self, request: Request[R]) -> R:
        """Send a request until it brings a reply or no further try is worth it."""
        gateway, failures = self.gateway, 0
        started = gateway.monotonic()
        while True:
            try:
                return self._try(request, started)
            except CallError as error:
                failures += 1
                delay = gateway.policy.delay_s(failures, error, gateway.uniform)
                elapsed = gateway.monotonic() - started
                if not gateway.policy.allows(failures, error, elapsed, delay):
                    raise
                if delay > gateway.throttle_wait_s:
                    raise
                self.wait(delay)

    def _try(self, request: Request[R], started: float) -> R:
        """Make one request, in its turn and within the budget."""
        call = self.gateway.new_id()
        charged = request.expected.total_tokens
        self._await_turn(call, charged, started)
        end = CallEnd("unsent", charged)
        try:
            self.wait(0)  # a job that was told to stop reserves nothing any more
            self._reserve(call, request.expected)
            end = CallEnd("unknown", charged, charged)  # if it is cut
            reply, taken = self._send(call, request)
            end = CallEnd("ok", charged, taken.total_tokens)
            return reply
        except CallError as error:
            end = end_after(error, charged)
            raise
        finally:
            self._leave(call, end)

    def _await_turn(self, call: str, tokens: int, started: float) -> None:
        gateway, backend = self.gateway, self.gateway.backend
        left_s = started + gateway.policy.total_s - gateway.monotonic()
        Turn(
            backend.name,
            admit=lambda: gateway.patiently(
                lambda: gateway.throttle.admit(gateway.scope, backend.limits, call, tokens=tokens)
            ),
            wait=self.wait,
            uniform=gateway.uniform,
            wait_limit_s=min(gateway.throttle_wait_s, left_s),
        ).take()

    def _leave(self, call: str, end: CallEnd) -> None:
        gateway = self.gateway
        limits = gateway.backend.limits
        gateway.patiently(lambda: gateway.throttle.leave(gateway.scope, limits, call, end))

    def _send(self, call: str, request: Request[R]) -> tuple[R, Usage]:
        taken = Usage()
        try:
            reply = self.gateway.run(request.ask())
            taken = reply.usage
            if taken.estimated:
                taken = Usage(request.prompt_tokens, _tokens(reply.text), estimated=True)
            return reply, taken
        finally:
            self._settle(call, taken)

    def _reserve(self, call: str, expected: Usage) -> None:
        gateway = self.gateway
        estimate = Amount(
            calls=1,
            tokens=expected.total_tokens,
            micro_usd=cost_micro_usd(expected, gateway.backend.price),
        )
        refused = gateway.patiently(
            lambda: gateway.budgets.reserve(
                self.payer, call, job=self.job, role=self.role, estimate=estimate
            )
        )
        if refused is not None:
            raise BudgetExhausted(f"the budget of run {self.payer!r} allows no more {refused}")
        self.in_flight.add(call)

    def _settle(self, reservation: str, taken: Usage) -> None:
        cost = cost_micro_usd(taken, self.gateway.backend.price)
        self.calls += 1
        self.usage += taken
        self.micro_usd += cost
        self.gateway.patiently(
            lambda: self.gateway.budgets.settle(
                self.payer,
                reservation,
                input_tokens=taken.input_tokens,
                output_tokens=taken.output_tokens,
                micro_usd=cost,
            )
        )
        self.in_flight.discard(reservation)


def _tokens_of(messages: Sequence[Message]) -> int:
    return sum(_tokens(message.content) for message in messages)


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
