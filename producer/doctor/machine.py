"""This machine: the interpreter, the system, the Redis program of the embedded mode."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from producer.doctor.check import Check, failed, ok, skipped, warning
from producer.embedded.redis_binary import find_redis_binary, version_text
from producer.embedded.server_version import recorded_version
from producer.embedded.store import Store
from skillopt import __version__
from skillopt.errors import EmbeddedError

#: Where everything that is installed comes ready built.
_READY_BUILT = ("Linux", "x86_64")
_LEAST_PYTHON = (3, 11)
_NEED_URL = "use a running Redis with --redis URL"


def machine_checks(*, shared_redis: bool, store: Path) -> Iterator[Check]:
    """Look at what is here already; nothing is started but `redis-server --version`."""
    yield _python()
    yield _platform()
    yield ok("package", f"skillopt-fleet {__version__}")
    yield _redis_program(shared_redis=shared_redis, store=store)


def _python() -> Check:
    version = platform.python_version()
    if sys.version_info < _LEAST_PYTHON:
        return failed("python", version, "use Python 3.11 or later")
    return ok("python", f"{version} ({platform.python_implementation()})")


def _platform() -> Check:
    here = (platform.system(), platform.machine())
    value = " ".join(here)
    if here == _READY_BUILT:
        return ok("platform", value)
    return warning(
        "platform",
        value,
        f"{_NEED_URL}, or put 'redis-server' on the PATH",
        f"the private Redis comes ready built for {' '.join(_READY_BUILT)} only",
    )


def _redis_program(*, shared_redis: bool, store: Path) -> Check:
    name = "redis program"
    if shared_redis:
        return skipped(name, "not needed with --redis")
    try:
        binary = find_redis_binary()
        recorded = recorded_version(Store(store.resolve()).redis_dir / "server-version")
    except EmbeddedError as error:
        return failed(name, str(error), _NEED_URL)
    version = version_text(binary.version)
    if recorded is not None and recorded > binary.version:
        return failed(
            name,
            f"{version}, older than the {version_text(recorded)} that last wrote the store",
            f"put a 'redis-server' of at least {version_text(recorded)} on the PATH, or use "
            "another --store",
        )
    return ok(name, f"{version} ({binary.path})")
