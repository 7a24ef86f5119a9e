"""What is measured of a fleet."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import redis

from skillopt.state.urls import queue_url, state_url
from soak.trend import Tolerance

MB = 1 << 20


def of_process(name: str, pid: int) -> dict[str, float]:
    """Memory, threads and open files of a process; raises FileNotFoundError if it is gone."""
    status = Path(f"/proc/{pid}/status").read_text()
    rss = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    threads = re.search(r"^Threads:\s+(\d+)$", status, re.MULTILINE)
    assert rss is not None
    assert threads is not None
    return {
        f"{name} MB": int(rss[1]) / 1024,
        f"{name} threads": int(threads[1]),
        f"{name} files": len(list(Path(f"/proc/{pid}/fd").iterdir())),
    }


class OfRedis:
    """Memory and keys, by the first two parts of their names."""

    def __init__(self, url: str) -> None:
        self._state = redis.Redis.from_url(state_url(url), decode_responses=True)
        self._broker = redis.Redis.from_url(queue_url(url), decode_responses=True)

    def read(self) -> dict[str, float]:
        found: Counter[str] = Counter()
        for client in (self._state, self._broker):
            found.update(_kind(key) for key in client.scan_iter(count=1000))
        memory = self._state.info("memory")
        counts = {f"keys {kind}": float(count) for kind, count in found.items()}
        clients = float(self._state.info("clients")["connected_clients"])
        return {
            "redis data MB": memory["used_memory_dataset"] / MB,
            "redis used MB": memory["used_memory"] / MB,
            "redis clients": clients,
            "keys in all": float(sum(found.values())),
            **counts,
        }

    def close(self) -> None:
        self._state.close()
        self._broker.close()


def tolerance(name: str) -> Tolerance:
    """Memory of a program wanders by some pages; keys and files come and go with the work."""
    if name.startswith("simulator-") and name.endswith(" MB"):
        # It stands for the provider and remembers every question, for its statistics.
        return Tolerance(share=0.0, at_least=math.inf)
    if name == "redis MB":
        # What it uses is judged beside this; how much of its memory lies scattered is up to the C
        # library, and takes minutes to settle.
        return Tolerance(share=0.2, at_least=1.5)
    if name.endswith(" MB"):
        return Tolerance(share=0.03, at_least=1.5)
    if name.endswith((" threads", " files", " clients")):
        return Tolerance(share=0.1, at_least=2.0)
    return Tolerance(share=0.1, at_least=12.0)


def _kind(key: str) -> str:
    if key.startswith("so:run:"):
        return "so:run:*:" + key.rpartition(":")[2] if key.count(":") > 2 else "so:run"
    return ":".join(key.split(":")[:2]) if key.startswith("so:") else "of the broker"
