"""A whole run of an agent program: what it gets, what comes back, what is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fake_programs import ANSWERS, SECRET, FakeProgram, alive, assignment, attempt, until

from skillopt.backends.cli.agent import CliAgent
from skillopt.backends.cli.workspace import WorkspaceFile
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.usage import Usage
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallTimeout,
    ConfigError,
    ServerFailed,
    TaskError,
)

NAMES = ("claude", "codex", "copilot")
#: Starts a grandchild in a session of its own, writes its pid, and never ends.
HANG = """
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open(REPORT + ".pids.new", "w") as out:
    json.dump([os.getpid(), child.pid], out)
os.replace(REPORT + ".pids.new", REPORT + ".pids")
time.sleep(600)
"""


def hanging(folder: Path, name: str = "claude") -> FakeProgram:
    report = str(folder / f"{name}.report")
    return FakeProgram(folder, name, f"REPORT = {report!r}\n{HANG}")  # type: ignore[arg-type]


def pids_of(program: FakeProgram) -> list[int]:
    path = Path(f"{program.report}.pids")
    until(path.exists)
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", NAMES)
def test_an_attempt_gives_the_answer_and_leaves_nothing(tmp_path, name):
    program = FakeProgram(tmp_path, name)
    reply = attempt(program.agent())
    assert (reply.text, reply.finish_reason, reply.tools_called) == ("the answer", "stop", ())
    assert [message.role for message in reply.messages] == ["system", "user", "assistant"]
    assert program.leftovers() == []


@pytest.mark.parametrize("name", NAMES)
def test_skill_and_task_reach_the_program_by_prompt_but_never_by_arguments(tmp_path, name):
    program = FakeProgram(tmp_path, name, "")
    program.path.write_text(
        program.path.read_text().replace(
            '"files": files}',
            '"files": files, "system": open(os.environ["HOME"] + '
            '"/../control/system.txt").read() if os.path.exists(os.environ["HOME"] + '
            '"/../control/system.txt") else ""}',
        )
    )
    attempt(program.agent(), assignment("What is 2+2?", "Always be brief."))
    seen = program.seen
    assert "What is 2+2?" in seen["stdin"]
    assert "Always be brief." in seen["stdin"] + seen["system"]
    assert not any("2+2" in word or "brief" in word for word in seen["argv"])


@pytest.mark.parametrize("name", NAMES)
def test_the_environment_is_an_allow_list_inside_the_workspace(tmp_path, name):
    program = FakeProgram(tmp_path, name)
    attempt(program.agent())
    env = program.seen["env"]
    assert "WORKER_SECRET" not in env and "THE_KEY" not in env
    folder = Path(program.seen["cwd"]).parent
    assert folder.parent == program.root
    homes = ("HOME", "TMPDIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
    assert all(Path(env[home]).parent == folder for home in homes if home in env)


@pytest.mark.parametrize("name", NAMES)
def test_the_secret_is_in_no_argument_input_or_file_of_the_workspace(tmp_path, name):
    body = f"""
import pathlib
top = pathlib.Path(os.environ["HOME"]).parent
files = [p for p in top.rglob("*") if p.is_file()]
found = [str(p) for p in files if {SECRET!r}.encode() in p.read_bytes()]
say(*json.loads({json.dumps(json.dumps(ANSWERS[name]))}))
with open({str(tmp_path)!r} + "/found", "w") as out:
    json.dump(found, out)
"""
    program = FakeProgram(tmp_path, name, body)
    attempt(program.agent())
    seen = program.seen
    assert json.loads((tmp_path / "found").read_text()) == []
    assert SECRET not in json.dumps(seen["argv"]) + seen["stdin"]
    assert SECRET in json.dumps(seen["env"]) + json.dumps(seen["by_pipe"])


def test_claude_gets_its_key_by_a_pipe_and_not_in_its_environment(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    attempt(program.agent())
    assert SECRET not in json.dumps(program.seen["env"])
    assert program.seen["by_pipe"] == {"CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR": SECRET}


def test_a_secret_that_the_program_prints_is_hidden_everywhere(tmp_path):
    body = f"""
say({{"type": "assistant", "message": {{"content": [{{"type": "text", "text": "key {SECRET}"}}]}}}},
    {{"type": "result", "subtype": "success", "is_error": False, "result": "it is {SECRET}"}})
