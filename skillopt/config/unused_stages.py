"""Parameters that somebody gave to a stage which their run never comes to."""

from __future__ import annotations

from collections.abc import Callable

from skillopt.config.role_section import MODEL, STAGES
from skillopt.config.schema import ParsedSpec, SpecFile
from skillopt.domain.jobs import OptimizeStage

_ONE_EPOCH = "train.num_epochs is 1, or optimizer.use_{stage} is false"
#: For stages that not every run has: whether a run has it, and what is in the way if not.
_CONDITIONS: dict[OptimizeStage, tuple[Callable[[SpecFile], bool], str]] = {
    "reflect_success": (
        lambda spec: not spec.gradient.failure_only,
        "gradient.failure_only is true",
    ),
    "reflect_contrast": (
        lambda spec: spec.gradient.contrastive and spec.train.samples > 1,
        "train.samples is 1, or gradient.contrastive is false",
    ),
    "learning_rate": (
        lambda spec: spec.optimizer.lr_control_mode == "autonomous",
        "optimizer.lr_control_mode is not autonomous",
    ),
    "rank": (
        lambda spec: (
            spec.optimizer.lr_control_mode != "none"
            and spec.optimizer.skill_update_mode != "full_rewrite_minibatch"
        ),
        "optimizer.lr_control_mode or skill_update_mode sets no limit to the edits",
    ),
    "rewrite": (
        lambda spec: spec.optimizer.skill_update_mode == "rewrite_from_suggestions",
        "optimizer.skill_update_mode is not rewrite_from_suggestions",
    ),
    "compress": (
        lambda spec: spec.optimizer.max_skill_tokens is not None,
        "optimizer.max_skill_tokens is not set",
    ),
    "consolidate": (
        lambda spec: (
            spec.optimizer.use_skill_aware_reflection
            and spec.optimizer.skill_aware_consolidate_threshold > 0
        ),
        "optimizer.use_skill_aware_reflection is false, or its consolidate threshold is 0",
    ),
    "slow_update": (
        lambda spec: spec.optimizer.use_slow_update and spec.train.num_epochs > 1,
        _ONE_EPOCH.format(stage="slow_update"),
    ),
    "meta_skill": (
        lambda spec: spec.optimizer.use_meta_skill and spec.train.num_epochs > 1,
        _ONE_EPOCH.format(stage="meta_skill"),
    ),
}


def unused_stages(parsed: ParsedSpec) -> list[str]:
    """Give a warning for each stage with parameters of its own that the run does not have."""
    section = parsed.roles.get("optimizer")
    warnings = []
    for stage, (holds, why) in _CONDITIONS.items():
        if section is not None and section.stages.get(stage) and not holds(parsed.spec):
            where = parsed.document.origin((MODEL, "optimizer", STAGES, stage))
            warnings.append(f"{where}: model.optimizer.stages.{stage} is not used: {why}")
    return warnings
