"""fold(events) -> state: what has happened, from the log alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from skillopt.domain.events import (
    BudgetDecided,
    Compared,
    Event,
    Finished,
    Gated,
    Measured,
    Merged,
    MetaLearned,
    Noted,
    Proposed,
    Reflected,
    RunCreated,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import EpochEnd, RunState, StepState
from skillopt.domain.steering_events import Cancelled, GaveUp, LeftOut, Paused, Resumed, Retuned
from skillopt.errors import StateCorrupt


def begin(plan: RunPlan, created: RunCreated) -> RunState:
    """Give the state of a run that has only been created."""
    return RunState(
        run=created.run,
        plan=plan,
        current=created.skill,
        best=created.skill,
        texts={created.skill: plan.initial},
        budget=plan.budget,
        stop=plan.settings.stop,
        priority=plan.priority,
    )


def fold(plan: RunPlan, events: Iterable[Event]) -> RunState:
    """Fold a whole log; its first event must be the creation."""
    iterator = iter(events)
    first = next(iterator, None)
    if not isinstance(first, RunCreated):
        raise StateCorrupt("a run's log must begin with its creation")
    return reduce(apply, iterator, begin(plan, first))


def apply(state: RunState, event: Event) -> RunState:  # noqa: C901, PLR0911, PLR0912 - one arm per event
    """Give the state after one more event."""
    match event:
        case RunCreated():
            raise StateCorrupt("a run is created once")
        case Measured():
            measurement = event.measurement
            if state.plan.mode == "aa":
                return replace(state, arms=(*state.arms, measurement))
            key = (measurement.skill, measurement.split)
            return replace(state, measured={**state.measured, key: measurement})
        case StepStarted():
            return replace(state, steps=(*state.steps, StepState(started=event)))
        case Reflected():
            return _in_step(state, event.step, reflected=event)
        case Merged():
            return _in_step(state, event.step, merged=event)
        case BudgetDecided():
            return _in_step(state, event.step, budget=event)
        case Selected():
            return _in_step(state, event.step, selected=event)
        case Noted():
            return _in_step(state, event.step, noted=event)
        case Compared():
            ends = {**state.epoch_ends, event.epoch: EpochEnd(compared=event)}
            return replace(state, epoch_ends=ends)
        case MetaLearned():
            return replace(_at_epoch_end(state, event, meta=event), meta_skill=event.content)
        case Proposed():
            texts = {**state.texts, event.skill: event.documents}
            return replace(_of_source(state, event, proposed=event), texts=texts)
        case Skipped():
            return _of_source(state, event, skipped=event)
        case Gated():
            return _gated(state, event)
        case LeftOut():
            return replace(state, left_out={**state.left_out, **event.items})
        case GaveUp():
            return replace(state, given_up={**state.given_up, **event.jobs})
        case Paused():
            return replace(state, paused=event)
        case Resumed():
            going_on = replace(state, paused=None, cancelled=None)
            return replace(going_on, given_up={}, budget=event.budget)
        case Retuned():
            in_force = replace(state, budget=event.budget, stop=event.stop)
            return replace(in_force, priority=event.priority, window=event.window)
        case Cancelled():
            return replace(state, cancelled=event)
        case Finished():
            return replace(state, finished=event)


def _in_step(state: RunState, step: int, **parts: Event) -> RunState:
    if state.step is None or state.step.started.step != step:
        raise StateCorrupt(f"an event of step {step} stands outside that step")
    changed = replace(state.step, **parts)  # type: ignore[arg-type]  # names match their events
    return replace(state, steps=(*state.steps[:-1], changed))


def _at_epoch_end(
    state: RunState, event: Proposed | Skipped | Gated | MetaLearned, **parts: Event
) -> RunState:
    epoch, end = next(reversed(state.epoch_ends.items()), (0, None))
    belongs = event.epoch == epoch if event.type == "meta_learned" else _is_last(state, event.step)
    if end is None or state.step is not None or not belongs:
        raise StateCorrupt("an event of an epoch's end stands outside of one")
    changed = replace(end, **parts)  # type: ignore[arg-type]  # names match their events
    return replace(state, epoch_ends={**state.epoch_ends, epoch: changed})


def _of_source(state: RunState, event: Proposed | Skipped | Gated, **parts: Event) -> RunState:
    if event.source == "step":
        return _in_step(state, event.step, **parts)
    return _at_epoch_end(state, event, **parts)


def _is_last(state: RunState, step: int) -> bool:
    return bool(state.steps) and state.steps[-1].started.step == step


def _gated(state: RunState, event: Gated) -> RunState:
    """Take a verdict over. Nothing else changes `current`, and only an accepting one `best`."""
    state = _of_source(state, event, gated=event)
    if event.verdict == "indecisive":
        return state
    if not event.early:  # a part of a measurement is no measurement
        key = (event.skill, event.measurement.split)
        state = replace(state, measured={**state.measured, key: event.measurement})
    if not event.adopted:
        return replace(state, rejected=state.rejected | {event.skill})
    if event.early:
        raise StateCorrupt(f"document {event.skill[:16]!r} was adopted without a whole measurement")
    state = replace(state, current=event.skill)
    if event.new_best and event.verdict == "accept":
        state = replace(state, best=event.skill, best_step=event.step)
    return state
