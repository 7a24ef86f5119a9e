"""Looking through results and removing them, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillopt.state.memory.tables import Committed, Tables
from skillopt.state.ports import CacheEntry, Removal


class MemoryCache:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def pages(self) -> Iterator[list[CacheEntry]]:
        with self._tables.changed:
            jobs = self._tables.results.present()
        yield list(self.peek(jobs).values())

    def peek(self, jobs: Sequence[str]) -> dict[str, CacheEntry]:
        tables = self._tables
        with tables.changed:
            found = {job: tables.results.get(job) for job in jobs}
            return {job: self._entry(job, one) for job, one in found.items() if one is not None}

    def skills(self, prefix: str) -> list[str]:
        tables = self._tables
        with tables.changed:
            return sorted(
                skill
                for skill in tables.skills.present()
                if skill.startswith(prefix) and tables.skills.get(skill)
            )

    def blob_pages(self) -> Iterator[list[int]]:
        with self._tables.changed:
            sizes = [len(content) for content in self._tables.blobs.values()]
        yield sizes

    def remove(self, jobs: Sequence[str], *, spare: Sequence[str]) -> Removal:
        tables = self._tables
        removed, kept = [], []
        with tables.changed:
            for job in dict.fromkeys(jobs):
                committed = tables.results.get(job)
                if committed is None:
                    continue
                if any(job in tables.ledgers.get(run, {}) for run in spare):
                    kept.append(job)
                    continue
                if committed.skill:
                    (tables.skills.get(committed.skill) or set()).discard(job)
                tables.results.drop(job)
                removed.append(job)
        return Removal(tuple(removed), tuple(kept))

    def _entry(self, job: str, committed: Committed) -> CacheEntry:
        result = committed.result
        texts = (result.line, result.body, result.receipt)
        return CacheEntry(
            job=job,
            line=result.line,
            receipt=result.receipt,
            skill=committed.skill,
            spec=committed.spec,
            made_at=committed.made_at,
            expires_in_s=self._tables.results.remaining_s(job),
            size=sum(len(text.encode()) for text in texts) + len(committed.spec or b""),
        )
