"""One line for each run: what it is, how it stands, what it has spent and will have."""

from __future__ import annotations

from collections.abc import Iterable

from producer.queue.estimates import work_of
from producer.queue.followed import FollowedRun
from producer.queue.models import Money, Phase, RunRow
from producer.queue.words import Surroundings, phase_of, words_of
from producer.run_meta import labels_of, owner_of, priority_of, team_of
from skillopt.domain.item import SplitName
from skillopt.domain.run import ENDED, RunState
from skillopt.domain.usage import MICRO
from skillopt.domain.view import RunView
from skillopt.loop.gate import score_of
from skillopt.loop.sample import total_steps
from skillopt.state.ports import RunInfo, Spend

OPEN_PHASES: frozenset[Phase] = frozenset({"queued", "running"})


def row_of(
    known: FollowedRun,
    *,
    view: RunView,
    spend: Spend,
    around: Surroundings,
    position: int | None = None,
) -> RunRow:
    """Give one run's line."""
    state, phase = known.state, phase_of(known, around)
    goes_on = phase in OPEN_PHASES and known.run in around.leaders
    active_s = known.active.until(around.now) if goes_on else known.active.seconds
    work = work_of(state, view)
    spent = money_of(spend)
    planned = total_steps(known.plan) if known.plan.mode == "train" else None
    usd = None if spent.usd is None else work.scaled(spent.usd)
    calls = work.scaled(spent.calls) if spent.calls or not work.left else None
    return RunRow(
        **_identity(known.info, known.plan.mode, known.plan.owner, known.plan.team),
        priority=state.priority,
        phase=phase,
        words=words_of(known, view, phase, around),
        position=position if phase in OPEN_PHASES else None,
        created_at=known.info.created_at,
        ended_at=known.rested_at if state.status in ENDED else None,
        active_s=active_s,
        eta_s=work.left_of(active_s) if goes_on else None,
        step=len(state.steps),
        steps_planned=planned,
        spent=spent,
        projected_usd=usd,
        projected_calls=None if calls is None else round(calls),
        initial_score=_score(state, known.plan.initial_key),
        current_score=_score(state, state.current),
        best_score=_score(state, state.best),
        dead_jobs=len(state.given_up),
    )


def unreadable_row(info: RunInfo, spend: Spend, problem: str) -> RunRow:
    """Give the line of a run whose plan or log this version cannot read: what its entry tells."""
    resting: tuple[Phase, ...] = ("finished", "cancelled", "paused")
    return RunRow(
        **_identity(info, "", "", ""),
        priority=priority_of(info.meta),
        phase=next((phase for phase in resting if phase == info.status), "running"),
        words=problem,
        position=None,
        created_at=info.created_at,
        ended_at=None,
        active_s=0.0,
        eta_s=None,
        step=0,
        steps_planned=None,
        spent=money_of(spend),
        projected_usd=None,
        projected_calls=None,
        initial_score=None,
        current_score=None,
        best_score=None,
        dead_jobs=0,
    )


def _identity(info: RunInfo, mode: str, owner: str, team: str) -> dict[str, object]:
    return {
        "run": info.run,
        "name": info.meta.get("name", info.run),
        "mode": mode,
        "owner": owner_of(info.meta) or owner,
        "team": team_of(info.meta) or team,
        "labels": labels_of(info.meta),
    }


def money_of(spend: Spend) -> Money:
    """Give what was spent; money is unknown as soon as one call had no price."""
    priced = spend.unpriced_calls == 0
    roles = {role: amount / MICRO for role, amount in spend.micro_usd_by_role.items()}
    by_role_known = sum(spend.micro_usd_by_role.values()) == spend.micro_usd
    return Money(
        calls=sum(spend.calls.values()),
        calls_by_role=dict(spend.calls),
        tokens=spend.input_tokens + spend.output_tokens,
        usd=spend.micro_usd / MICRO if priced else None,
        usd_by_role=roles if priced and by_role_known else None,
        unconfirmed_calls=spend.unconfirmed.calls,
    )


def positions(open_runs: Iterable[FollowedRun]) -> dict[str, int]:
    """Give each run's place among those that share a backend with it, the oldest first."""
    placed: dict[str, int] = {}
    before: list[frozenset[str]] = []
    for known in sorted(open_runs, key=lambda one: (one.info.created_at, one.run)):
        used = frozenset(use.backend for use in known.plan.backends.values())
        placed[known.run] = 1 + sum(not used.isdisjoint(other) for other in before)
        before.append(used)
    return placed


def _score(state: RunState, document: str) -> float | None:
    split: SplitName = (state.plan.eval_split or "test") if state.plan.mode == "eval" else "val"
    measurement = state.measured.get((document, split))
    if measurement is None and state.arms:
        measurement = state.arms[0]
    return None if measurement is None else score_of(measurement, state.plan.settings.evaluation)
