from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from embedded_processes import PYTHON, eventually, is_running

from producer.embedded.child import ChildSpec, DeathRecord, RestartRule, StopOrder
from producer.embedded.supervisor import Death, StopRule, Supervisor
from skillopt.errors import EmbeddedError

FAST = RestartRule(first_delay_s=0.01, max_delay_s=0.05)
SOON = StopRule(quit_after_s=0.3, kill_after_s=0.6)

#: Tells its process id in the log, then on SIGTERM notes its name in a file shared by all.
SERVE = """
import os, signal, sys, time
def end(*_):
    with open(sys.argv[2], "a") as out:
        out.write(sys.argv[1] + "\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
print("up", os.getpid(), flush=True)
while True:
    time.sleep(0.05)
"""


def serving(name: str, folder: Path, *, order: int = StopOrder.WORKER) -> ChildSpec:
    argv = (*PYTHON, "-c", SERVE, name, str(folder / "ends"))
    return ChildSpec(name, argv, {}, folder / "logs" / f"{name}.log", stop_order=order)


def program(name: str, folder: Path, text: str, *, restart: bool = True) -> ChildSpec:
    argv = (*PYTHON, "-c", text)
    return ChildSpec(name, argv, dict(os.environ), folder / f"{name}.log", restart=restart)


def logged_pids(spec: ChildSpec) -> list[int]:
    if not spec.log_path.exists():
        return []
    lines = spec.log_path.read_text().splitlines(keepends=True)
    whole = [line for line in lines if line.startswith("up ") and line.endswith("\n")]
    return [int(line.split()[1]) for line in whole]


def test_killed_child_is_started_again(tmp_path):
    spec = serving("worker", tmp_path)
    deaths: list[Death] = []

    def polled(count: int) -> bool:
        deaths.extend(supervisor.poll())
        return len(logged_pids(spec)) == count

    with Supervisor(restart=FAST) as supervisor:
        supervisor.start(spec)
        eventually(lambda: polled(1), "the first start")
        assert logged_pids(spec)[0] == supervisor.process("worker").child_pid()
        os.kill(logged_pids(spec)[0], signal.SIGKILL)
        eventually(lambda: polled(2), "the second start")
        assert is_running(logged_pids(spec)[1])
    assert deaths == [Death("worker", 137)]
    assert not any(is_running(pid) for pid in logged_pids(spec))


def test_crash_loop_names_child_exit_and_log(tmp_path):
    text = (
        "print('\\n'.join(f'line {n}' for n in range(20)), flush=True); raise SystemExit('no key')"
    )
    with Supervisor(restart=FAST) as supervisor:
        supervisor.start(program("worker gpt", tmp_path, text))
        with pytest.raises(EmbeddedError) as caught:
            eventually(lambda: bool(supervisor.poll()) and False, "a crash loop")
    message = str(caught.value)
    assert "'worker gpt' ended 6 times within 30 s" in message
    assert "exit code 1" in message
    assert "    no key" in message
    assert "    line 19" in message
    assert message.count("    ") == 10


def test_program_that_is_missing_is_a_crash_loop_that_says_so(tmp_path):
    spec = ChildSpec("worker", ("/no/such/program",), {}, tmp_path / "log")
    with Supervisor(restart=FAST) as supervisor:
        supervisor.start(spec)
        with pytest.raises(EmbeddedError, match="program not found"):
            eventually(lambda: bool(supervisor.poll()) and False, "a crash loop")


def test_deaths_far_apart_are_no_crash_loop(tmp_path):
    rule = RestartRule(first_delay_s=0.0, max_delay_s=0.0, window_s=0.0)
    deaths: list[Death] = []
    with Supervisor(restart=rule) as supervisor:
        supervisor.start(program("worker", tmp_path, ""))
        eventually(lambda: deaths.extend(supervisor.poll()) or len(deaths) > 7, "eight deaths")
    assert {death.name for death in deaths} == {"worker"}


def test_restart_delay_doubles_and_starts_over_after_a_steady_time():
    record = DeathRecord(RestartRule())
    delays = [record.note(100.0 * n, lived_s=1.0) for n in range(7)]
    assert delays == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert record.note(1000.0, lived_s=20.0) == 0.2
    assert record.note(2000.0, lived_s=1.0) == 0.4


def test_sixth_death_within_the_window_is_a_crash_loop():
    record = DeathRecord(RestartRule())
    assert None not in [record.note(5.0 * n, lived_s=4.0) for n in range(5)]
    assert record.note(29.0, lived_s=4.0) is None


def test_sixth_death_in_a_row_without_being_ready_is_a_crash_loop_however_slow():
    record = DeathRecord(RestartRule())
    ends = [record.note(100.0 * n, lived_s=60.0, was_ready=n == 0) for n in range(6)]
    assert ends == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0]
    assert record.crash_loop is None
    assert record.note(600.0, lived_s=60.0, was_ready=False) is None
    assert record.crash_loop == "6 times in a row and was never ready in between"


def test_being_ready_once_is_a_new_beginning():
    record = DeathRecord(RestartRule())
    for n in range(40):
        assert record.note(100.0 * n, lived_s=1.0, was_ready=n % 6 == 5) is not None


