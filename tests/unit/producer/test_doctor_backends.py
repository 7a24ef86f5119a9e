"""What the doctor says of backends, workers and calls."""

from __future__ import annotations

import os

import pytest

from producer.doctor.backends import backend_checks, credential_check, entry_check, program_check
from producer.doctor.check import Check
from producer.doctor.findings import call_check
from producer.doctor.fleet import fleet_checks
from producer.inventory import Listed
from producer.serving import Serving
from skillopt import __version__
from skillopt.domain.agent import AgentAccess
from skillopt.domain.backend import AzureAccess, AzureEndpoint, Backend
from skillopt.domain.probe import ProbeReport
from skillopt.domain.usage import Price
from skillopt.state.ports import Standing, ThrottleScope, WorkerInfo

KEY, VARIABLE = "sk-planted-9876543210fedcba", "PLANTED_DOCTOR_KEY"
PRICED = Price(input=1, output=10)


def backend(**changes) -> Backend:
    fields = {
        "name": "gpt",
        "kind": "openai_compatible",
        "model": "m-1",
        "base_url": "https://llm.example.org/v1",
        "api_key_env": VARIABLE,
        "price": PRICED,
    }
    return Backend(**{**fields, **changes})


def listed(one: Backend | None = None, **changes) -> Listed:
    fields = {"name": "gpt", "origin": "b.yaml:3", "packaged": False, "backend": one or backend()}
    return Listed(**{**fields, **changes})


def named(checks, name: str) -> Check:
    [found] = [check for check in checks if check.name == name]
    return found


# --- entries, credentials, prices -----------------------------------------------------------------


def test_a_broken_entry_fails_with_where_it_stands():
    check = entry_check(Listed("gpt", "b.yaml:3", False, None, "b.yaml:3: kind is missing"))
    assert (check.status, check.value) == ("failed", "b.yaml:3: kind is missing")
    assert "b.yaml:3" in check.fix


def test_an_entry_is_told_with_its_roles():
    check = entry_check(listed(roles=("target", "judge")))
    assert check.value == "openai_compatible, model m-1 as target, judge"
    assert check.detail == "defined in b.yaml:3"


@pytest.mark.parametrize("value", [None, "", "   ", "two words"])
def test_a_credential_that_cannot_be_sent_fails_and_names_its_variable(value):
    environ = {} if value is None else {VARIABLE: value}
    check = credential_check(backend(), environ)
    assert check.status == "failed"
    assert VARIABLE in check.value
    assert check.fix == f"export {VARIABLE}=…"


def test_a_credential_that_is_there_is_not_shown():
    check = credential_check(backend(), {VARIABLE: KEY})
    assert (check.status, check.value) == ("ok", f"{VARIABLE} set")


def test_a_backend_without_a_key_needs_none():
    assert credential_check(backend(api_key_env=None), {}).value == "none needed"


def test_a_token_of_entra_is_named_by_where_it_comes_from():
    access = AzureAccess(
        endpoints=(AzureEndpoint(url="https://one.openai.azure.com"),),
        auth="managed_identity",
        api_version="v1",
        scope="https://cognitiveservices.azure.com/.default",
    )
    one = backend(kind="azure_chat", base_url=None, api_key_env=None, azure=access)
    assert "managed_identity" in credential_check(one, {}).value


@pytest.mark.parametrize(
    ("changes", "max_usd", "roles", "status"),
    [
        ({}, 5.0, ("target",), "ok"),
        ({"price": None, "subscription": True}, 5.0, ("target",), "ok"),
        ({"price": None}, None, ("target",), "warning"),
        ({"price": None}, 5.0, ("target",), "failed"),
        ({"price": None}, 5.0, (), "warning"),
    ],
)
def test_an_unknown_price_matters_where_money_is_limited(changes, max_usd, roles, status):
    checks = backend_checks(listed(backend(**changes), roles=roles), {VARIABLE: KEY}, max_usd)
    check = named(checks, "price gpt")
    assert check.status == status
    if status != "ok":
        assert (check.value, "b.yaml:3" in check.fix) == ("unknown", True)


# --- agent programs -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "status", "said"),
    [
        ("2.1.0", "ok", "claude 2.1.0"),
        ("1.2.3", "failed", "is 2.1.0 here, and the catalogue wants 1.2.3"),
    ],
)
def test_a_program_is_asked_for_its_version(tmp_path, wanted, status, said):
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 2.1.0\n")
    program.chmod(0o755)
    agent = AgentAccess(program="claude", executable=str(program), version=wanted)
    check = program_check("agent", agent, os.environ)
    assert (check.name, check.status) == ("program agent", status)
    assert check.value.endswith(said)


def test_a_version_in_the_catalogue_does_not_make_a_program_be_there(tmp_path):
    missing = str(tmp_path / "claude")
    agent = AgentAccess(program="claude", executable=missing, version="1.2.3")
    check = program_check("agent", agent, os.environ)
    assert (check.status, missing in check.value) == ("failed", True)
    assert check.fix.startswith("install it")


# --- workers --------------------------------------------------------------------------------------


