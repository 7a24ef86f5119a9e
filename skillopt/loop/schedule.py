"""The edit budget ("learning rate") of a step: a pure function of the step."""

from __future__ import annotations

import math

from skillopt.domain.spec import Optimizer


def edit_budget(settings: Optimizer, step: int, total_steps: int) -> int | None:
    """Give the number of edits a step (from 1) may apply; the last step gets the minimum, zero
    means zero, and None no limit.
    """
    if settings.lr_control_mode == "none" or settings.skill_update_mode == "full_rewrite_minibatch":
        return None
    high, low = settings.learning_rate, settings.min_learning_rate
    if settings.lr_scheduler == "constant" or total_steps <= 1:
        return high
    progress = min(step, total_steps) / total_steps
    if settings.lr_scheduler == "linear":
        value = high + (low - high) * progress
    else:
        value = low + (high - low) * (1 + math.cos(math.pi * progress)) / 2
    return max(low, round(value))
