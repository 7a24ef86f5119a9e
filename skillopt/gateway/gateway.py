"""One model call from the inside: wait for its turn, reserve, call, classify, retry, settle.

A call is one request sent, retries included: each try is reserved before it is made and settled
after it. A try that the provider refused (4xx, 429, 5xx) is a call without tokens; one that ended
without the provider's word may have been billed, so it counts at its estimate, as unconfirmed. The
turn comes before the reservation, so that calls which wait keep no budget from those that could
start.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Generic, Protocol, TypeVar

from skillopt.backends.base import ChatBackend, ChatReply
from skillopt.backends.cli.contract import AgentBackend, AgentReply, Assignment
from skillopt.domain.backend import Backend, Limits, Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.domain.usage import Role, Usage, cost_micro_usd
from skillopt.errors import BudgetExhausted, BudgetHeld, CallError
from skillopt.gateway.estimates import (
    AGENT_INPUT_TOKENS,
    AGENT_OUTPUT_TOKENS,
    DEFAULT_OUTPUT_TOKENS,
    largest_prompt,
    probable_prompt,
    probable_tokens,
)
from skillopt.gateway.retry import RetryPolicy
from skillopt.gateway.throttling import Turn, Wait, end_after, scope_of
from skillopt.state.ports import Amount, Budgets, CallEnd, Throttle, ThrottleScope

T = TypeVar("T")

#: How often a job that has paid for nothing yet asks a budget which calls in flight hold. After
#: that it is given back: it would keep a thread from jobs of runs that can pay.
HELD_TRIES: Final = 2


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
    """One request that may be sent several times, and what it is expected to take.

    `reserved` is what a budget sets aside for it: the most it can take, if that is known.
    `is_session`: it stands for a whole conversation of a program with the provider, so that a part
    of it may have been billed, however it failed.
    """

    ask: Callable[[], Coroutine[Any, Any, R]]
    expected: Usage
    prompt_tokens: int
    reserved: Usage | None = None
    is_session: bool = False


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
    #: The limits in force, where they may change; None: always those of the catalogue.
    live_limits: Callable[[], Limits] | None = None

    @property
    def limits(self) -> Limits:
        return self.backend.limits if self.live_limits is None else self.live_limits()

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

        prompt_tokens = probable_prompt(messages)
        output_tokens = used.max_output_tokens or DEFAULT_OUTPUT_TOKENS
        expected = Usage(prompt_tokens, output_tokens)
        reserved = Usage(largest_prompt(messages, tools, schema), output_tokens)
        return self._call(Request(ask, expected, prompt_tokens, reserved))

    def attempt(self, assignment: Assignment) -> AgentReply:
        """Let an agent do a whole task, which counts as one call.

        Raises TaskError, before anything is reserved, if it never could; a `CallError` when no try
        succeeded.
        """
        agent = self.gateway.chat
        if not isinstance(agent, AgentBackend):
            raise TypeError(f"backend {self.gateway.backend.name!r} is no agent program")
        agent.require_possible(assignment)
        prompt_tokens = probable_prompt(assignment.messages(assignment.skill)) + AGENT_INPUT_TOKENS
        expected = Usage(prompt_tokens, AGENT_OUTPUT_TOKENS)
        ask = partial(agent.attempt, assignment)
        return self._call(Request(ask, expected, prompt_tokens, is_session=True))

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
                if delay > gateway.throttle_wait_s or self._is_held(error, failures):
                    raise
                self.wait(delay)

    def _is_held(self, error: CallError, failures: int) -> bool:
        """Whether to wait for the budget with the job given back. One that has paid for a part of
        its calls waits in place: given back, it would pay for them again.
        """
        return isinstance(error, BudgetHeld) and not self.calls and failures >= HELD_TRIES

    def _try(self, request: Request[R], started: float) -> R:
        """Make one request, in its turn and within the budget."""
        call = self.gateway.new_id()
        charged = request.expected.total_tokens
        self._await_turn(call, charged, started)
        end = CallEnd("unsent", charged)
        try:
            self.wait(0)  # a job that was told to stop reserves nothing any more
            self._reserve(call, request.reserved or request.expected)
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
                lambda: gateway.throttle.admit(gateway.scope, gateway.limits, call, tokens=tokens)
            ),
            wait=self.wait,
            uniform=gateway.uniform,
            wait_limit_s=min(gateway.throttle_wait_s, left_s),
        ).take()

    def _leave(self, call: str, end: CallEnd) -> None:
        gateway = self.gateway
        limits = gateway.limits
        gateway.patiently(lambda: gateway.throttle.leave(gateway.scope, limits, call, end))

    def _send(self, call: str, request: Request[R]) -> tuple[R, Usage]:
        try:
            reply = self.gateway.run(request.ask())
        except BaseException as error:
            # What is no error of the call cut it off while it was under way.
            answered = isinstance(error, CallError) and not error.may_be_billed
            if answered and not request.is_session:
                self._settle(call, Usage())
            else:
                self._settle_unknown(call)
            raise
        taken = reply.usage
        if taken.estimated or not taken.credible:
            taken = Usage(request.prompt_tokens, probable_tokens(reply.text), estimated=True)
        self._settle(call, taken)
        return reply, taken

    def _reserve(self, call: str, most: Usage) -> None:
        gateway, price = self.gateway, self.gateway.backend.price
        estimate = Amount(calls=1, tokens=most.total_tokens, micro_usd=cost_micro_usd(most, price))
        refused = gateway.patiently(
            lambda: gateway.budgets.reserve(
                self.payer,
                call,
                job=self.job,
                role=self.role,
                estimate=estimate,
                priced=price is not None,
                backend=gateway.backend.name,
            )
        )
        if refused is not None:
            whose = f"the budget of {refused.scope.kind} {refused.scope.name!r}"
            if refused.final:
                raise BudgetExhausted(f"{whose} allows no more {refused.cap}")
            raise BudgetHeld(f"what is left of {whose} ({refused.cap}) is held by calls in flight")
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
                estimated=taken.estimated,
            )
        )
        self.in_flight.discard(reservation)

    def _settle_unknown(self, reservation: str) -> None:
        self.calls += 1
        self.gateway.patiently(lambda: self.gateway.budgets.settle_unknown(self.payer, reservation))
        self.in_flight.discard(reservation)
