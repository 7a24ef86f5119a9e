"""Each backend as this machine sees it without calling it: its entry, credential, price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from producer.doctor.check import Check, failed, ok, warning
from producer.inventory import Listed
from producer.view.backend_words import price_words
from skillopt.config.catalogue import require_credentials
from skillopt.domain.agent import AgentAccess
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError
from skillopt.programs.version import ask_version


def entry_check(listed: Listed) -> Check:
    name = f"backend {listed.name}"
    if listed.backend is None:
        return failed(name, listed.error, f"correct the entry at {listed.origin}")
    played = f" as {', '.join(listed.roles)}" if listed.roles else ""
    model = f", model {listed.backend.model}" if listed.backend.model else ""
    return ok(name, f"{listed.backend.kind}{model}{played}", f"defined in {listed.origin}")


def backend_checks(
    listed: Listed, environ: Mapping[str, str], max_usd: float | None
) -> Iterator[Check]:
    """Look at a backend that resolves."""
    backend = listed.backend
    assert backend is not None
    yield credential_check(backend, environ)
    if backend.agent is not None:
        yield program_check(backend.name, backend.agent, environ)
    yield _price(listed, backend, max_usd)


def program_check(name: str, agent: AgentAccess, environ: Mapping[str, str]) -> Check:
    """Say whether the program is here, in the version that the catalogue names or that was found.

    A catalogue that names a version can be loaded without the program: only asking it tells.
    """
    title = f"program {name}"
    try:
        version = ask_version(agent.command, environ)
    except ConfigError as error:
        found, _, fix = str(error).rpartition("; ")
        return failed(title, found, fix)
    if version != agent.version:
        return failed(
            title,
            f"{agent.command} is {version} here, and the catalogue wants {agent.version}",
            f"install {agent.version}, or write version: {version!r}",
        )
    return ok(title, f"{agent.command} {version}")


def credential_check(backend: Backend, environ: Mapping[str, str]) -> Check:
    """Say whether what proves who asks is here; never what it is."""
    name = f"credential {backend.name}"
    agent = backend.agent
    try:
        require_credentials([backend], environ)
    except ConfigError as error:
        fixes = [f"export {variable}=…" for variable in backend.key_variables]
        if agent is not None and agent.auth == "login_file":
            fixes = [f"log in with `{agent.command}` on this machine"]
        found = [line.rpartition("; ")[0] for line in str(error).splitlines()]
        return failed(name, "; ".join(found), "; ".join(fixes))
    if backend.key_variables:
        return ok(name, f"{', '.join(backend.key_variables)} set")
    if agent is not None and agent.login_file is not None:
        return ok(name, f"login file {agent.login_file}", "proven by the call")
    if backend.azure is not None:
        return ok(name, f"token of Entra ID ({backend.azure.auth})", "proven by the call")
    return ok(name, "none needed")


def _price(listed: Listed, backend: Backend, max_usd: float | None) -> Check:
    name = f"price {backend.name}"
    if backend.price is not None or backend.subscription:
        return ok(name, price_words(backend))
    fix = (
        f"add `price: {{input: …, output: …}}` (USD per million tokens), `price: 0` or `price: "
        f"subscription` at {listed.origin}"
    )
    if max_usd is not None and listed.roles:
        return failed(name, "unknown", fix, f"budget.max_usd is {max_usd:g}: no run would start")
    return warning(name, "unknown", fix, "money is neither limited nor shown")
