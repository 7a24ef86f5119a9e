"""A whole task as one call: reserved, throttled, settled, tried again."""

from __future__ import annotations

import pytest
from gateway_parts import OK, PROMPT, Bench, ScriptedChat

from skillopt.backends.cli.contract import AgentReply, Assignment
from skillopt.domain.usage import Usage
from skillopt.errors import AuthFailed, RateLimited, TaskError
from skillopt.gateway.estimates import AGENT_INPUT_TOKENS
from skillopt.state.ports import Amount

TASK = Assignment(lambda skill: PROMPT, "the skill")
DONE = AgentReply("done", "stop", Usage(700, 30))


@pytest.fixture
def bench() -> Bench:
    return Bench()


class ScriptedAgent(ScriptedChat):
    """Does tasks as the script says."""

    impossible = ""

    def require_possible(self, assignment: Assignment) -> None:
        if self.impossible:
            raise TaskError(self.impossible)

    async def attempt(self, assignment: Assignment) -> AgentReply:
        reply: AgentReply = await self.complete(assignment)  # type: ignore[assignment]
        return reply

    async def version(self) -> str:
        return "1.0"


def test_an_attempt_is_one_call_with_the_usage_the_program_reports(bench: Bench) -> None:
    calls = bench.calls(ScriptedAgent(DONE))
    assert calls.attempt(TASK) is DONE
    assert (calls.calls, calls.usage) == (1, Usage(700, 30))
    spend = bench.budgets.spend("r1")
    assert (spend.calls["target"], spend.input_tokens, spend.reserved) == (1, 700, Amount())


def test_usage_that_is_not_reported_is_estimated_and_marked(bench: Bench) -> None:
    calls = bench.calls(ScriptedAgent(AgentReply("x" * 40, "stop", Usage(estimated=True))))
    calls.attempt(TASK)
    assert calls.usage == Usage(100 + AGENT_INPUT_TOKENS, 10, estimated=True)


def test_an_attempt_is_tried_again_by_the_one_policy(bench: Bench) -> None:
    agent = ScriptedAgent(RateLimited("slow down", retry_after_s=3.0), DONE)
    calls = bench.calls(agent)
    assert calls.attempt(TASK) is DONE
    assert agent.requests == calls.calls == 2
    assert max(bench.waits) >= 3.0
    # A program that failed may have been billed for a part of its work.
    assert bench.budgets.spend("r1").unconfirmed.calls == 1


def test_a_refused_login_is_not_tried_again(bench: Bench) -> None:
    agent = ScriptedAgent(AuthFailed("no login"))
    with pytest.raises(AuthFailed):
        bench.calls(agent).attempt(TASK)
    assert agent.requests == 1


def test_a_task_that_cannot_be_done_is_neither_sent_nor_counted(bench: Bench) -> None:
    agent = ScriptedAgent(DONE)
    agent.impossible = "its tools are out of reach"
    calls = bench.calls(agent)
    with pytest.raises(TaskError, match="out of reach"):
        calls.attempt(TASK)
    assert (agent.requests, calls.calls) == (0, 0)
    assert bench.budgets.spend("r1").calls.get("target", 0) == 0


def test_a_backend_that_only_chats_gets_no_task(bench: Bench) -> None:
    with pytest.raises(TypeError, match="'b' is no agent program"):
        bench.calls(ScriptedChat(OK)).attempt(TASK)
