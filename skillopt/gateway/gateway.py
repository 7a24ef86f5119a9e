"""One model call from the inside: hold, reserve, call, classify, retry, settle.

A call is one request sent, retries included: each try is reserved before it is made and settled
after it. What a failed try took is unknown, so it counts as a call without tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from skillopt.backends.base import ChatBackend, ChatReply
from skillopt.domain.backend import Backend
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.usage import Role, Usage, cost_micro_usd
from skillopt.errors import BudgetExhausted, CallError, RateLimited
from skillopt.gateway.retry import RetryPolicy
from skillopt.state.ports import Amount, Budgets, Holds

#: Output tokens assumed for a reservation when the backend sets no limit.
DEFAULT_OUTPUT_TOKENS = 1_024
CHARACTERS_PER_TOKEN = 4

T = TypeVar("T")


class Wait(Protocol):
    """Sleeping that a drain or a lost lease interrupts (by raising)."""

    def __call__(self, seconds: float) -> None: ...


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
    holds: Holds
    #: Runs a coroutine of the backend to its end, or cancels it.
    run: Callable[..., ChatReply]
    monotonic: Callable[[], float]
    uniform: Callable[[], float]
    new_id: Callable[[], str]
    patiently: Patience
    throttle_wait_s: float
    policy: RetryPolicy = field(default_factory=RetryPolicy)


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
            self._obey_hold(started)
            self.wait(0)  # a job that was told to stop reserves nothing any more
            try:
                return self._try(messages, tools, sample)
            except CallError as error:
                failures += 1
                self._hold_after(error)
                delay = gateway.policy.delay_s(failures, error, gateway.uniform)
                elapsed = gateway.monotonic() - started
                if not gateway.policy.allows(failures, error, elapsed, delay):
                    raise
                if delay > gateway.throttle_wait_s:
                    raise
                self.wait(delay)

    def _hold_after(self, error: CallError) -> None:
        """A Retry-After is for everybody who uses the credential."""
        seconds = error.retry_after_s
        if isinstance(error, RateLimited) and seconds:
            holds, credential = self.gateway.holds, self.gateway.chat.credential
            self.gateway.patiently(lambda: holds.hold(credential, for_s=seconds))

    def _obey_hold(self, started: float) -> None:
        """Wait while the credential is held; what would take too long gives the job back."""
        gateway = self.gateway
        credential = gateway.chat.credential
        while (remaining := gateway.patiently(lambda: gateway.holds.remaining_s(credential))) > 0:
            # Others may prolong the hold again and again: the call's deadline counts here too.
            left = started + gateway.policy.total_s - gateway.monotonic()
            if remaining > min(gateway.throttle_wait_s, left):
                raise RateLimited(
                    f"backend {gateway.backend.name!r} is held for {remaining:.0f} s",
                    retry_after_s=remaining,
                )
            # Spread the callers, or all of them start in the same instant.
            self.wait(remaining * (1.0 + 0.1 * gateway.uniform()))

    def _try(self, messages: Sequence[Message], tools: Sequence[Tool], sample: int) -> ChatReply:
        reservation = self._reserve(messages)
        taken = Usage()
        try:
            reply = self.gateway.run(
                self.gateway.chat.complete(messages, tools=tools, sample=sample)
            )
            taken = reply.usage if not reply.usage.estimated else _estimate(messages, reply.text)
            return reply
        finally:
            self._settle(reservation, taken)

    def _reserve(self, messages: Sequence[Message]) -> str:
        gateway = self.gateway
        limit = gateway.backend.params.max_output_tokens or DEFAULT_OUTPUT_TOKENS
        expected = Usage(_tokens_of(messages), limit)
        estimate = Amount(
            calls=1,
            tokens=expected.total_tokens,
            micro_usd=cost_micro_usd(expected, gateway.backend.price),
        )
        reservation = gateway.new_id()
        refused = gateway.patiently(
            lambda: gateway.budgets.reserve(
                self.payer, reservation, job=self.job, role=self.role, estimate=estimate
            )
        )
        if refused is not None:
            raise BudgetExhausted(f"the budget of run {self.payer!r} allows no more {refused}")
        self.in_flight.add(reservation)
        return reservation

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
