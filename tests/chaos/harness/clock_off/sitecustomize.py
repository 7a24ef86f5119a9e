"""Puts the wall clock of the one process that finds this module on its path off by some seconds."""

from __future__ import annotations

import os
import time

_OFFSET_S = float(os.environ.get("CHAOS_CLOCK_OFFSET_S", "0"))
_true_time = time.time  # noqa: TID251 - this module is about the wall clock


def _time() -> float:
    return _true_time() + _OFFSET_S


time.time = _time  # noqa: TID251
