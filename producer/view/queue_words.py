"""What a run of the queue is, has spent and still needs, in a few words each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from producer.queue.models import BackendShare, RunRow, RunStatus
from producer.view import numbers
from producer.view.stages import stage_words
from skillopt.domain.usage import ROLES

#: How a phase is coloured.
PHASE_STYLES = {
    "queued": "cyan",
    "running": "green",
    "paused": "yellow",
    "finished": "bold",
    "cancelled": "dim",
}
#: Phases in which work is still being done.
OPEN_PHASES = frozenset({"queued", "running"})


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def owner_words(row: RunRow) -> str:
    owner = row.owner or "nobody"
    return f"{owner} (team {row.team})" if row.team else owner


def label_words(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))


def step_words(row: RunRow) -> str:
    """Say how many steps are begun, of how many; "" for a run that only measures."""
    return "" if row.steps_planned is None else f"{row.step} of {row.steps_planned}"


def score_words(row: RunRow) -> str:
    """Say where the score began and how good the best document is."""
    if row.initial_score is None:
        return numbers.UNKNOWN
    if row.mode != "train":
        return numbers.score(row.initial_score)
    return f"{numbers.score(row.initial_score)} to {numbers.score(row.best_score)}"


def left_words(row: RunRow) -> str:
    """Say how long a run will still take; "" unless it goes on."""
    if row.phase not in OPEN_PHASES:
        return ""
    return "not known yet" if row.eta_s is None else f"about {numbers.duration(row.eta_s)}"


def cost_words(row: RunRow) -> str:
    """Say what a run has cost, and will have when it ends if that is more."""
    usd, projected = row.spent.usd, row.projected_usd
    cost = numbers.dollars(usd)
    if row.phase in OPEN_PHASES and usd is not None and projected is not None and projected > usd:
        cost += f", about {numbers.dollars(projected)} at its end"
    return cost


def work_words(status: RunStatus) -> str:
    """Say in one line what a run has in flight, has called and has paid."""
    row = status.row
    hits = numbers.plural(status.cache_hits, "cache hit")
    if status.cache_hit_rate is not None:
        hits += f" ({numbers.share(status.cache_hit_rate)})"
    return ", ".join(
        [
            *([f"{status.in_flight} in flight"] if row.phase in OPEN_PHASES else []),
            numbers.plural(row.spent.calls, "call"),
            hits,
            numbers.plural(row.spent.tokens, "token"),
            f"cost {cost_words(row)}",
        ]
    )


def role_words(row: RunRow) -> str:
    calls, usd = row.spent.calls_by_role, row.spent.usd_by_role or {}
    words = []
    for role in ROLES:
        if calls.get(role):
            cost = f" ({numbers.dollars(usd[role])})" if role in usd else ""
            words.append(f"{role} {calls[role]:,}{cost}")
    return ", ".join(words) or "none yet"


def share_words(share: BackendShare) -> str:
    return (
        f"{share.backend}: {share.in_flight} in flight of {share.window} allowed, "
        f"{share.wanted} wanted"
    )


def standing_words(status: RunStatus) -> str:
    """Say what a run does, why it waits or how it ended; without figures that a bar shows."""
    row = status.row
    if row.phase in OPEN_PHASES:
        stage = stage_words(status.stage)
        bare = row.words.removeprefix(stage)
        told = bare.removeprefix(f" ({status.stage_done} of {status.stage_total})")
        return f"{stage}{told}" if bare != row.words else row.words
    return row.words if row.words == row.phase else f"{row.phase}: {row.words}"


def limit_words(budget: Mapping[str, float | None]) -> str:
    """Say what a run may spend."""
    words = []
    for name, limit in budget.items():
        if limit is not None:
            amount = numbers.dollars(limit) if name == "max_usd" else f"{limit:,g}"
            words.append(f"{name} {amount}")
    return ", ".join(words) or "no limit"
