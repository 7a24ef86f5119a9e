"""What there is to tell of a run: entries of its log, and limits that are nearly used up."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from producer.queue.followed import FollowedRun
from producer.queue.rows import money_of
from producer.run_meta import labels_of, owner_of, team_of
from producer.view import numbers
from producer.view.words import event_words
from producer.webhook import News
from skillopt.domain.events import Finished, decode_event
from skillopt.domain.notices import NoticeKind
from skillopt.domain.run import RunState
from skillopt.domain.steering_events import Cancelled, GaveUp, Paused
from skillopt.domain.usage import MICRO
from skillopt.loop.gate import score_of
from skillopt.state.ports import LogEntry, Spend

#: The share of a limit at which people are told.
NEARLY = 0.8


@dataclass(frozen=True)
class NewsDesk:
    """Writes the news of one run as it stands now."""

    known: FollowedRun
    spend: Spend

    def of_entry(self, entry: LogEntry) -> News | None:
        """Give what an entry of the log has to tell; None if nothing."""
        event = decode_event(entry.event)
        kind: NoticeKind
        match event:
            case Finished() | Cancelled():
                kind = "finished"
            case Paused():
                kind = "paused"
            case GaveUp():
                kind = "dead"
            case _:
                return None
        return self._news(f"{self.known.run}:{entry.seq}", kind, entry.at, event_words(event))

    def of_budget(self, now: float, told: Collection[str]) -> Iterator[tuple[str, News]]:
        """Give the limits that are nearly used up, each with the mark under which it is told."""
        for name, used, limit in self._limits(now):
            mark = f"{name}={limit:g}"
            if used >= NEARLY * limit and mark not in told:
                words = f"{numbers.share(used / limit)} of budget.{name} {limit:g} is used"
                yield mark, self._news(f"{self.known.run}:{mark}", "budget", now, words)

    def _limits(self, now: float) -> Iterator[tuple[str, float, float]]:
        budget, spend = self.known.state.budget, self.spend
        used = {
            "max_calls": float(sum(spend.calls.values())),
            "max_tokens": float(
                spend.input_tokens + spend.output_tokens + spend.unconfirmed.tokens
            ),
            "max_usd": (spend.micro_usd + spend.unconfirmed.micro_usd) / MICRO,
            "max_minutes": self.known.active.until(now) / 60,
        }
        for name, amount in used.items():
            limit = getattr(budget, name)
            if limit:
                yield name, amount, float(limit)

    def _news(self, identity: str, kind: NoticeKind, at: float, words: str) -> News:
        known = self.known
        meta = known.info.meta
        return News(
            id=identity,
            kind=kind,
            at=at,
            run=known.run,
            name=known.plan.name,
            owner=owner_of(meta),
            team=team_of(meta),
            labels=labels_of(meta),
            phase=known.state.status,
            words=words,
            initial_score=_val(known.state, known.plan.initial_key),
            best_score=_val(known.state, known.state.best),
            spent=money_of(self.spend),
        )


def _val(state: RunState, document: str) -> float | None:
    measured = state.measured.get((document, "val"))
    return None if measured is None else score_of(measured, state.plan.settings.evaluation)
