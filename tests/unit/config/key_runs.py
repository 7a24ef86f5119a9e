"""Whole runs that differ in one setting, and what can be seen of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from scripted_run import ScriptedRun, item, make_plan
from setting_models import Models

from skillopt.domain.events import Event, StepStarted
from skillopt.domain.item import Splits
from skillopt.domain.jobs import OptimizeSpec, OptimizeStage, RolloutSpec
from skillopt.domain.messages import decode_messages
from skillopt.domain.plan import RunPlan

E = TypeVar("E", bound=Event)

#: One train task for each; val has the first three, and one that nobody ever learns.
WORDS = ("alpha", "beta", "gamma", "delta", "other", "extra", "ample", "brief")


def splits(words: Sequence[str] = WORDS, val: Sequence[str] = (*WORDS[:3], "unknown")) -> Splits:
    return Splits(
        train=tuple(item(f"train-{word}", word) for word in words),
        val=tuple(item(f"val-{word}", word) for word in val),
        test=(item("test-alpha", "alpha"), item("test-delta", "delta")),
    )


#: Two epochs of two steps with room for every edit, so that a row has to say little more.
BASE: Mapping[str, Any] = {
    "train.num_epochs": 2,
    "train.batch_size": 4,
    "gradient.minibatch_size": 2,
    "gradient.merge_batch_size": 2,
    "optimizer.learning_rate": 4,
    "optimizer.min_learning_rate": 0,
    "optimizer.lr_scheduler": "constant",
}


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted keys into sections."""
    sections: dict[str, Any] = {}
    for key, value in values.items():
        *path, name = key.split(".")
        section = sections
        for part in path:
            inner = section.setdefault(part, {})
            # The name of a role's backend, which becomes a section of its own.
            section[part] = {"use": inner} if isinstance(inner, str) else inner
            section = section[part]
        section[name] = value
    return sections


@dataclass(frozen=True)
class LoopRow:
    """A setting, its values, and what a run with each of them must look like.

    `check` gets one run per value; `around` is what must hold for the setting to matter.
    """

    key: str
    values: tuple[Any, ...]
    check: Callable[..., None]
    around: Mapping[str, Any] = field(default_factory=dict)
    models: Models = field(default_factory=Models)
    #: What the plan has besides its settings.
    plan: Mapping[str, Any] = field(default_factory=dict)
    drive: Callable[[ScriptedRun], ScriptedRun] = ScriptedRun.finish

    def plan_of(self, value: Any) -> RunPlan:
        settings = nested({**BASE, **self.around, self.key: value})
        return make_plan(settings=settings, **{"splits": splits(), **self.plan})

    def runs(self) -> list[ScriptedRun]:
        plans = map(self.plan_of, self.values)
        return [self.drive(ScriptedRun(plan, models=self.models)) for plan in plans]


# --- what can be seen ---------------------------------------------------------------------------


def seen(run: ScriptedRun, kind: type[E]) -> list[E]:
    return [event for event in run.events if isinstance(event, kind)]


def first(run: ScriptedRun, kind: type[E]) -> E:
    found = seen(run, kind)
    assert found, f"the run has no {kind.__name__}"
    return found[0]


def asked(run: ScriptedRun, *stages: OptimizeStage) -> list[str]:
    """Give what optimizer prompts say, in order: those of some stages, or all."""
    return [
        "\n".join(message.content for message in decode_messages(job.blobs[0]))
        for job in run.performed.values()
        if isinstance(job.spec, OptimizeSpec) and (not stages or job.spec.stage in stages)
    ]


def stages(run: ScriptedRun) -> set[str]:
    specs = (job.spec for job in run.performed.values())
    return {spec.stage for spec in specs if isinstance(spec, OptimizeSpec)}


def samples(run: ScriptedRun, stage: str) -> set[int]:
    """Give which samples were rolled out for a stage, by the labels of its jobs."""
    return {
        job.spec.sample
        for job in run.performed.values()
        if isinstance(job.spec, RolloutSpec) and job.label.startswith(stage)
    }


def budgets(run: ScriptedRun) -> list[int | None]:
    return [started.edit_budget for started in seen(run, StepStarted)]


def final_text(run: ScriptedRun) -> str:
    """Give the skill that is current at the end."""
    return run.state.texts[run.state.current].skill