def worker(**changes) -> WorkerInfo:
    fields = {
        "worker": "gpt-1@host",
        "backend": "gpt",
        "fingerprint": backend().fingerprint,
        "capacity": 8,
        "version": __version__,
    }
    return WorkerInfo(**{**fields, **changes})


def test_workers_of_the_same_fingerprint_are_counted():
    served = Serving(workers=(worker(), worker(worker="gpt-2@host", capacity=4)), queued=7)
    [check] = fleet_checks(backend(), served)
    assert check.status == "ok"
    assert check.value == "2 with 12 slots, 7 messages waiting"


def test_no_worker_is_a_warning_that_says_what_would_happen():
    [check] = fleet_checks(backend(), Serving())
    assert (check.status, "wait for a worker" in check.value) == ("warning", True)


def test_a_worker_of_the_quarantine_lane_does_not_serve_others():
    [check] = fleet_checks(backend(), Serving(workers=(worker(lane="quarantine"),)))
    assert check.status == "warning"


def test_another_fingerprint_fails_with_both_values():
    served = Serving(workers=(worker(), worker(worker="gpt-2@host", fingerprint="f" * 64)))
    [check] = fleet_checks(backend(), served)
    assert check.status == "failed"
    assert "gpt-2@host has ffffffffffffffff" in check.value
    assert backend().fingerprint[:16] in check.value


def test_another_version_is_a_warning():
    served = Serving(workers=(worker(version="0.0.9"),))
    check = named(fleet_checks(backend(), served), "worker version gpt")
    assert (check.status, "0.0.9" in check.value, __version__ in check.value) == (
        "warning",
        True,
        True,
    )


def test_an_endpoint_that_is_left_alone_is_told():
    scope = ThrottleScope("gpt", "c", "e")
    standing = Standing(in_flight=0, allowed=4, breaker="open", hold_s=0.0)
    served = Serving(workers=(worker(),), standings=((scope, standing),))
    assert named(fleet_checks(backend(), served), "endpoint gpt").status == "warning"


# --- calls ----------------------------------------------------------------------------------------


def test_an_answer_is_told_with_time_tokens_and_money():
    report = ProbeReport(latency_s=0.42, input_tokens=20, output_tokens=3, finish_reason="stop")
    check = call_check("gpt", listed(), backend(), report)
    assert (check.name, check.status) == ("call gpt", "ok")
    assert check.value == "answered in 0.4 s, 20 + 3 tokens, $0.0001"


@pytest.mark.parametrize(
    ("changes", "report", "said"),
    [
        ({"price": None}, {}, "not priced"),
        ({"price": None, "subscription": True}, {}, "subscription"),
        ({}, {"estimated": True}, "not told by the provider"),
        ({}, {"output_tokens": 10**30}, "not told by the provider"),
    ],
)
def test_what_is_not_known_is_not_made_up(changes, report, said):
    one = backend(**changes)
    check = call_check("gpt", listed(one), one, ProbeReport(input_tokens=1, **report))
    assert said in check.value
    assert "$0" not in check.value


def test_a_reply_that_was_cut_counts_as_an_answer():
    check = call_check("gpt", listed(), backend(), ProbeReport(finish_reason="length"))
    assert (check.status, "cut" in check.detail) == ("ok", True)


@pytest.mark.parametrize(
    ("code", "message", "status", "fix"),
    [
        ("auth", "HTTP 401", "failed", f"put a valid key into {VARIABLE}"),
        ("unknown_model", "HTTP 404", "failed", "correct model 'm-1' or the address at b.yaml:3"),
        ("connection", "(ClientConnectorDNSError)", "failed", "correct the host 'llm.example.org'"),
        ("connection", "(ClientConnectorError)", "failed", "start the server at 'llm.example.org'"),
        ("timeout", "no answer", "failed", "see whether 'llm.example.org' is overloaded"),
        ("rate_limited", "HTTP 429", "warning", "wait, or lower limits.rpm"),
        ("bad_request", "HTTP 400", "failed", "correct params at b.yaml:3"),
        ("bad_request", "HTTP 302: … correct base_url", "failed", "correct base_url at b.yaml:3"),
        ("server_error", "HTTP 500", "failed", "try again"),
        ("bad_config", "no base_url", "failed", "correct the entry at b.yaml:3"),
        ("internal", "unexpected KeyError", "failed", "report it"),
    ],
)
def test_every_failure_has_its_fix(code, message, status, fix):
    report = ProbeReport(error=code, message=message)
    check = call_check("gpt", listed(), backend(), report)
    assert check.status == status
    assert check.value == f"{code}: {message}"
    assert check.fix.startswith(fix)


def test_a_program_that_refuses_its_options_is_what_must_be_looked_at():
    agent = AgentAccess(program="claude", executable="/bin/other", version="9.1")
    one = backend(kind="claude_cli", agent=agent)
    report = ProbeReport(error="bad_request", message="exit code 2")
    assert "'/bin/other' is claude" in call_check("gpt", listed(one), one, report).fix


def test_without_a_key_the_identity_is_what_must_be_allowed():
    one = backend(api_key_env=None)
    report = ProbeReport(error="auth", message="HTTP 403")
    assert "identity" in call_check("gpt", listed(one), one, report).fix
