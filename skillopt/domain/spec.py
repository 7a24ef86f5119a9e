"""The settings of a run, section by section, as a person writes them.

Defaults and bounds live here and nowhere else. `Budget` does not take part in a run's identity:
raising it continues the run.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

UpdateMode = Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]
PairPolicy = Literal["mixed", "changed", "unchanged"]
#: Which documents a run may change.
Evolve = Literal["skill", "memory", "both"]
#: How much of its owner's share of a backend a run gets beside the owner's other runs.
Priority = Literal["low", "normal", "high"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Train(_Section):
    num_epochs: int = Field(default=2, ge=1)
    batch_size: int = Field(default=8, ge=1)
    accumulation: int = Field(default=1, ge=1)
    samples: int = Field(default=1, ge=1, le=1_000)
    seed: int = 42


class Gradient(_Section):
    """What analysts are shown and how their proposals are merged."""

    minibatch_size: int = Field(default=8, ge=1)
    merge_batch_size: int = Field(default=8, ge=2)
    failure_only: bool = False
    #: With several samples of a task: show one that passed beside one that failed.
    contrastive: bool = True
    #: Tokens of one attempt that an analyst sees; the middle of a longer one is left out.
    trajectory_tokens: int = Field(default=1_500, ge=50)
    #: Tokens of what earlier steps tried that an analyst sees.
    history_tokens: int = Field(default=2_000, ge=50)
    #: What becomes of an edit that repeats a training task's own text.
    copy_guard: Literal["off", "flag", "block"] = "flag"


class Optimizer(_Section):
    learning_rate: int = Field(default=4, ge=0)
    min_learning_rate: int = Field(default=2, ge=0)
    lr_scheduler: Literal["constant", "linear", "cosine"] = "cosine"
    lr_control_mode: Literal["fixed", "autonomous", "none"] = "fixed"
    skill_update_mode: UpdateMode = "patch"
    max_skill_tokens: int | None = Field(default=None, ge=1)
    use_slow_update: bool = True
    slow_update_samples: int = Field(default=20, ge=1)
    #: False: the guidance becomes current whatever the gate says; it is measured all the same.
    slow_update_gate_with_selection: bool = True
    longitudinal_pair_policy: PairPolicy = "mixed"
    use_meta_skill: bool = True
    use_skill_aware_reflection: bool = False
    skill_aware_appendix_source: Literal["both", "failure_only"] = "both"
    #: An appendix of more notes than this is condensed; 0 is never.
    skill_aware_consolidate_threshold: int = Field(default=0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _default_minimum_fits(cls, written: Any) -> Any:  # noqa: ANN401 - not yet validated
        """A small `learning_rate` alone is enough: the default minimum gives way to it."""
        if isinstance(written, dict) and "min_learning_rate" not in written:
            maximum = written.get("learning_rate")
            if (
                type(maximum) is int
                and 0 <= maximum < cls.model_fields["min_learning_rate"].default
            ):
                return {**written, "min_learning_rate": maximum}
        return written

    @model_validator(mode="after")
    def _minimum_below_maximum(self) -> Optimizer:
        if self.min_learning_rate > self.learning_rate:
            raise ValueError(
                f"min_learning_rate {self.min_learning_rate} is above learning_rate "
                f"{self.learning_rate}; lower it"
            )
        return self


class Evaluation(_Section):
    gate_metric: Literal["hard", "soft", "mixed"] = "hard"
    gate_mixed_weight: float = Field(default=0.5, ge=0, le=1)
    samples: int = Field(default=1, ge=1, le=1_000)
    #: False: every candidate becomes current; it is measured and recorded all the same.
    use_gate: bool = True
    #: The chance that a run accepts anything that is no better; null compares means only.
    significance: float | None = Field(default=None, gt=0, lt=1)
    #: Val tasks no candidate may do worse on: ids, `tag:NAME`, or `all`.
    no_regression: tuple[str, ...] = ()
    #: Reject as soon as the results that are still missing cannot change that.
    early_decision: bool = True
    min_coverage: float = Field(default=1.0, gt=0, le=1)
    #: The first N tasks of a split; null is all of them.
    val_limit: int | None = Field(default=None, ge=1)
    test_limit: int | None = Field(default=None, ge=1)
    eval_test: bool = True


class Stop(_Section):
    """When to end before the last step; a val score at its maximum always ends a run."""

    patience: int | None = Field(default=None, ge=1)
    target_score: float | None = Field(default=None, gt=0, le=1)


class Budget(_Section):
    max_calls: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_usd: float | None = Field(default=None, gt=0)
    max_minutes: float | None = Field(default=None, gt=0)


class Settings(_Section):
    """All that steers the loop and can change its outcome."""

    train: Train = Train()
    gradient: Gradient = Gradient()
    optimizer: Optimizer = Optimizer()
    evaluation: Evaluation = Evaluation()
    stop: Stop = Stop()
    evolve: Evolve = "skill"
    preferences: str = ""
    cache: Literal["on", "refresh", "off"] = "on"

    @model_validator(mode="after")
    def _a_rewrite_is_of_one_document(self) -> Settings:
        mode = self.optimizer.skill_update_mode
        if self.evolve == "both" and mode != "patch":
            raise ValueError(
                f"skill_update_mode {mode!r} writes one document, evolve 'both' has two"
            )
        return self
