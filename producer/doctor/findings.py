"""What a call to a backend says about it, and what to do if it failed."""

from __future__ import annotations

from urllib.parse import urlsplit

from producer.doctor.check import Check, failed, ok, warning
from producer.inventory import Listed
from producer.view import numbers
from skillopt.domain.backend import Backend
from skillopt.domain.probe import ProbeReport
from skillopt.domain.usage import MICRO, Usage, cost_micro_usd


def call_check(label: str, listed: Listed, backend: Backend, report: ProbeReport) -> Check:
    """Judge one call; `label` names the backend and, if it is called in several ways, which."""
    name = f"call {label}"
    if report.answered:
        cut = "the reply was cut at its limit" if report.finish_reason == "length" else ""
        return ok(name, f"answered in {report.latency_s:.1f} s, {_taken(backend, report)}", cut)
    value = f"{report.error}: {report.message}"
    fix = _fix(listed, backend, report)
    if report.error == "rate_limited":
        return warning(name, value, fix, "it is there, and took the credential")
    return failed(name, value, fix)


def _taken(backend: Backend, report: ProbeReport) -> str:
    usage = Usage(report.input_tokens, report.output_tokens)
    if report.estimated or not usage.credible:
        return "tokens not told by the provider"
    if backend.subscription:
        cost = "subscription"
    else:
        dollars = cost_micro_usd(usage, backend.price) / MICRO
        cost = numbers.dollars(None if backend.price is None else dollars)
    return f"{usage.input_tokens} + {usage.output_tokens} tokens, {cost}"


def _fix(listed: Listed, backend: Backend, report: ProbeReport) -> str:
    at, host = f"at {listed.origin}", _host(backend)
    model = f"{'deployment' if backend.azure else 'model'} {backend.model!r}"
    unreachable = f"start the server at {host!r}, let this machine reach it, or correct it {at}"
    if "DNS" in report.message:
        unreachable = f"correct the host {host!r} {at}, or the name service of this machine"
    fixes = {
        "auth": _fix_of_credential(backend, at),
        "unknown_model": f"correct {model} or the address {at}",
        "connection": unreachable,
        "rate_limited": "wait, or lower limits.rpm and limits.concurrency to what the account has",
        "timeout": f"see whether {host!r} is overloaded, or raise timeout_s {at}",
        "bad_request": _fix_of_request(backend, report, at),
        "bad_config": f"correct the entry {at}",
        "internal": "report it with the backend's kind; a plug-in may be broken",
    }
    return fixes.get(report.error, "try again; if it stays so, ask the provider")


def _fix_of_request(backend: Backend, report: ProbeReport, at: str) -> str:
    if backend.agent is None:
        if "base_url" in report.message:
            return f"correct base_url {at}"
        return f"correct params {at}: the model refuses what is sent"
    return (
        f"see whether {backend.agent.command!r} is {backend.agent.program} in a version that runs "
        f"by itself, and correct the entry {at}"
    )


def _fix_of_credential(backend: Backend, at: str) -> str:
    if backend.agent is not None and backend.agent.auth == "login_file":
        return f"log in again with `{backend.agent.command}` on this machine"
    if backend.key_variables:
        return f"put a valid key into {' and '.join(backend.key_variables)}, or add credit"
    return f"let this identity use the resource, or give a key {at}"


def _host(backend: Backend) -> str:
    if backend.azure is not None:
        return ", ".join(urlsplit(one.url).netloc for one in backend.azure.endpoints)
    return urlsplit(backend.base_url or "").netloc or "the provider"