def test_child_that_need_not_run_again_is_left_ended(tmp_path):
    deaths: list[Death] = []
    with Supervisor(restart=FAST) as supervisor:
        supervisor.start(program("once", tmp_path, "raise SystemExit(5)", restart=False))
        eventually(lambda: bool(deaths.extend(supervisor.poll()) or deaths), "the end")
        first = supervisor.process("once")
        assert supervisor.poll() == []
        assert supervisor.process("once") is first
    assert deaths == [Death("once", 5)]


def test_stop_goes_by_group_and_leaves_nothing(tmp_path):
    specs = [
        serving("sim", tmp_path, order=StopOrder.SIMULATOR),
        serving("worker-1", tmp_path),
        serving("coordinator", tmp_path, order=StopOrder.COORDINATOR),
        serving("worker-2", tmp_path),
    ]
    supervisor = Supervisor()
    for spec in specs:
        supervisor.start(spec)
    eventually(lambda: all(logged_pids(spec) for spec in specs), "all are up")
    supervisor.stop()
    supervisor.stop()
    ends = (tmp_path / "ends").read_text().split()
    assert (ends[0], sorted(ends[1:3]), ends[3]) == ("coordinator", ["worker-1", "worker-2"], "sim")
    assert not any(is_running(logged_pids(spec)[0]) for spec in specs)
    assert supervisor.poll() == []


def test_stop_escalates_to_quit(tmp_path):
    text = (
        "import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\n"
        "signal.signal(3, lambda *_: os._exit(33))\nprint('up', os.getpid(), flush=True)\n"
        "while True: time.sleep(0.05)"
    )
    spec = program("worker", tmp_path, text)
    supervisor = Supervisor(stop=StopRule(quit_after_s=0.1, kill_after_s=60))
    supervisor.start(spec)
    eventually(lambda: bool(logged_pids(spec)), "the worker is up")
    supervisor.stop()
    assert supervisor.process("worker").poll() == 33


def test_stop_escalates_to_kill_for_the_whole_group(tmp_path, tree):
    deaf = tree.argv(then="ignore-term")
    deaf[4] = deaf[4].replace("signal.SIGTERM, signal.SIG_IGN)", "15, 1); signal.signal(3, 1)")
    supervisor = Supervisor(stop=StopRule(quit_after_s=0.1, kill_after_s=0.2))
    supervisor.start(ChildSpec("worker", tuple(deaf), {}, tmp_path / "log"))
    tree.pids()
    supervisor.stop()
    assert supervisor.process("worker").poll() == 137
    assert tree.is_gone()


def test_child_is_not_restarted_during_stop(tmp_path):
    spec = serving("worker", tmp_path)
    supervisor = Supervisor(restart=FAST, stop=SOON)
    supervisor.start(spec)
    eventually(lambda: bool(logged_pids(spec)), "the worker is up")
    supervisor.stop()
    assert supervisor.poll() == []
    assert len(logged_pids(spec)) == 1
    with pytest.raises(ValueError, match="'late' started after stop"):
        supervisor.start(serving("late", tmp_path))


def test_two_children_of_one_name_are_refused(tmp_path):
    with Supervisor(stop=SOON) as supervisor:
        supervisor.start(serving("worker", tmp_path))
        with pytest.raises(ValueError, match="'worker' already"):
            supervisor.start(serving("worker", tmp_path))


def test_unwritable_log_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    spec = ChildSpec("worker", ("true",), {}, tmp_path / "file" / "worker.log")
    with Supervisor() as supervisor, pytest.raises(EmbeddedError, match=r"'worker'.*worker\.log"):
        supervisor.start(spec)


def test_secrets_reach_the_child_by_environment_and_no_command_line(tmp_path):
    text = (
        "import os, time\nprint('up', os.getpid(), os.environ['KEY'], flush=True)\ntime.sleep(99)"
    )
    spec = ChildSpec("worker", (*PYTHON, "-c", text), {"KEY": "s3cret"}, tmp_path / "log")
    with Supervisor(stop=SOON) as supervisor:
        supervisor.start(spec)
        eventually(lambda: bool(logged_pids(spec)), "the worker is up")
        pids = (supervisor.process("worker").pid, logged_pids(spec)[0])
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids]
    assert "s3cret" in spec.log_path.read_text()
    assert not any(b"s3cret" in line for line in lines)


def test_killed_owner_takes_its_children_along(tmp_path, run_owner):
    owner = run_owner(
        "import sys, time\n"
        "from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from test_supervisor import serving\n"
        "from producer.embedded.supervisor import Supervisor\n"
        "supervisor = Supervisor()\n"
        "for name in 'ab': supervisor.start(serving(name, Path(sys.argv[1])))\n"
        "print(*(supervisor.process(name).child_pid() for name in 'ab'), flush=True)\n"
        "time.sleep(100)",
        str(tmp_path),
        str(Path(__file__).parent),
    )
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert len(pids) == 2
    owner.kill()
    eventually(lambda: not any(is_running(pid) for pid in pids), "the children are gone")
