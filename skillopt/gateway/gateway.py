"""One model call from the inside: wait for its turn, reserve, call, classify, retry, settle.

A call is one request sent, retries included: each try is reserved before it is made and settled
after it. What a failed try took is unknown, so it counts as a call without tokens. The turn comes
before the reservation, so that calls which wait keep no budget from those that could start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

from skillopt.backends.base import ChatBackend, ChatReply
from skillopt.domain.backend import Backend
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
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


@dataclass(frozen=True)
class Gateway:
    """The way to one backend from one worker process."""

    backend: Backend
    chat: ChatBackend
    budgets: Budgets
    throttle: Throttle
    #: Runs a coroutine of the backend to its end, or cancels it.
    run: Callable[..., ChatReply]
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
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), sample: int = 0
    ) -> ChatReply:
        """Make one call; raises a `CallError` when no try succeeded."""
        gateway, failures = self.gateway, 0
        started = gateway.monotonic()
        while True:
            try:
                return self._try(messages, tools, sample, started)
            except CallError as error:
                failures += 1
                delay = gateway.policy.delay_s(failures, error, gateway.uniform)
                elapsed = gateway.monotonic() - started
                if not gateway.policy.allows(failures, error, elapsed, delay):
                    raise
                if delay > gateway.throttle_wait_s:
                    raise
                self.wait(delay)

    def _try(
        self, messages: Sequence[Message], tools: Sequence[Tool], sample: int, started: float
    ) -> ChatReply:
        """Make one request, in its turn and within the budget."""
        gateway = self.gateway
        limit = gateway.backend.params.max_output_tokens or DEFAULT_OUTPUT_TOKENS
        expected = Usage(_tokens_of(messages), limit)
        call = gateway.new_id()
        self._await_turn(call, expected.total_tokens, started)
        charged = expected.total_tokens
        end = CallEnd("unsent", charged)
        try:
            self.wait(0)  # a job that was told to stop reserves nothing any more
            self._reserve(call, expected)
            end = CallEnd("unknown", charged, charged)  # if it is cut
            reply, taken = self._send(call, messages, tools, sample)
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

    def _send(
        self, call: str, messages: Sequence[Message], tools: Sequence[Tool], sample: int
    ) -> tuple[ChatReply, Usage]:
        taken = Usage()
        try:
            reply = self.gateway.run(
                self.gateway.chat.complete(messages, tools=tools, sample=sample)
            )
            taken = reply.usage if not reply.usage.estimated else _estimate(messages, reply.text)
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
    return sum(-(-len(message.content) // CHARACTERS_PER_TOKEN) for message in messages)


def _estimate(messages: Sequence[Message], text: str) -> Usage:
    output = -(-len(text) // CHARACTERS_PER_TOKEN)
    return Usage(_tokens_of(messages), output, estimated=True)
