"""Everything the doctor looks at, in order; each finding is told as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from producer.attached import Reached, reached
from producer.doctor.backends import backend_checks, credential_check, entry_check
from producer.doctor.calls import call_each
from producer.doctor.check import Check, skipped
from producer.doctor.findings import call_check
from producer.doctor.fleet import fleet_checks
from producer.doctor.machine import machine_checks
from producer.doctor.server import no_server, server_checks, unreachable
from producer.doctor.storage import storage_checks
from producer.inventory import Inventory, Listed
from producer.serving import Serving, serving
from skillopt.domain.backend import Backend
from skillopt.errors import StateError


@dataclass(frozen=True)
class Listener:
    """Who is told of each finding as it comes, and of the calls before they are made."""

    found: Callable[[Check], None]
    calling: Callable[[list[str]], None]


@dataclass(frozen=True)
class Call:
    """One way in which a backend is called; `why_not` if it is not called now."""

    label: str
    listed: Listed
    backend: Backend
    why_not: str = ""


@dataclass(frozen=True)
class Examination:
    inventory: Inventory
    redis: str | None
    store: Path
    environ: Mapping[str, str]
    #: Whether models are called.
    calls: bool = True

    def run(self, listener: Listener) -> list[Check]:
        """Look at everything; gives all findings, in an order that does not change."""
        checks: list[Check] = []

        def told(found: Iterable[Check]) -> None:
            for check in found:
                checks.append(check)
                listener.found(check)

        told(machine_checks(shared_redis=self.redis is not None, store=self.store))
        told(storage_checks(self.store))
        with reached(self.redis, self.store) as redis:
            told(self._redis(redis))
            told(self._backends(self._served(redis)))
        return checks + self._called(listener)

    def _redis(self, redis: Reached) -> Iterator[Check]:
        if redis.problem is not None:
            yield unreachable(redis.url or str(self.store), redis.problem)
        elif redis.state is None or redis.url is None:
            yield no_server(str(self.store))
        else:
            try:
                yield from server_checks(redis.url, redis.state.server, embedded=redis.embedded)
            except StateError as error:
                yield unreachable(redis.url, error)

    def _served(self, redis: Reached) -> dict[str, Serving] | None:
        """Look at the workers; None where there is nobody to ask, which was told already."""
        if redis.state is None:
            return None
        with suppress(StateError):  # a server that has gone was told of by its own check
            return serving(redis.state, self.inventory.limits)
        return None

    def _backends(self, served: Mapping[str, Serving] | None) -> Iterator[Check]:
        if not self.inventory.backends:
            yield skipped(
                "backends",
                "none defined",
                "there is only the packaged catalogue; name a spec, or a catalogue with --backends",
            )
        for listed in self.inventory.backends:
            yield entry_check(listed)
            if listed.backend is None:
                continue
            yield from backend_checks(listed, self.environ, self.inventory.max_usd)
            if served is not None:
                yield from fleet_checks(listed.backend, served[listed.name])
        if served is None and self.inventory.backends:
            yield skipped("workers", "no Redis to ask", "`skillopt run` starts its own workers")

    # --- calls ------------------------------------------------------------------------------

    def _called(self, listener: Listener) -> list[Check]:
        planned = [call for listed in self.inventory.backends for call in self._planned(listed)]
        made = [call for call in planned if not call.why_not]
        if made:
            listener.calling([call.label for call in made])
        found = {
            call.label: skipped(f"call {call.label}", call.why_not)
            for call in planned
            if call.why_not
        }
        for check in found.values():
            listener.found(check)
        reports = call_each(
            [call.backend for call in made], self.environ, keys=self.inventory.key_variables
        )
        for place, report in reports:
            call = made[place]
            check = call_check(call.label, call.listed, call.backend, report)
            found[call.label] = check
            listener.found(check)
        return [found[call.label] for call in planned]

    def _planned(self, listed: Listed) -> Iterator[Call]:
        for label, backend in listed.variants():
            why_not = ""
            if not self.calls:
                why_not = "not called (--no-probe)"
            elif credential_check(backend, self.environ).status == "failed":
                why_not = "not called without its credential"
            elif backend.kind == "simulated" and backend.base_url is None:
                why_not = "a simulator is started with the run"
            yield Call(label, listed, backend, why_not)
