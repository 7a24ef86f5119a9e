"""Content-addressed bytes, in Redis, compressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import redis
import zstandard

from skillopt.domain.fingerprint import sha256_hex
from skillopt.state import keys
from skillopt.state.redis.faults import translated
from skillopt.state.redis.scripts import Limits, chunks

#: Blobs in one pipeline: bounds what a call keeps in memory.
_BATCH: Final = 64


class RedisBlobs:
    """The key is the hash of the content before compression; it is checked on every read."""

    def __init__(self, client: redis.Redis, limits: Limits) -> None:
        self._client = client
        self._ttl = limits.blob_ttl

    def put(self, contents: Sequence[bytes]) -> list[str]:
        hashes: list[str] = []
        # One compressor per call: they may not be shared between threads.
        compressor = zstandard.ZstdCompressor()
        for chunk in chunks(contents, _BATCH):
            pipeline = self._client.pipeline(transaction=False)
            for content in chunk:
                sha = sha256_hex(content)
                hashes.append(sha)
                pipeline.set(keys.blob(sha), compressor.compress(content), px=self._ttl)
            with translated():
                pipeline.execute()
        return hashes

    def get(self, hashes: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for chunk in chunks(hashes, _BATCH):
            pipeline = self._client.pipeline(transaction=False)
            for sha in chunk:
                pipeline.getex(keys.blob(sha), px=self._ttl)
            with translated():
                stored = pipeline.execute()
            for sha, data in zip(chunk, stored, strict=True):
                content = None if data is None else _decompressed(data)
                if content is not None and sha256_hex(content) == sha:
                    found[sha] = content
        return found

    def renew(self, hashes: Sequence[str]) -> set[str]:
        there: set[str] = set()
        for chunk in chunks(hashes, _BATCH):
            pipeline = self._client.pipeline(transaction=False)
            for sha in chunk:
                pipeline.pexpire(keys.blob(sha), self._ttl)
            with translated():
                renewed = pipeline.execute()
            there.update(sha for sha, found in zip(chunk, renewed, strict=True) if found)
        return there


def _decompressed(data: bytes) -> bytes | None:
    try:
        return zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError:
        # Damaged, so absent: whoever needs it has it stored or run again.
        return None
