"""The one credential that enters a workspace.

A key or token is read from the worker's environment. A login file is copied in, used by one run
at a time (a refresh makes every older copy worthless), and written back if the program renewed
it. A worker that is killed in between leaves a record by which the next one writes it back.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.backends.cli.options import CliOptions
from skillopt.backends.cli.workspace import Workspace
from skillopt.domain.fingerprint import sha256_hex
from skillopt.errors import AuthFailed, CallTimeout, ConfigError

#: Shorter values of a login file are names and dates, not secrets.
_SHORTEST_SECRET = 16
_LOCK_POLL_S = 0.05
_RECORD = "login.json"


@dataclass(frozen=True)
class Credential:
    """A key or token, kept out of every text that shows this object."""

    secret: str | None = field(repr=False)
    login_file: Path | None = None


class _Borrowed(BaseModel):
    """Which login a workspace holds a copy of."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    copy_at: str
    digest: str


def read_credential(options: CliOptions, environ: Mapping[str, str]) -> Credential:
    """Find the credential that the options name; raises ConfigError if it is not there."""
    if options.auth == "login_file":
        assert options.login_file is not None
        source = options.login_file.expanduser()
        if not source.is_file():
            raise ConfigError(
                f"the login {str(source)!r} does not exist; log in with {options.program!r} first"
            )
        return Credential(None, source)
    assert options.api_key_env is not None
    secret = environ.get(options.api_key_env, "").strip()
    if not secret:
        raise ConfigError(
            f"{options.program} needs the environment variable {options.api_key_env!r}, which "
            f"is not set; export {options.api_key_env}=…"
        )
    if not (secret.isascii() and secret.isprintable()):
        raise ConfigError(
            f"the environment variable {options.api_key_env!r} holds characters that no header "
            "can carry; export the key again, without line breaks"
        )
    return Credential(secret)


@asynccontextmanager
async def borrowed_login(
    source: Path, copy_at: Path, workspace: Workspace, wait_s: float
) -> AsyncIterator[None]:
    """Lend the login file to one run, and take a renewed one back.

    Raises CallTimeout when others keep it longer than `wait_s`, AuthFailed when it is no login.
    """
    lock = await _locked(source, wait_s)
    try:
        content = _read_login(source)
        copy_at.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_atomically(copy_at, content)
        record = _Borrowed(source=str(source), copy_at=str(copy_at), digest=sha256_hex(content))
        (workspace.control / _RECORD).write_text(record.model_dump_json())
        try:
            yield
        finally:
            _take_back(record)
    finally:
        os.close(lock)


def rescue_login(workspace: Workspace) -> bool:
    """Write back what a killed run renewed; False if the login is in use just now."""
    try:
        record = _Borrowed.model_validate_json((workspace.control / _RECORD).read_bytes())
    except (FileNotFoundError, ValidationError):
        return True  # nothing was lent, or the worker ended before it was
    source = Path(record.source)
    if not source.is_file():
        return True
    lock = _try_lock(source)
    if lock is None:
        return False
    try:
        _take_back(record)
    finally:
        os.close(lock)
    return True


def secrets_in(content: bytes) -> tuple[str, ...]:
    """The texts of a login file that must not be seen anywhere else."""
    try:
        return tuple(text for text in _texts(json.loads(content)) if len(text) >= _SHORTEST_SECRET)
    except ValueError:
        return ()


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _take_back(record: _Borrowed) -> None:
    """Write a renewed login back, unless somebody logged in anew meanwhile."""
    source, copy_at = Path(record.source), Path(record.copy_at)
    if not copy_at.is_file() or copy_at.is_symlink():
        return
    renewed = copy_at.read_bytes()
    if sha256_hex(renewed) == record.digest or not _is_login(renewed):
        return
    present = source.read_bytes() if source.is_file() else b""
    # An agent can write there too: what is not the same kind of login stays outside.
    if sha256_hex(present) == record.digest and _keys(present) == _keys(renewed):
        _write_atomically(source, renewed)


def _read_login(source: Path) -> bytes:
    try:
        content = source.read_bytes()
    except OSError as error:
        raise AuthFailed(f"the login {str(source)!r} cannot be read ({error.strerror})") from None
    if not _is_login(content):
        raise AuthFailed(f"the login {str(source)!r} is empty or damaged; log in again")
    return content


def _is_login(content: bytes) -> bool:
    """A program that is killed while it writes leaves half a file: that is no login."""
    try:
        return bool(json.loads(content)) and isinstance(json.loads(content), dict)
    except ValueError:
        return False


def _keys(login: bytes) -> set[str]:
    return set(json.loads(login))


def _write_atomically(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        target.write(content)
        target.flush()
        os.fsync(target.fileno())
    beside.replace(path)


async def _locked(source: Path, wait_s: float) -> int:
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    while (lock := _try_lock(source)) is None:
        if loop.time() >= until:
            raise CallTimeout(f"the login {str(source)!r} was in use for {wait_s:g} s")
        await asyncio.sleep(_LOCK_POLL_S)
    return lock


def _try_lock(source: Path) -> int | None:
    lock = os.open(
        source.with_name(f"{source.name}.skillopt-lock"),
        os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
        0o600,
    )
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock
