"""The processes that make the doctor's calls: each gets its own key, and none is left."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from producer.doctor.calls import LONGEST_AGENT_S, LONGEST_CALL_S, PARALLEL, call_each, timeout_s
from skillopt.domain.backend import Backend

#: Answers with its backend's name, and with every planted variable that it was given.
TELLS = """
import json, os, sys
name = json.load(sys.stdin)["backend"]["name"]
given = sorted(one for one in os.environ if one.startswith("PLANTED_"))
print("a line that some library printed")
print(json.dumps({"finish_reason": name, "message": " ".join(given)}))
"""


def backend(name: str, **changes) -> Backend:
    fields = {"kind": "openai_compatible", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    return Backend(name=name, api_key_env=f"PLANTED_{name.upper()}", **{**fields, **changes})


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def test_each_call_gets_the_key_of_its_own_backend_alone():
    backends = [backend(f"b{number}") for number in range(PARALLEL + 3)]
    environ = {f"PLANTED_B{number}": "key" for number in range(len(backends))}
    found = dict(call_each(backends, environ, command=python(TELLS)))
    assert sorted(found) == list(range(len(backends)))
    for place, report in found.items():
        assert (report.finish_reason, report.message) == (f"b{place}", f"PLANTED_B{place}")


def test_reports_come_as_they_are_ready_not_in_order(tmp_path):
    waits_for = tmp_path / "go"
    code = f"""
import json, pathlib, sys, time
name = json.load(sys.stdin)["backend"]["name"]
while name == "slow" and not pathlib.Path({str(waits_for)!r}).exists():
    time.sleep(0.01)
print(json.dumps({{"finish_reason": name}}))
"""
    calls = call_each([backend("slow"), backend("quick")], {}, command=python(code))
    first = next(calls)
    waits_for.touch()
    assert (first[0], next(calls)[0]) == (1, 0)


def test_a_process_that_ends_without_a_report_is_a_failure():
    for code in ("import sys; sys.exit(3)", "print('nonsense')", "print('{}extra')"):
        [(_, report)] = call_each([backend("b")], {}, command=python(code))
        assert report.error == "internal"
        assert "gave no answer" in report.message


def test_what_it_complains_of_is_not_shown():
    code = "import sys; sys.stderr.write('key sk-planted-1'); sys.exit(1)"
    [(_, report)] = call_each([backend("b")], {}, command=python(code))
    assert "sk-planted" not in json.dumps(report.model_dump())


def test_calls_that_nobody_waits_for_are_ended(tmp_path):
    pids = tmp_path / "pids"
    code = f"""
import json, os, sys, time
name = json.load(sys.stdin)["backend"]["name"]
open({str(pids)!r}, "a").write(f"{{os.getpid()}}\\n")
if name == "slow":
    time.sleep(1000)
print("{{}}")
"""
    calls = call_each([backend("slow"), backend("quick")], {}, command=python(code))
    next(calls)
    deadline = time.monotonic() + 20
    while len(pids.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    calls.close()
    assert len(pids.read_text().split()) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids.read_text().split())


def test_a_call_is_bounded_by_its_backend_and_by_us():
    assert timeout_s(backend("b", timeout_s=5)) == 5
    assert timeout_s(backend("b", timeout_s=3000)) == LONGEST_CALL_S
    assert LONGEST_AGENT_S > LONGEST_CALL_S
