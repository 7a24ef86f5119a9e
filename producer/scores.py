"""Scores of documents as people and programs read them. What was not measured is null."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict

from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.loop.gate import judge_candidate, scores
from skillopt.loop.gate_rules import rules_of
from skillopt.stats.noise import noise_of
from skillopt.stats.score_interval import IntervalMethod, score_interval


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TagScore(_Block):
    """A document on the tasks of one tag."""

    hard: float | None
    soft: float | None
    n: int


class Score(_Block):
    """A document on a split: means over scored items, and the 95 % interval of `hard`."""

    hard: float | None
    soft: float | None
    n: int
    coverage: float
    interval: tuple[float, float] | None
    #: How the interval was found; null without one.
    interval_method: IntervalMethod | None
    by_tag: dict[str, TagScore]


def score_of(measurement: Measurement, plan: RunPlan) -> Score:
    """Turn a measurement into what people read, with its interval and by tag."""
    means = [score.hard for score in measurement.scored if score.hard is not None]
    interval = score_interval(means, plan.settings.evaluation.samples)
    return Score(
        hard=measurement.hard,
        soft=measurement.soft,
        n=measurement.n,
        coverage=measurement.coverage,
        interval=(interval.low, interval.high) if interval else None,
        interval_method=interval.method if interval else None,
        by_tag=_by_tag(measurement, plan),
    )


def _by_tag(measurement: Measurement, plan: RunPlan) -> dict[str, TagScore]:
    tagged: dict[str, dict[str, ItemScore]] = {}
    for item in plan.splits.of(measurement.split):
        if item.id in measurement.items:
            for tag in item.tags:
                tagged.setdefault(tag, {})[item.id] = measurement.items[item.id]
    parts = {tag: measurement.model_copy(update={"items": tagged[tag]}) for tag in sorted(tagged)}
    return {tag: TagScore(hard=part.hard, soft=part.soft, n=part.n) for tag, part in parts.items()}


class NoiseFloor(_Block):
    """An A/A run: one document measured several times, each time with samples of its own.

    All that differs between the arms is chance. The figures are of the gate's metric, over the
    tasks that have a score in every arm; null before two arms are measured.
    """

    arms: tuple[Score, ...]
    metric: str
    items: int | None = None
    means: tuple[float, ...] | None = None
    #: Between the highest and the lowest mean.
    spread: float | None = None
    #: The share of tasks whose score is not the same in all arms.
    flipped: float | None = None
    #: Of the difference between two arms' means.
    standard_error: float | None = None
    #: Ordered pairs of arms, and in how many the gate, were it the run's only one, would have
    #: accepted one over the other.
    comparisons: int | None = None
    accepted: int | None = None


def noise_floor(state: RunState) -> NoiseFloor | None:
    """Say how far apart measurements of one document are; None for any other run."""
    if state.plan.mode != "aa":
        return None
    settings, arms = state.plan.settings.evaluation, state.arms
    shown = tuple(score_of(arm, state.plan) for arm in arms)
    by_item = [scores(arm, settings) for arm in arms]
    if len(arms) < 2 or not set.intersection(*(set(one) for one in by_item)):
        return NoiseFloor(arms=shown, metric=settings.gate_metric)
    rules = rules_of(state)

    def accepts(candidate: int, current: int) -> bool:
        return judge_candidate(arms[candidate], arms[current], rules).verdict == "accept"

    noise = asdict(noise_of(by_item, accepts))
    return NoiseFloor(arms=shown, metric=settings.gate_metric, **noise)
