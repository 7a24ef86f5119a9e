"""Content-addressed bytes, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.domain.fingerprint import sha256_hex
from skillopt.state.memory.tables import Tables


class MemoryBlobs:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, contents: Sequence[bytes]) -> list[str]:
        hashes = [sha256_hex(content) for content in contents]
        with self._tables.changed:
            for sha, content in zip(hashes, contents, strict=True):
                self._tables.blobs.put(sha, content, self._tables.timing.blob_ttl_s)
        return hashes

    def get(self, hashes: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        with self._tables.changed:
            for sha in hashes:
                content = self._tables.blobs.get(sha)
                if content is not None:
                    found[sha] = content
                    self._tables.blobs.renew(sha, self._tables.timing.blob_ttl_s)
        return found

    def renew(self, hashes: Sequence[str]) -> set[str]:
        with self._tables.changed:
            there = {sha for sha in hashes if self._tables.blobs.get(sha) is not None}
            for sha in there:
                self._tables.blobs.renew(sha, self._tables.timing.blob_ttl_s)
        return there
