from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from embedded_processes import PYTHON, eventually, is_running

from skillopt import guard
from skillopt.guarded import GuardedProcess, GuardTerms, exit_in_words

OWNER = """
import json, sys, time
from skillopt.guarded import GuardedProcess, GuardTerms
process = GuardedProcess.start(json.loads(sys.argv[1]), terms=GuardTerms(grace_s=0.2))
print(process.pid, flush=True)
time.sleep(100)
"""


def start(program: str, **terms: object) -> GuardedProcess:
    return GuardedProcess.start(
        [*PYTHON, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        terms=GuardTerms(**{"grace_s": 0.2, **terms}),  # type: ignore[arg-type]
    )


def end(process: GuardedProcess) -> int:
    code = process.stop(0.2)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return code


@pytest.mark.parametrize("code", [0, 1, 77])
def test_exit_code_is_the_commands(code):
    process = start(f"raise SystemExit({code})")
    assert process.wait(20) == code
    assert process.poll() == code
    end(process)


def test_death_by_signal_is_128_plus_signal():
    process = start("import os; os.kill(os.getpid(), 9)")
    assert process.wait(20) == 137
    end(process)


def test_program_that_does_not_exist_is_127_and_named(tmp_path):
    missing = str(tmp_path / "no such program")
    process = GuardedProcess.start([missing], stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert repr(missing) in process.stderr.read().decode()
    assert process.wait(20) == 127
    assert process.child_pid() is None
    end(process)


def test_file_that_is_no_program_is_126(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a program")
    process = GuardedProcess.start([str(file)], stderr=subprocess.DEVNULL)
    assert process.wait(20) == 126


def test_lifeline_end_ends_the_whole_group(tree):
    process = GuardedProcess.start(tree.argv(), terms=GuardTerms(grace_s=0.2))
    assert tree.pids()[0] == process.child_pid()
    process._close_lifeline()
    assert process.wait(20) == 128 + signal.SIGTERM
    assert tree.is_gone()


def test_command_that_ignores_term_is_killed_after_the_grace(tree):
    process = GuardedProcess.start(tree.argv(then="ignore-term"), terms=GuardTerms(grace_s=0.1))
    tree.pids()
    process._close_lifeline()
    assert process.wait(20) == 128 + signal.SIGKILL
    assert tree.is_gone()


def test_deadline_ends_the_whole_group_with_124(tree):
    process = GuardedProcess.start(tree.argv(), terms=GuardTerms(grace_s=0.1, deadline_s=2.0))
    assert process.wait(20) == guard.EXPIRED
    assert tree.is_gone()


def test_what_an_ended_command_left_behind_is_killed(tree):
    process = GuardedProcess.start(tree.argv(then="leave"))
    assert process.wait(20) == 7
    assert tree.is_gone()


def test_descendant_that_left_the_group_is_killed_too(tree):
    process = GuardedProcess.start(tree.argv(detached=True))
    tree.pids()
    process.stop(5)
    assert tree.is_gone()


def test_owner_killed_with_sigkill_takes_everything_along(tree, run_owner):
    owner = run_owner(OWNER, json.dumps(tree.argv()))
    guard_pid = int(owner.stdout.readline())
    tree.pids()
    owner.kill()
    eventually(lambda: not is_running(guard_pid), "the guard has ended")
    assert tree.is_gone()


def test_owner_killed_while_another_process_holds_a_copy_of_the_lifeline(tree, run_owner):
    forks = OWNER.replace(
        "print(process.pid",
        "import os\nif (copy := os.fork()) == 0: time.sleep(100)\nprint(copy, process.pid",
    )
    owner = run_owner(forks, json.dumps(tree.argv()))
    pids = [int(word) for word in owner.stdout.readline().split()]
    tree.pids()
    owner.kill()
    try:
        eventually(tree.is_gone, "the tree has ended although the lifeline is still open")
    finally:
        for pid in pids:  # the forked copy of the owner, and the guard if it failed
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)


def test_killed_guard_takes_the_group_along(tree):
    process = GuardedProcess.start(tree.argv())
    command, grandchild = tree.pids()
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: not is_running(command), "the kernel has ended the command")
    assert process.wait(20) == 128 + signal.SIGKILL
    eventually(lambda: not is_running(grandchild), "the rest of the group has ended")


def test_command_lingers_after_the_owner_until_the_time_is_up():
    process = start("import time; time.sleep(100)", linger_s=0.5)
    child = process.child_pid()
    assert child is not None
    before = time.monotonic()
    process._close_lifeline()
    assert process.wait(20) == 128 + signal.SIGTERM
    assert time.monotonic() - before >= 0.5
    end(process)


def test_lingering_ends_early_when_the_last_client_is_gone():
    clients_read, clients_write = os.pipe()
    process = start("import time; time.sleep(100)", linger_s=90.0, linger_until_fd=clients_read)
    client = start("import time; time.sleep(100)", hold_fds=(clients_write,))
    os.close(clients_read)
    os.close(clients_write)
    assert client.child_pid() is not None
    process._close_lifeline()
    with pytest.raises(TimeoutError, match=str(process.pid)):
        process.wait(0.2)
    end(client)
    assert process.wait(20) == 128 + signal.SIGTERM
    end(process)


def test_term_and_quit_reach_the_command_and_interrupt_does_not():
    program = (
        "import os, signal, time\n"
        "signal.signal(15, lambda *_: os.write(1, b'term\\n'))\n"
        "signal.signal(3, lambda *_: os.write(1, b'quit\\n'))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.01)"
    )
    process = start(program)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGINT)
    process.signal(signal.SIGTERM)
    assert process.stdout.readline() == b"term\n"
    process.signal(signal.SIGQUIT)
    assert process.stdout.readline() == b"quit\n"
    assert process.poll() is None
    process.signal(signal.SIGKILL)
    assert process.wait(20) == 128 + signal.SIGKILL
    end(process)


