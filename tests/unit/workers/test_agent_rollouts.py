"""A rollout by an agent: what it is handed, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from worker_parts import ITEM, SKILL, TEMPLATE, Chat, Workshop, message, rollout, said

from skillopt.backends.cli.contract import AgentReply, Assignment
from skillopt.domain.documents import Documents
from skillopt.domain.fingerprint import sha256_hex, text_hash
from skillopt.domain.item import Attachment, ExactJudge, Item, Splits, TaskPrompt, Tool
from skillopt.domain.jobs import RolloutSpec
from skillopt.domain.messages import Message, ToolCall, decode_messages
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import BODY, InvalidBody, Receipt, ReplyBody
from skillopt.domain.skill_folder import SkillFile
from skillopt.domain.spec import Settings
from skillopt.domain.usage import Usage
from skillopt.errors import ServerFailed, TaskError
from skillopt.loop.jobs import JobFactory, WantedJob
from workers.delivery import handle
from workers.tasks import rollout as rollout_task

CSV = b"a,b\n\xff"
PROMPT = TaskPrompt(
    task="Greet Ada.",
    tools=(Tool(name="lookup", result="42"),),
    attachments=(
        Attachment(path="in/a.csv", sha256=sha256_hex(CSV), media_type="text/csv", size=len(CSV)),
    ),
)
FILES = (SkillFile.of("run.sh", b"#!/bin/sh\n", executable=True), SkillFile.of("ref.md", b"R"))


class Agent(Chat):
    """Does a task as the script says; `given` keeps what it was handed."""

    impossible = ""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Assignment] = []

    def require_possible(self, assignment: Assignment) -> None:
        if self.impossible:
            raise TaskError(self.impossible)

    async def attempt(self, assignment: Assignment) -> AgentReply:
        self.given.append(assignment)
        reply = await self.complete(assignment.messages("STAND-IN"))
        steps = ("Step 1: uses Bash\nls\ngives\nrun.sh", reply.text)
        told = tuple(Message(role="assistant", content=text) for text in steps)
        called = (ToolCall(id="n", name="lookup"),)
        messages = (*assignment.messages("STAND-IN"), *told)
        return AgentReply(reply.text, "stop", Usage(70, 7), called, messages)

    async def version(self) -> str:
        return "1.0"


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def shop(agent: Agent):
    made = Workshop(chat=agent)
    yield made
    made.close()


def body(shop: Workshop, job: str):
    return BODY.validate_json(shop.state.results.get([job])[job].body)


def attempt(shop: Workshop, job: WantedJob) -> str:
    shop.want(job)
    return handle(shop.container(), "rollout", message(job), rollout_task.run)


def of_folder() -> WantedJob:
    """A job of a skill folder, as a coordinator makes it."""
    item = Item(id="t1", prompt=PROMPT, judge=ExactJudge(answer="hello"))
    use = {"role": "target", "backend": "sim", "fingerprint": rollout().spec.backend}
    plan = RunPlan(
        name="p",
        settings=Settings(),
        skill=SKILL,
        files=FILES,
        splits=Splits(val=(item,)),
        templates={"attempt": TEMPLATE},
        judge_versions={"exact": rollout().judge_version},
        backends={"target": use},  # type: ignore[dict-item]
    )
    factory, documents = JobFactory(plan, "r1"), Documents(skill=SKILL)
    spec = factory.rollout(plan.initial_key, documents, item, 2)
    return factory.wanted_rollout(spec, documents, item, "val")


def test_an_agent_gets_skill_files_attachments_tools_and_its_sample(shop, agent) -> None:
    shop.state.blobs.put([CSV])
    job = of_folder()
    assert attempt(shop, job) == "scored"
    [given] = agent.given
    assert (given.skill, given.sample, given.tools) == (SKILL, 2, PROMPT.tools)
    files = {file.path: (file.content, file.executable) for file in given.skill_files}
    assert files == {"run.sh": (b"#!/bin/sh\n", True), "ref.md": (b"R", False)}
    assert [(file.path, file.content) for file in given.files] == [("in/a.csv", CSV)]
    system, user = given.messages("HERE")
    assert (system.content, user.content) == ("HERE", "Greet Ada."), "no file is shown in words"


def test_the_steps_the_tools_and_the_usage_of_an_agent_are_kept(shop, agent) -> None:
    job = rollout()
    assert attempt(shop, job) == "scored"
    reply = body(shop, job.id)
    assert isinstance(reply, ReplyBody)
    assert (reply.text, reply.tools_called) == ("hello", ("lookup",))
    told = decode_messages(shop.state.blobs.get([reply.trajectory])[reply.trajectory])
    assert told[2].content.startswith("Step 1: uses Bash")
    receipt = Receipt.model_validate_json(shop.state.results.get([job.id])[job.id].receipt)
    assert (receipt.calls, receipt.input_tokens, receipt.output_tokens) == (1, 70, 7)


def test_a_task_that_the_agent_could_never_do_is_invalid_and_costs_nothing(shop, agent) -> None:
    agent.impossible = "codex's sandbox lets no command reach the task's tools"
    job = rollout()
    assert attempt(shop, job) == "invalid"
    found = body(shop, job.id)
    assert isinstance(found, InvalidBody)
    assert found.reason.startswith("cannot be attempted: codex's sandbox")
    assert agent.given == [] and sum(shop.state.budgets.spend("r1").calls.values()) == 0


def test_a_program_that_fails_gives_the_job_back(shop, agent) -> None:
    agent.script = [ServerFailed("it crashed")]
    job = rollout()
    assert attempt(shop, job) == "server_error"
    assert not shop.committed(job.id)
    agent.script = [said("hello")]
    assert len(agent.given) == 2, "tried again by the one policy"


def test_a_folder_whose_files_are_gone_gives_the_job_back(shop, agent) -> None:
    job = of_folder()
    kept = tuple(blob for blob in job.blobs if blob != b"R")
    shop.state.blobs.put([CSV])
    assert attempt(shop, replace(job, blobs=kept)) == "state_corrupt"
    assert agent.given == []


def test_only_a_skill_folder_has_files(shop, agent) -> None:
    job = rollout(ITEM)
    assert isinstance(job.spec, RolloutSpec) and job.spec.skill == text_hash(SKILL)
    attempt(shop, job)
    assert agent.given[0].skill_files == ()
