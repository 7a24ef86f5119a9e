"""The settings of a run, section by section, as a person writes them.

Defaults and bounds live here and nowhere else. `Budget` does not take part in a run's identity:
raising it continues the run.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Train(_Section):
    num_epochs: int = Field(default=2, ge=1)
    batch_size: int = Field(default=8, ge=1)
    accumulation: int = Field(default=1, ge=1)
    samples: int = Field(default=1, ge=1, le=1_000)
    seed: int = 42


class Gradient(_Section):
    minibatch_size: int = Field(default=8, ge=1)
    merge_batch_size: int = Field(default=8, ge=2)
    failure_only: bool = False


class Optimizer(_Section):
    learning_rate: int = Field(default=4, ge=0)
    min_learning_rate: int = Field(default=2, ge=0)
    lr_scheduler: Literal["constant", "linear", "cosine"] = "cosine"
    skill_update_mode: Literal["patch"] = "patch"
    lr_control_mode: Literal["fixed"] = "fixed"
    max_skill_tokens: int | None = Field(default=None, ge=1)

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
    min_coverage: float = Field(default=1.0, gt=0, le=1)
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
    preferences: str = ""
    cache: Literal["on", "refresh", "off"] = "on"
