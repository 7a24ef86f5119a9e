"""The workers of each backend: is there one, and does it mean the same backend as we do?"""

from __future__ import annotations

from collections.abc import Iterator

from producer.doctor.check import Check, failed, ok, warning
from producer.serving import Serving
from skillopt import __version__
from skillopt.domain.backend import Backend
from skillopt.domain.fingerprint import short


def fleet_checks(backend: Backend, served: Serving) -> Iterator[Check]:
    """Look at the workers of one backend, and at what keeps them from calling it."""
    yield _workers(backend, served)
    others = sorted({one.version for one in served.workers if one.version != __version__})
    if others:
        yield warning(
            f"worker version {backend.name}",
            f"{', '.join(others) or 'unknown'}, and {__version__} here",
            "install the same version everywhere, and start the workers again",
        )
    for _, standing in served.standings:
        if standing.breaker != "closed":
            yield warning(
                f"endpoint {backend.name}",
                f"left alone after failures ({standing.breaker})",
                "see whether the provider is up; it is tried again by itself",
            )


def _workers(backend: Backend, served: Serving) -> Check:
    name = f"workers {backend.name}"
    ours = backend.fingerprint
    strangers = [one for one in served.workers if one.fingerprint != ours]
    if strangers:
        theirs = ", ".join(f"{one.worker} has {short(one.fingerprint)}" for one in strangers)
        return failed(
            name,
            f"{theirs}, and {short(ours)} is defined here",
            "give both machines the same entry (kind, model, params, revision), and start the "
            "workers again",
            "a worker refuses jobs of another fingerprint",
        )
    normal = [one for one in served.workers if one.lane == "normal"]
    if not normal:
        return warning(
            name,
            "none: jobs would wait for a worker",
            "start one, or use `skillopt run`, which starts its own",
        )
    capacity = sum(one.capacity for one in normal)
    return ok(name, f"{len(normal)} with {capacity} slots, {served.queued} messages waiting")
