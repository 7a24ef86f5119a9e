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


class Inputs:
    """Reads blobs, the recent ones from memory. Shared by the threads of a process."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """Read texts; a missing one gives the job back, and the coordinator stores it anew."""
        with self._lock:
            found = {name: self._kept[name] for name in hashes if name in self._kept}
        missing = [name for name in hashes if name not in found]
        if missing:
            found |= patiently(lambda: self._blobs.get(missing))
        for wanted in hashes:
            if wanted not in found:
                raise StateCorrupt(f"the text {wanted[:16]} is not stored (any more)")
        with self._lock:
            for name in hashes:
                self._kept[name] = found[name]
                self._kept.move_to_end(name)
            while len(self._kept) > KEPT_TEXTS:
                self._kept.popitem(last=False)
        return found
