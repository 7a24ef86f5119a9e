"""Looking through results and removing them, in Redis: by cursor, so that nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import redis

from skillopt.state import keys
from skillopt.state.ports import MAX_JOBS_PER_CALL, CacheEntry, Removal
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text
from skillopt.state.redis.scripts import Scripts, chunks

#: Keys the server looks at in one step of a scan.
_SCAN_COUNT: Final = 1000
#: Looks into ledgers that one script may take: some milliseconds.
_LOOKS_PER_CALL: Final = 20_000
_COMMANDS_PER_ENTRY: Final = 3


class RedisCache:
    """Script clear; everything else is SCAN and plain reads in pipelines."""

    def __init__(self, client: redis.Redis, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    def pages(self) -> Iterator[list[CacheEntry]]:
        for jobs in self._scan(keys.result("")):
            yield list(self.peek(jobs).values())

    def peek(self, jobs: Sequence[str]) -> dict[str, CacheEntry]:
        found: dict[str, CacheEntry] = {}
        for chunk in chunks(jobs):
            pipeline = self._client.pipeline(transaction=False)
            for job in chunk:
                name = keys.result(job)
                pipeline.hmget(name, "line", "receipt", "skill", "spec", "at")
                pipeline.hstrlen(name, "body")
                pipeline.pttl(name)
            with translated():
                replies = pipeline.execute()
            for index, job in enumerate(chunk):
                start = index * _COMMANDS_PER_ENTRY
                fields, body_size, ttl = replies[start : start + _COMMANDS_PER_ENTRY]
                if fields[0] is not None and ttl > 0:
                    found[job] = _entry(job, fields, body_size, ttl)
        return found

    def skills(self, prefix: str) -> list[str]:
        pages = self._scan(keys.skill(""), prefix)
        return sorted(skill for page in pages for skill in page)

    def blob_pages(self) -> Iterator[list[int]]:
        for hashes in self._scan(keys.blob("")):
            pipeline = self._client.pipeline(transaction=False)
            for sha in hashes:
                pipeline.strlen(keys.blob(sha))
            with translated():
                yield [size for size in pipeline.execute() if size]

    def remove(self, jobs: Sequence[str], *, spare: Sequence[str]) -> Removal:
        removed: list[str] = []
        kept: list[str] = []
        ledgers = [keys.ledger(run) for run in spare]
        size = max(1, min(MAX_JOBS_PER_CALL, _LOOKS_PER_CALL // max(1, len(ledgers))))
        for chunk in chunks(list(dict.fromkeys(jobs)), size):
            names = [*ledgers, *map(keys.result, chunk)]
            reply = self._scripts.call("clear", names, (len(ledgers), keys.SKILL_PREFIX, *chunk))
            for job, what in zip(chunk, reply, strict=True):
                if what >= 0:
                    (removed if what else kept).append(job)
        return Removal(tuple(removed), tuple(kept))

    def _scan(self, prefix: str, begin: str = "") -> Iterator[list[str]]:
        """Give what follows `prefix` in the names of keys, each once, page by page."""
        seen: set[str] = set()
        cursor = 0
        while True:
            with translated():
                cursor, names = self._client.scan(
                    cursor, match=f"{prefix}{begin}*", count=_SCAN_COUNT
                )
            rest = (text(name, "the name of a key").removeprefix(prefix) for name in names)
            page = [one for one in dict.fromkeys(rest) if one not in seen]
            seen.update(page)
            if page:
                yield page
            if cursor == 0:
                return


def _entry(job: str, fields: Sequence[Any], body_size: int, ttl_ms: int) -> CacheEntry:
    what = f"the result of job {job!r}"
    line, receipt, skill, spec, at = fields
    return CacheEntry(
        job=job,
        line=text(line, what),
        receipt=text(receipt, what),
        skill=None if skill is None else text(skill, what),
        spec=spec,
        made_at=None if at is None else integer(at, f"the time of {what}") / 1000,
        expires_in_s=ttl_ms / 1000,
        size=len(line) + len(receipt) + body_size + len(spec or b""),
    )
