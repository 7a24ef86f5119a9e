"""Starts the layout of compose.yaml on this machine, without Docker: `make up-local`.

Every service runs the very command that its container would, as often as it has replicas. What
differs is where things are: a private Redis, folders and free ports of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from producer.attached import attached
from producer.embedded.child import ChildSpec, StopOrder
from producer.embedded.lock import StoreLock
from producer.embedded.redis_server import RedisServer
from producer.embedded.store import Store
from producer.services.binding import LOOPBACK, free_port
from producer.services.children import FRONT
from producer.services.group import ServiceGroup
from producer.services.pulse import telling_health
from producer.services.running import stay, supervising, until_stopped
from producer.services.stop_signals import StopSignals
from producer.tokens import issue
from skillopt.config.runtime import timing
from skillopt.errors import ConfigError, SkillOptError

COMPOSE: Final = Path(__file__).with_name("compose.yaml")
REDIS: Final = "redis"
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::([?-])([^}]*))?\}")
_PORTS: Final = ("--port", "--metrics-port")
_ORDER: Final = {"coordinator": StopOrder.COORDINATOR, "worker": StopOrder.WORKER}


@dataclass(frozen=True)
class Machine:
    """Where the things of containers are on this machine."""

    folder: Path
    redis_url: str
    #: What compose would read from its .env file.
    variables: Mapping[str, str]
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True)
class Replica:
    """One container, as a process."""

    service: str
    child: ChildSpec
    #: Where it listens for people; None if it does not.
    url: str | None


def read_compose(path: Path = COMPOSE) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def replicas(compose: Mapping[str, Any], machine: Machine) -> Iterator[Replica]:
    """Give every process of the layout but Redis, which is `machine`'s own."""
    for service, entry in compose["services"].items():
        if service == REDIS:
            continue
        for number in range(1, entry.get("deploy", {}).get("replicas", 1) + 1):
            yield _replica(service, entry, number, machine)


def _replica(service: str, entry: Mapping[str, Any], number: int, machine: Machine) -> Replica:
    name = f"{service}-{number}"
    mounts = _mounts(entry, machine.folder, name)
    command = [_placed(word, mounts) for word in entry["command"]]
    url = None
    for option in _PORTS:
        if option in command:
            at = command.index(option) + 1
            command[at] = str(free_port(LOOPBACK, 0, option))
            url = f"http://{LOOPBACK}:{command[at]}" if option == "--port" else url
    environment = {
        key: _placed(filled(str(value), machine.variables), mounts)
        for key, value in entry["environment"].items()
    }
    health = Path(_placed(entry["healthcheck"]["test"][-1], mounts))
    child = ChildSpec(
        name=name,
        argv=(sys.executable, "-m", "producer.cli", *command),
        env={
            "SKILLOPT_TIMING": "embedded",
            **machine.environ,
            **environment,
            "SKILLOPT_REDIS_URL": machine.redis_url,
            "TMPDIR": _placed("/tmp", mounts),  # noqa: S108 - of the container
            "PYTHONSAFEPATH": "1",
        },
        log_path=machine.folder / "logs" / f"{name}.log",
        stop_order=_ORDER.get(command[0], FRONT),
        health_path=health,
    )
    return Replica(service, child, url)


def filled(text: str, variables: Mapping[str, str]) -> str:
    """Fill in `${NAME}`, `${NAME:-default}` and `${NAME:?why}` as compose does."""

    def value(found: re.Match[str]) -> str:
        name, kind, words = found.groups()
        given = variables.get(name, "")
        if not given and kind == "?":
            raise ConfigError(f"{name!r} is not set: {words}")
        return given or (words if kind == "-" else "")

    return _VARIABLE.sub(value, text)


def _mounts(entry: Mapping[str, Any], folder: Path, name: str) -> dict[str, Path]:
    """Give a folder (or file) of this machine for each that is mounted into a container."""
    found: dict[str, Path] = {}
    for volume in entry.get("volumes", ()):
        source, target = volume.split(":")[:2]
        is_file = source.startswith((".", "/"))
        found[target] = COMPOSE.parent / source if is_file else folder / "volumes" / source
    for mounted in entry.get("tmpfs", ()):
        target = mounted.split(":")[0]
        found[target] = folder / "tmpfs" / name / target.strip("/").replace("/", "-")
    for path in found.values():
        if not path.exists():
            path.mkdir(parents=True)
    return found


def _placed(word: str, mounts: Mapping[str, Path]) -> str:
    """Put this machine's paths and address in the place of a container's."""
    if word == "0.0.0.0":  # noqa: S104 - what is replaced
        return LOOPBACK
    for target, path in sorted(mounts.items(), key=lambda one: -len(one[0])):
        if word == target or word.startswith(f"{target}/"):
            return f"{path}{word.removeprefix(target)}"
    return word


def run(folder: Path) -> None:
    """Start the layout in a folder and stay until Ctrl-C."""
    store = Store.open(folder / "redis")
    variables = {"REDIS_PASSWORD": "none", "FLOWER_AUTH": f"local:{secrets.token_urlsafe(18)}"}
    environ = {"SKILLOPT_TIMING": "embedded", **os.environ}
    durations = timing(environ)
    with (
        StopSignals() as signals,
        StoreLock.acquire(store, command="make up-local") as lock,
        RedisServer.start(lock) as server,
        attached(server.url, store.root) as state,
        telling_health(None, "layout", durations) as pulse,
        supervising(signals, durations, server) as supervisor,
        until_stopped(_tell),
    ):
        group = ServiceGroup(supervisor, signals, pulse, _tell)
        machine = Machine(folder, server.url, variables, environ)
        urls = {}
        for replica in replicas(read_compose(), machine):
            group.start(replica.child)
            if replica.url is not None:
                urls[replica.service] = replica.url
        made = issue(state.tokens, name=f"local-{secrets.token_hex(4)}", role="admin", owner="me")
        told = {**urls, "token": made.secret, "flower_auth": variables["FLOWER_AUTH"]}
        stay(group, lambda: _write(json.dumps({**told, "logs": str(folder / "logs")}, indent=2)))


def _tell(words: str) -> None:
    sys.stderr.write(f"{words}\n")


def _write(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep everything here; else it is thrown away")
    options = parser.parse_args()
    try:
        if options.folder is not None:
            options.folder.mkdir(parents=True, exist_ok=True)
            run(options.folder.resolve())
        else:
            with tempfile.TemporaryDirectory(prefix="so-local-") as folder:
                run(Path(folder).resolve())
    except SkillOptError as error:
        _tell(f"make: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
