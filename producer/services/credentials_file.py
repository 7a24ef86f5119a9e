"""The user and password of Flower: given in the environment, or kept in a file of their own."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from skillopt.errors import ConfigError

VARIABLE: Final = "SKILLOPT_FLOWER_AUTH"
DEFAULT_USER: Final = "flower"
_LEAST_PASSWORD: Final = 12
_RANDOM_BYTES: Final = 18


@dataclass(frozen=True)
class Credentials:
    user: str
    password: str = field(repr=False)

    @property
    def joined(self) -> str:
        return f"{self.user}:{self.password}"

    def opened_by(self, header: str) -> bool:
        """Whether the Authorization header of a request is that of this user."""
        kind, _, encoded = header.partition(" ")
        try:
            given = base64.b64decode(encoded.strip(), validate=True)
        except (binascii.Error, ValueError):
            return False
        return kind.lower() == "basic" and hmac.compare_digest(given, self.joined.encode())


def given_credentials(environ: Mapping[str, str], path: Path | None) -> Credentials:
    """Give the credentials of the variable, else those of the file, made if it is not there.

    Raises ConfigError if there are none, or if they are too weak or open to others.
    """
    joined = environ.get(VARIABLE)
    if joined:
        return _read(joined, VARIABLE)
    if path is None:
        raise ConfigError(
            f"Flower opens to nobody without credentials: set {VARIABLE}=user:password, or name "
            "a file with --auth-file (it is made if it is not there)"
        )
    return kept_credentials(path)[0]


def kept_credentials(path: Path) -> tuple[Credentials, bool]:
    """Give the credentials that a file keeps, and whether it was made just now."""
    made = Credentials(DEFAULT_USER, secrets.token_urlsafe(_RANDOM_BYTES))
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{made.joined}\n")
        return made, True
    except FileExistsError:
        return _kept(path), False
    except OSError as error:
        raise ConfigError(
            f"credentials cannot be kept in {str(path)!r} ({error.strerror}): name a file in a "
            "folder that exists"
        ) from error


def _kept(path: Path) -> Credentials:
    try:
        mode = path.stat().st_mode
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigError(
                f"{str(path)!r} is open to other users: `chmod 600 {path}`, or remove it to have "
                "new credentials made"
            )
        return _read(path.read_text(encoding="utf-8").strip(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"credentials cannot be read from {str(path)!r}: {error}") from error


def _read(joined: str, where: str) -> Credentials:
    """Read user:password; what is wrong is said without showing it."""
    user, _, password = joined.partition(":")
    if not user or len(password) < _LEAST_PASSWORD or not (joined.isascii() and _plain(joined)):
        raise ConfigError(
            f"{where} must hold user:password, in ASCII without spaces, with {_LEAST_PASSWORD} "
            "characters or more for the password"
        )
    return Credentials(user, password)


def _plain(text: str) -> bool:
    return text.isprintable() and " " not in text