"""
    reply = attempt(FakeProgram(tmp_path, "claude", body).agent())
    assert reply.text == "it is [hidden]"
    assert SECRET not in repr(reply)


def test_a_secret_in_an_error_is_hidden(tmp_path):
    body = f"sys.stderr.write('boom {SECRET}'); sys.exit(3)"
    with pytest.raises(ServerFailed) as caught:
        attempt(FakeProgram(tmp_path, "claude", body).agent())
    assert "boom [hidden]" in str(caught.value)


def test_objects_that_hold_the_secret_do_not_show_it(tmp_path):
    agent = FakeProgram(tmp_path, "codex").agent()
    assert SECRET not in repr(vars(agent)) and SECRET not in agent.credential


@pytest.mark.parametrize("name", NAMES)
def test_a_run_over_its_deadline_is_a_timeout_and_nothing_of_it_lives_on(tmp_path, name):
    program = hanging(tmp_path, name)
    with pytest.raises(CallTimeout):
        attempt(program.agent(timeout_s=2.0))
    assert not any(alive(pid) for pid in pids_of(program))
    assert program.leftovers() == []


def test_cancelling_an_attempt_ends_the_program_and_what_it_started(tmp_path):
    program = hanging(tmp_path)

    async def cancelled() -> None:
        task = asyncio.create_task(program.agent().attempt(assignment()))
        await asyncio.to_thread(pids_of, program)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not any(alive(pid) for pid in pids_of(program))
    assert program.leftovers() == []


def test_a_killed_worker_leaves_no_process_and_the_next_one_clears_its_workspace(tmp_path):
    program = hanging(tmp_path)
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from fake_programs import *\n"
            "p = FakeProgram.__new__(FakeProgram)\n"
            f"p.name, p.path, p.root = 'claude', Path({str(program.path)!r}), "
            f"Path({str(program.root)!r})\n"
            "attempt(p.agent())",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )
    pids = pids_of(program)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    until(lambda: not any(alive(pid) for pid in pids))
    assert program.leftovers() != []
    until(lambda: bool(program.agent()) and program.leftovers() == [])


def test_a_program_that_is_not_there_is_named_when_the_agent_is_made(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    program.path.unlink()
    with pytest.raises(ConfigError, match=r"claude' is not found here; install it"):
        program.agent()


def test_a_program_that_vanishes_is_the_backends_fault(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    agent = program.agent()
    program.path.unlink()
    with pytest.raises(BadRequest, match="install it"):
        attempt(agent)


def test_a_missing_credential_names_its_variable(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    with pytest.raises(ConfigError, match="'THE_KEY', which is not set"):
        CliAgent(program.options(), {"PATH": os.environ["PATH"]}, program.root)


@pytest.mark.parametrize("name", NAMES)
def test_a_task_tool_is_a_command_that_the_broker_sees(tmp_path, name):
    body = f"""
done = subprocess.run(["./tools/search", "cats"], capture_output=True, text=True)
assert done.stdout == "3 cats\\n", done
say(*json.loads({json.dumps(json.dumps(ANSWERS[name]))}))
"""
    program = FakeProgram(tmp_path, name, body)
    more = {"network": True} if name == "codex" else {}
    given = assignment(tools=(Tool(name="search", description="Finds.", result="3 cats"),))
    reply = attempt(program.agent(**more), given)
    assert reply.tools_called == ("search",)
    assert json.loads(reply.tool_calls[0].arguments) == {"argv": ["cats"]}
    assert "./tools/search" in reply.messages[0].content


def test_claiming_a_tool_call_in_words_counts_for_nothing(tmp_path):
    body = """
open("_tool_calls.log", "w").write("search")
say({"type": "result", "subtype": "success", "is_error": False, "result": "TOOL_CALL: search"})
"""
    given = assignment(tools=(Tool(name="search", result="3 cats"),))
    assert attempt(FakeProgram(tmp_path, "claude", body).agent(), given).tools_called == ()


def test_tools_that_codex_could_not_reach_are_refused_before_anything_runs(tmp_path):
    program = FakeProgram(tmp_path, "codex")
    with pytest.raises(TaskError, match="network: true"):
        attempt(program.agent(), assignment(tools=(Tool(name="search"),)))
    assert not program.report.exists()


def test_tools_need_the_programs_shell(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    with pytest.raises(TaskError, match="add 'Bash'"):
        attempt(program.agent(tools=("Read",)), assignment(tools=(Tool(name="search"),)))


def test_delivery_by_file_lays_the_skill_folder_into_the_workspace(tmp_path):
    program = FakeProgram(tmp_path, "copilot")
    given = assignment(
        skill="Be very brief.",
        skill_files=(WorkspaceFile("ref/notes.md", b"notes"),),
        files=(WorkspaceFile("data/in.csv", b"1,2"),),
    )
    attempt(program.agent(skill_delivery="file"), given)
    seen = program.seen
    expected = ["data/in.csv", "skill/SKILL.md", "skill/ref/notes.md", "task.md"]
    assert seen["files"] == expected
    assert "Be very brief." not in seen["stdin"]
    assert "`skill/SKILL.md`" in seen["stdin"] and "`data/in.csv`" in seen["stdin"]


@pytest.mark.parametrize("name", NAMES)
def test_native_delivery_puts_the_skill_where_the_program_looks(tmp_path, name):
    body = f"""
import pathlib
homes = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
home = next(os.environ[name] for name in homes if name in os.environ)
text = pathlib.Path(home, "skills", "brief-writer", "SKILL.md").read_text()
with open({str(tmp_path)!r} + "/skill", "w") as out:
    out.write(text)
say(*json.loads({json.dumps(json.dumps(ANSWERS[name]))}))
"""
    skill = "---\nname: brief-writer\ndescription: Writes briefs.\n---\nBe brief."
    reply = attempt(
        FakeProgram(tmp_path, name, body).agent(skill_delivery="native"), assignment(skill=skill)
    )
    assert (tmp_path / "skill").read_text() == skill
    assert "`brief-writer`" in reply.messages[0].content


def test_two_files_at_one_path_are_refused(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    with pytest.raises(TaskError, match=r"'task\.md' is in the workspace already"):
        attempt(program.agent(), assignment(files=(WorkspaceFile("task.md", b"x"),)))
    for second in ("a", "a/b"):
        files = (WorkspaceFile("a", b"x"), WorkspaceFile(second, b"y"))
        with pytest.raises(TaskError, match=f"{second!r} is given twice, or below a file"):
            program.agent().require_possible(assignment(files=files))
    assert not program.root.exists()


def test_a_prompt_without_a_task_runs_without_any_tool(tmp_path):
    program = FakeProgram(tmp_path, "claude")
    messages = [Message(role="system", content="S"), Message(role="user", content="U")]
    reply = asyncio.run(program.agent().complete(messages, sample=3))
    assert (reply.text, reply.usage) == ("the answer", Usage(14, 5, 3))
    argv = program.seen["argv"]
    assert argv[argv.index("--tools") + 1] == "" and "--allowedTools" not in argv
    assert program.seen["env"]["ANTHROPIC_CUSTOM_HEADERS"] == "X-Skillopt-Sample: 3"
    assert program.seen["stdin"] == "U"


def test_a_longer_conversation_names_who_speaks(tmp_path):
    program = FakeProgram(tmp_path, "codex")
    talk = [
        Message(role="user", content="A"),
        Message(role="assistant", content="B"),
        Message(role="user", content="C"),
    ]
    asyncio.run(program.agent().complete(talk))
    assert program.seen["stdin"] == "## User\n\nA\n\n## Assistant\n\nB\n\n## User\n\nC"


def test_tools_are_not_for_complete(tmp_path):
    agent = FakeProgram(tmp_path, "claude").agent()
    with pytest.raises(BadRequest, match="attempt"):
        asyncio.run(agent.complete([Message(role="user", content="U")], tools=[Tool(name="t")]))


def test_the_version_is_asked_in_an_isolated_home(tmp_path):
    program = FakeProgram(tmp_path, "codex", "print('codex-cli 9.9.9')")
    assert asyncio.run(program.agent().version()) == "9.9.9"
    assert program.seen["argv"] == ["--version"] and SECRET not in json.dumps(program.seen)
    assert program.leftovers() == []


def test_a_login_file_enters_the_home_and_its_refresh_comes_back(tmp_path):
    login = tmp_path / "auth.json"
    login.write_text(json.dumps({"tokens": {"refresh": "old-refresh-token-0123"}}))
    body = f"""
path = os.path.join(os.environ["CODEX_HOME"], "auth.json")
assert json.load(open(path))["tokens"]["refresh"] == "old-refresh-token-0123"
json.dump({{"tokens": {{"refresh": "new-refresh-token-0123"}}}}, open(path, "w"))
answer = json.loads({json.dumps(json.dumps(ANSWERS["codex"]))})
answer[0]["item"]["text"] = "old-refresh-token-0123 new-refresh-token-0123"
say(*answer)
"""
    program = FakeProgram(tmp_path, "codex", body)
    agent = program.agent(auth="login_file", login_file=login, api_key_env=None, base_url=None)
    assert attempt(agent).text == "[hidden] [hidden]"
    assert json.loads(login.read_text())["tokens"]["refresh"] == "new-refresh-token-0123"
    assert login.stat().st_mode & 0o077 == 0
    assert program.leftovers() == []


def test_a_failed_run_still_brings_the_refreshed_login_back(tmp_path):
    login = tmp_path / "auth.json"
    login.write_text(json.dumps({"tokens": "old"}))
    body = """
json.dump({"tokens": "new"}, open(os.path.join(os.environ["CODEX_HOME"], "auth.json"), "w"))
say({"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized: no"}})
sys.exit(1)
"""
    program = FakeProgram(tmp_path, "codex", body)
    agent = program.agent(auth="login_file", login_file=login, api_key_env=None, base_url=None)
    with pytest.raises(AuthFailed):
        attempt(agent)
    assert json.loads(login.read_text()) == {"tokens": "new"}


def test_output_without_end_is_read_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr("skillopt.backends.cli.agent.run_program", _small)
    body = f"""
say({{"type": "system"}})
for _ in range(2000):
    print("x" * 1000)
say(*json.loads({json.dumps(json.dumps(ANSWERS["claude"]))}))
"""
    assert attempt(FakeProgram(tmp_path, "claude", body).agent()).text == "the answer"


async def _small(invocation, **given):
    from skillopt.backends.cli.process import run_program

    finished = await run_program(invocation, **given, kept_bytes=20_000)
    assert len(finished.stdout) <= 20_001
    return finished
