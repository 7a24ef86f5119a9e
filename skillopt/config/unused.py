"""Settings that somebody wrote down and that change nothing in the run they wrote them for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skillopt.config.schema import ParsedSpec, SpecFile


@dataclass(frozen=True)
class _Condition:
    """Keys that count only if `holds`; `why` says what is in the way if it does not."""

    keys: tuple[str, ...]
    holds: Callable[[SpecFile], bool]
    why: str


def _has_schedule(spec: SpecFile) -> bool:
    optimizer = spec.optimizer
    return (
        optimizer.lr_control_mode != "none"
        and optimizer.skill_update_mode != "full_rewrite_minibatch"
    )


def _compares_epochs(spec: SpecFile) -> bool:
    return spec.optimizer.use_slow_update or spec.optimizer.use_meta_skill


_PAIRS = ("optimizer.slow_update_samples", "optimizer.longitudinal_pair_policy")
_SLOW_GATE = "optimizer.slow_update_gate_with_selection"
_RATES = ("optimizer.lr_scheduler", "optimizer.learning_rate", "optimizer.min_learning_rate")
#: For each key the first condition that does not hold is told.
_CONDITIONS = (
    _Condition(
        _PAIRS,
        _compares_epochs,
        "optimizer.use_slow_update and optimizer.use_meta_skill are false",
    ),
    _Condition(
        (_SLOW_GATE,),
        lambda spec: spec.optimizer.use_slow_update,
        "optimizer.use_slow_update is false",
    ),
    _Condition(
        (*_PAIRS, _SLOW_GATE),
        lambda spec: spec.train.num_epochs > 1,
        "train.num_epochs is 1, so there is no epoch to compare with",
    ),
    _Condition(
        (
            "optimizer.skill_aware_appendix_source",
            "optimizer.skill_aware_consolidate_threshold",
        ),
        lambda spec: spec.optimizer.use_skill_aware_reflection,
        "optimizer.use_skill_aware_reflection is false",
    ),
    _Condition(
        _RATES,
        _has_schedule,
        "optimizer.lr_control_mode or skill_update_mode sets no limit to the edits",
    ),
    _Condition(
        ("optimizer.min_learning_rate",),
        lambda spec: spec.optimizer.lr_scheduler != "constant",
        "optimizer.lr_scheduler is constant",
    ),
    _Condition(
        ("evaluation.gate_mixed_weight",),
        lambda spec: spec.evaluation.gate_metric == "mixed",
        "evaluation.gate_metric is not mixed",
    ),
    _Condition(
        ("evaluation.test_limit",),
        lambda spec: spec.evaluation.eval_test,
        "evaluation.eval_test is false",
    ),
)


def unused_settings(parsed: ParsedSpec) -> list[str]:
    """Give a warning for each key that was written, differs from its default and is not used."""
    warnings: dict[str, str] = {}
    for condition in _CONDITIONS:
        if condition.holds(parsed.spec):
            continue
        for key in condition.keys:
            path = tuple(key.split("."))
            if path not in parsed.document.origins or key in warnings:
                continue
            value, default = _value_and_default(parsed.spec, key)
            if value != default:
                where = parsed.document.origin(path)
                warnings[key] = f"{where}: {key}: {value!r} is not used: {condition.why}"
    return list(warnings.values())


def _value_and_default(spec: SpecFile, key: str) -> tuple[Any, Any]:
    section, _, name = key.partition(".")
    written = getattr(spec, section)
    return getattr(written, name), type(written).model_fields[name].default
