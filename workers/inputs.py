"""The texts a job refers to."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from skillopt.errors import StateCorrupt
from skillopt.state.ports import Blobs
from workers.patience import patiently

#: Texts kept in a process: the document, the template and the judge of a stage are the same for
#: every item, and content never changes under its hash.
KEPT_TEXTS = 256
#: Attachments may be large; the oldest go first.
KEPT_BYTES = 64_000_000


class Inputs:
    """Reads blobs, the recent ones from memory. Shared by the threads of a process."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()

    def load(self, hashes: Sequence[str], soon: Sequence[str] = ()) -> dict[str, bytes]:
        """Read texts; a missing one gives the job back, and the coordinator stores it anew.

        `soon`: texts to read on the way, if they are there, as the job will ask for them later.
        """
        wanted = [*hashes, *soon]
        with self._lock:
            found = {name: self._kept[name] for name in wanted if name in self._kept}
        missing = [name for name in wanted if name not in found]
        if missing:
            found |= patiently(lambda: self._blobs.get(missing))
        for name in hashes:
            if name not in found:
                raise StateCorrupt(f"the text {name[:16]} is not stored (any more)")
        with self._lock:
            for name in wanted:
                if name in found:
                    self._keep(name, found[name])
        return found

    def _keep(self, name: str, content: bytes) -> None:
        if name not in self._kept:
            self._kept_bytes += len(content)
        self._kept[name] = content
        self._kept.move_to_end(name)
        while len(self._kept) > KEPT_TEXTS or self._kept_bytes > KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= len(oldest)
