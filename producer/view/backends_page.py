"""The catalogue as it resolves, and who serves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.inventory import Listed
from producer.serving import Serving
from producer.view.backend_words import backend_object, price_words
from producer.view.numbers import plural
from producer.view.printable import printable, safe
from skillopt.domain.backend import Backend, Limits
from skillopt.domain.fingerprint import short
from skillopt.state.ports import Standing, ThrottleScope, WorkerInfo


@dataclass(frozen=True)
class BackendsPage:
    """All that is shown; `served` is None where no Redis could be asked."""

    listed: Sequence[Listed]
    environ: Mapping[str, str]
    served: Mapping[str, Serving] | None = None
    #: Where the Redis is (without its password), and why it cannot be asked.
    redis: str | None = None
    problem: str = ""

    # --- for people ---------------------------------------------------------------------------

    def rendered(self) -> list[RenderableType]:
        parts: list[RenderableType] = []
        for one in self.listed:
            parts += [_heading(one), self._table(one), ""]
        for name, served in self._elsewhere():
            heading = safe(f"{name}  (not in this catalogue)", "bold")
            parts += [heading, _served_table(served, None), ""]
        return [*parts, safe(self._about_redis(), "dim")]

    def _table(self, one: Listed) -> RenderableType:
        backend = one.backend
        if backend is None:
            return safe(f"  {one.error}", "red")
        table = _grid()
        rows = {
            "defined in": one.origin,
            "fingerprint": short(backend.fingerprint),
            "price": price_words(backend),
            "limits": _limits(backend.limits),
            "credential": _credential(backend, self.environ),
        }
        for name, value in rows.items():
            table.add_row(name, safe(value))
        if self.served is not None:
            _add_served(table, self.served.get(one.name, Serving()), backend)
        return table

    def _elsewhere(self) -> Iterator[tuple[str, Serving]]:
        known = {one.name for one in self.listed}
        for name, served in (self.served or {}).items():
            if name not in known:
                yield name, served

    def _about_redis(self) -> str:
        if self.served is not None:
            return f"Workers as Redis knows them ({self.redis})."
        if self.problem:
            return f"Workers are not known: {self.problem}"
        return "Workers are not known: no Redis runs in the store, and none is given with --redis."

    # --- for programs -------------------------------------------------------------------------

    def as_object(self) -> dict[str, Any]:
        entries = [self._entry(one) for one in self.listed]
        entries += [
            {"name": name, "defined_in": None, **_served_object(served, None)}
            for name, served in self._elsewhere()
        ]
        redis = None
        if self.redis is not None:
            redis = {
                "url": self.redis,
                "reached": self.served is not None,
                "problem": self.problem or None,
            }
        return {"backends": entries, "redis": redis}

    def _entry(self, one: Listed) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": one.name,
            "defined_in": one.origin,
            "packaged": one.packaged,
            "roles": list(one.roles),
            "error": one.error or None,
        }
        backend = one.backend
        if backend is not None:
            entry |= {
                **backend_object(backend),
                "limits": backend.limits.model_dump(mode="json"),
                "credential": _credential_object(backend, self.environ),
            }
        if self.served is not None:
            entry |= _served_object(self.served.get(one.name, Serving()), backend)
        return entry


def _heading(one: Listed) -> Text:
    text = safe(one.name, "bold")
    if one.backend is not None:
        model = f", model {one.backend.model}" if one.backend.model else ""
        text.append(printable(f"  {one.backend.kind}{model}"))
    if one.roles:
        text.append(f"  ({', '.join(one.roles)})", style="cyan")
    return text


def _grid() -> Table:
    table = Table(box=None, show_header=False, pad_edge=True, padding=(0, 0, 0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _served_table(served: Serving, backend: Backend | None) -> Table:
    table = _grid()
    _add_served(table, served, backend)
    return table


def _add_served(table: Table, served: Serving, backend: Backend | None) -> None:
    for place, worker in enumerate(served.workers):
        table.add_row("" if place else "workers", safe(_worker(worker, backend)))
    if not served.workers:
        table.add_row("workers", "none")
    for _, standing in served.standings:
        table.add_row("traffic", safe(_standing(standing)))
    if served.set_limits:
        said = ", ".join(f"{name} {value:,}" for name, value in served.set_limits.items())
        table.add_row("limits set", safe(f"{said} (over the catalogue's)"))
    if served.queued or served.quarantined:
        words = f"{plural(served.queued, 'message')} waiting"
        quarantine = f", {served.quarantined} in quarantine" if served.quarantined else ""
        table.add_row("queue", words + quarantine)


def _worker(worker: WorkerInfo, backend: Backend | None) -> str:
    words = [worker.worker, plural(worker.capacity, "slot"), f"version {worker.version or '-'}"]
    if worker.lane != "normal":
        words.append(worker.lane)
    if backend is None:
        words.append(f"fingerprint {short(worker.fingerprint)}")
    elif worker.fingerprint != backend.fingerprint:
        words.append(f"ANOTHER FINGERPRINT: {short(worker.fingerprint)}")
    return ", ".join(words)


def _standing(standing: Standing) -> str:
    allowed = "as many as come" if standing.allowed is None else f"{standing.allowed}"
    words = [f"{standing.in_flight} in flight of {allowed}"]
    if standing.breaker != "closed":
        words.append(f"endpoint left alone ({standing.breaker})")
    if standing.hold_s > 0:
        words.append(f"held for {standing.hold_s:.0f} s")
    return ", ".join(words)


def _limits(limits: Limits) -> str:
    names = {"rpm": "requests a minute", "tpm": "tokens a minute", "concurrency": "at a time"}
    said = [
        f"{getattr(limits, name):,} {words}"
        for name, words in names.items()
        if getattr(limits, name) is not None
    ]
    return ", ".join(said) or "none"


def _auth(backend: Backend) -> str:
    if backend.agent is not None:
        return backend.agent.auth
    if backend.azure is not None:
        return backend.azure.auth
    return "api_key" if backend.key_variables else "none"


def _credential(backend: Backend, environ: Mapping[str, str]) -> str:
    found = _credential_object(backend, environ)
    words = [
        f"{name} {'set' if there else 'NOT SET'}" for name, there in found["variables"].items()
    ]
    if found["login_file"] is not None:
        words.append(f"{found['login_file']} {'there' if found['present'] else 'NOT THERE'}")
    return f"{found['kind']}{': ' if words else ''}{', '.join(words)}"


def _credential_object(backend: Backend, environ: Mapping[str, str]) -> dict[str, Any]:
    """Say what proves who asks and whether it is here; never what it is."""
    variables = {name: bool(environ.get(name, "").strip()) for name in backend.key_variables}
    login = backend.agent.login_file if backend.agent else None
    return {
        "kind": _auth(backend),
        "variables": variables,
        "login_file": None if login is None else str(login),
        "present": all(variables.values()) and (login is None or login.is_file()),
    }


def _served_object(served: Serving, backend: Backend | None) -> dict[str, Any]:
    ours = None if backend is None else backend.fingerprint
    return {
        "workers": [
            {
                "name": one.worker,
                "capacity": one.capacity,
                "lane": one.lane,
                "version": one.version,
                "fingerprint": one.fingerprint,
                "same_fingerprint": None if ours is None else one.fingerprint == ours,
            }
            for one in served.workers
        ],
        "traffic": [_traffic(scope, standing) for scope, standing in served.standings],
        "set_limits": dict(served.set_limits),
        "queued": served.queued,
        "quarantined": served.quarantined,
    }


def _traffic(scope: ThrottleScope, standing: Standing) -> dict[str, Any]:
    return {"credential": scope.credential, "endpoint": scope.endpoint, **asdict(standing)}