def test_other_signals_are_refused():
    process = start("import time; time.sleep(100)")
    with pytest.raises(ValueError, match="SIGTERM"):
        process.signal(signal.SIGUSR1)
    end(process)


def test_command_starts_with_default_signal_handling():
    program = (
        "import signal\n"
        "names = [s.name for s in (signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGHUP)\n"
        "         if signal.getsignal(s) != signal.SIG_DFL]\n"
        "if signal.getsignal(signal.SIGINT) == signal.SIG_IGN: names.append('SIGINT')\n"
        "raise SystemExit(' '.join(names) or 0)"
    )
    process = start(program)
    code = process.wait(20)
    assert process.stderr is not None
    assert (process.stderr.read(), code) == (b"", 0)
    end(process)


def test_command_gets_passed_descriptors_and_none_of_the_guards():
    read_end, write_end = os.pipe()
    held, spare = os.pipe()
    process = GuardedProcess.start(
        [*PYTHON, "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"],
        stdout=subprocess.PIPE,
        terms=GuardTerms(hold_fds=(held,)),
        pass_fds=(write_end,),
    )
    assert process.stdout is not None
    seen = set(json.loads(process.stdout.read()))
    assert {0, 1, 2, write_end} <= seen
    assert len(seen) == 5  # the fifth is the listing itself
    assert process.wait(20) == 0
    for fd in (read_end, write_end, held, spare):
        os.close(fd)
    end(process)


def test_environment_and_folder_are_the_commands(tmp_path):
    process = GuardedProcess.start(
        [*PYTHON, "-c", "import os; print(os.environ['WORD'], os.getcwd())"],
        env={"WORD": "held"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.read().decode().split() == ["held", str(Path(tmp_path).resolve())]
    assert process.wait(20) == 0
    end(process)


def test_guard_does_not_keep_the_commands_output_open():
    process = start("import os, time; os.write(1, b'done'); os.close(1); time.sleep(100)")
    assert process.stdout is not None
    assert process.stdout.read() == b"done"
    assert process.poll() is None
    end(process)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--lifeline", "0", "--grace", "1"], "'--'"),
        (["--lifeline", "0", "--grace", "x", "--", "true"], "'x'"),
        (["--lifeline", "0", "--grace", "--", "true"], "'--grace'"),
        (["--lifelong", "0", "--grace", "1", "--", "true"], "'--lifelong'"),
        (["--lifeline", "0", "--", "true"], "--grace"),
    ],
)
def test_wrong_usage_is_named(arguments, word):
    done = subprocess.run(
        [sys.executable, "-I", "-S", guard.__file__, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == guard.BAD_USAGE
    assert word in done.stderr


def test_exit_codes_in_words():
    assert exit_in_words(0) == "exit code 0"
    assert exit_in_words(137) == "killed by SIGKILL (exit code 137)"
    assert exit_in_words(127) == "program not found (exit code 127)"
    assert exit_in_words(254) == "exit code 254"
