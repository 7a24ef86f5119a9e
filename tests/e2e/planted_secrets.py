"""Secrets that a test can recognise, and a search for them in whatever bytes a run left."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import zstandard

_ZSTD = b"\x28\xb5\x2f\xfd"
#: Longer than the hashes that are everywhere, and in the form of a message's body.
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{80,}={0,2}")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')


def secret_of(name: str) -> str:
    """Make a secret that looks like none of the vendors', with characters that get encoded."""
    return f"planted/{hashlib.sha256(name.encode()).hexdigest()[:40]}+=="


def masked(secret: str) -> str:
    """A secret as servers show one that they refuse."""
    return f"{secret[:7]}************{secret[-8:]}"


class Needles:
    """Finds secrets: whole, halved, masked, and encoded."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._of = {form: name for name, secret in secrets.items() for form in _forms(secret)}

    def found_in(self, content: bytes) -> set[str]:
        """Name the secrets in some bytes, and in what is packed into them."""
        parts = b"\n".join(_unpacked(content))
        return {name for form, name in self._of.items() if form in parts}

    def found_in_all(self, contents: Mapping[str, bytes]) -> dict[str, set[str]]:
        """Name the secrets by the place where they were found; empty if there are none."""
        found = {place: self.found_in(content) for place, content in contents.items()}
        return {place: names for place, names in found.items() if names}


def _forms(secret: str) -> Iterator[bytes]:
    raw, half = secret.encode(), len(secret) // 2
    yield from (raw, raw[:half], raw[half:], masked(secret)[-11:].encode())
    yield from (raw.hex().encode(), quote(secret, safe="").encode())
    yield json.dumps(secret)[1:-1].replace("/", r"\/").encode()
    for before in range(3):
        text = b64encode(b"-" * before + raw)
        yield text[4:-8]


def _unpacked(content: bytes) -> Iterator[bytes]:
    """Give bytes as they are, and again without compression and encoding."""
    waiting = [content]
    while waiting:
        part = waiting.pop()
        yield part
        at = part.find(_ZSTD)
        while at >= 0:
            try:
                frame = zstandard.ZstdDecompressor().decompressobj()
                waiting.append(frame.decompress(part[at:]))
            except zstandard.ZstdError:
                pass  # these four bytes happened to stand there
            at = part.find(_ZSTD, at + 1)
        for match in _BASE64.finditer(part):
            waiting.append(b64decode(match.group()[: len(match.group()) // 4 * 4]))


def unescaped(monitored: bytes) -> bytes:
    """What MONITOR wrote, with the arguments of each command as they were sent."""
    return b"\n".join(
        codecs.escape_decode(match.group(1))[0]  # type: ignore[attr-defined]
        for match in _QUOTED.finditer(monitored)
    )
