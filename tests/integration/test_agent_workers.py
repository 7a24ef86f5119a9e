"""Worker processes whose backend is an agent program: nothing of it outlives what it was for."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_scripts import VERSION, AgentScript, alive, end, wait_for
from worker_fleet import KEY, KEY_VARIABLE, RUN, SKILL_WORD, TASK_WORD, WorkerFleet, until

from skillopt.domain.agent import AgentAccess, AgentProgramName
from skillopt.domain.backend import Backend
from skillopt.domain.messages import decode_messages
from skillopt.domain.results import Receipt
from skillopt.loop.jobs import JobFactory
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running
from skillopt.state.ports import Amount, WantStatus

NOWHERE = Address("127.0.0.1", 9)
FOLDER = os.environ.get("SKILLOPT_TEST_AGENTS")


class AgentFleet(WorkerFleet):
    """A fleet whose one backend runs a script in the place of Claude Code."""

    script: AgentScript
    program: AgentProgramName = "claude"
    executable = ""
    timeout_s = 60.0
    version = VERSION

    def make_backend(self) -> Backend:
        access = AgentAccess(
            program=self.program,
            executable=self.executable or str(self.script.path),
            version=self.version,
        )
        return Backend(
            name="sim",
            kind=f"{self.program}_cli",  # type: ignore[arg-type]
            model="m",
            base_url=self.provider.root_url,
            api_key_env=KEY_VARIABLE,
            timeout_s=self.timeout_s,
            agent=access,
        )

    def use(self, fingerprint: str) -> None:
        """Plan for the backend of this fingerprint, which a worker told."""
        target = self.plan.backends["target"].model_copy(update={"fingerprint": fingerprint})
        self.plan = self.plan.model_copy(update={"backends": {"target": target}})
        self.factory = JobFactory(self.plan, RUN)

    def hanging(self) -> list[int]:
        """Wait until a run hangs; gives its processes."""
        pids = until(self.script.pids, "the processes of the program", *self.workers)
        assert all(map(alive, pids))
        return pids


MakeFleet = Callable[..., AgentFleet]


@pytest.fixture
def make_fleet(redis_url: str, tmp_path: Path) -> Iterator[MakeFleet]:
    """Make a fleet; its processes end with the test, and their workspaces are its own."""
    # The path of a socket may not be long, so pytest's folders do not do.
    workspaces = tempfile.mkdtemp(prefix="so-")
    script = AgentScript(tmp_path / "programs", "claude")
    made: list[AgentFleet] = []

    def make(
        environ: dict[str, str] | None = None, provider: Address = NOWHERE, **changed: Any
    ) -> AgentFleet:
        kind = type("_Fleet", (AgentFleet,), {"script": script, **changed})
        made.append(kind(redis_url, tmp_path, provider, {"TMPDIR": workspaces, **(environ or {})}))
        return made[-1]

    yield make
    for fleet in made:
        fleet.close()
    end(script.pids())
    shutil.rmtree(workspaces)


def test_a_task_is_done_by_the_program_judged_and_accounted_for(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    worker = fleet.start()
    job = fleet.rollout()
    fleet.ask_for(job)
    stored = fleet.result(job)
    reply = fleet.reply(job)
    assert TASK_WORD in reply.text and SKILL_WORD in reply.text
    judgement = fleet.judgement(job)
    assert judgement is not None and judgement.hard == 0.0
    receipt = Receipt.model_validate_json(stored.receipt)
    assert (receipt.calls, receipt.input_tokens, receipt.output_tokens) == (1, 100, 10)
    assert (fleet.spend().calls["target"], fleet.spend().reserved) == (1, Amount())
    assert reply.trajectory is not None
    told = decode_messages(fleet.state.blobs.get([reply.trajectory])[reply.trajectory])
    assert [message.role for message in told] == ["system", "user", *["assistant"] * 3]
    assert told[3].content.startswith("Step 2: uses Bash")
    assert fleet.state.fleet.workers()[0].fingerprint == fleet.backend.fingerprint
    assert KEY not in worker.text()


def test_an_optimizer_prompt_is_answered_by_the_program(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    fleet.start()
    job = fleet.optimize()
    fleet.ask_for(job)
    assert TASK_WORD in fleet.reply(job).text
    assert fleet.spend().calls["optimizer"] == 1


def test_a_killed_worker_leaves_no_process_and_another_does_the_job(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet()
    fleet.script.hang()
    first = fleet.start("1")
    job = fleet.rollout()
    fleet.ask_for(job)
    pids = fleet.hanging()
    first.tell(signal.SIGKILL)
    first.exit_code()
    wait_for(lambda: not any(map(alive, pids)), f"the end of {pids}")
    fleet.script.work()
    fleet.start("2")
    receipt = Receipt.model_validate_json(fleet.brought(job).receipt)
    assert receipt.worker.startswith("sim-2@")
    until(lambda: fleet.spend().unconfirmed.calls == 1, "the lapse of the reservation")
    assert fleet.spend().reserved == Amount()


def test_a_worker_that_is_told_to_stop_ends_the_program_and_gives_the_job_back(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet({"SKILLOPT_TIMING_DRAIN_S": "0.3"})
    fleet.script.hang()
    worker = fleet.start()
    job = fleet.rollout()
    fleet.ask_for(job)
    pids = fleet.hanging()
    worker.tell(signal.SIGTERM)
    assert worker.exit_code() == 0
    wait_for(lambda: not any(map(alive, pids)), f"the end of {pids}")
    assert fleet.want(job).status is WantStatus.SEND


def test_a_program_over_its_deadline_is_ended_and_its_job_is_no_zero(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet({"SKILLOPT_RETRY_MAX_TRIES": "1"}, timeout_s=1.5)
    fleet.script.hang()
    worker = fleet.start()
    job = fleet.rollout()
    fleet.ask_for(job)
    pids = fleet.hanging()
    wait_for(lambda: not any(map(alive, pids)), f"the end of {pids}")
    until(lambda: "did not answer in time and was ended" in worker.text(), "the report", worker)
    assert fleet.state.results.get([job.id]) == {}
    fleet.script.work()
    assert fleet.brought(job)


def test_a_job_that_nobody_wants_any_more_ends_its_program(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    fleet.script.hang()
    fleet.start()
    job = fleet.rollout()
    fleet.ask_for(job)
    pids = fleet.hanging()
    fleet.state.board.unwant(fleet.lead, [job.id])
    wait_for(lambda: not any(map(alive, pids)), f"the end of {pids}")
    assert fleet.state.results.get([job.id]) == {}


def test_a_worker_with_another_version_refuses_to_start_and_names_both(
    make_fleet: MakeFleet,
) -> None:
    fleet = make_fleet(version="1.0.0")
    worker = fleet.start(ready=False)
    assert worker.exit_code() == 2
    assert f"wants version '1.0.0' of claude, but {str(fleet.script.path)!r} is '{VERSION}'" in (
        worker.text()
    )
    assert fleet.state.fleet.workers() == []


def test_a_worker_without_a_pinned_version_announces_its_own(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(version="")
    fleet.start()
    [info] = fleet.state.fleet.workers()
    pinned = fleet.backend.model_copy(
        update={"agent": fleet.backend.agent.model_copy(update={"version": VERSION})}  # type: ignore[union-attr]
    )
    assert info.fingerprint == pinned.fingerprint != fleet.backend.fingerprint


# --- the real programs ----------------------------------------------------------------------------


def running_below(folder: str) -> list[int]:
    """Find the processes whose working folder is below a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                found.append(int(entry.name))
        except OSError:
            continue  # gone meanwhile, or another user's
    return [pid for pid in found if alive(pid)]


@pytest.mark.parametrize("name", ["claude", "codex", "copilot"])
def test_a_killed_worker_leaves_nothing_of_a_real_program(make_fleet: MakeFleet, name: str) -> None:
    executable = shutil.which(name, path=FOLDER) if FOLDER else None
    if executable is None:
        pytest.skip(f"{name} is not in the folder that SKILLOPT_TEST_AGENTS names")
    with running(SimulatorOptions(api_key=KEY, latency_s=600.0)) as provider:
        changed = {"program": name, "executable": executable, "version": ""}
        fleet = make_fleet(provider=provider, **changed)
        folder = fleet.environ["TMPDIR"]
        first = fleet.start("1")
        [info] = fleet.state.fleet.workers()
        fleet.use(info.fingerprint)
        job = fleet.rollout()
        fleet.ask_for(job)
        fleet.in_flight()
        assert running_below(folder)
        first.tell(signal.SIGKILL)
        first.exit_code()
        wait_for(lambda: not running_below(folder), "the end of the program")
        fleet.control(latency_s=0)
        fleet.start("2")
        assert fleet.brought(job)
        assert running_below(folder) == []
