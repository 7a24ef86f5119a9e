"""A step whose groups proposed changes; merge calls are answered by the test."""

from __future__ import annotations

import json
from typing import Any

from loop_values import edit
from stage_values import Bench, messages_of

from skillopt.domain.edits import Edit
from skillopt.domain.events import Merged
from skillopt.domain.reports import GroupReport
from skillopt.loop.aggregate import aggregate
from skillopt.loop.decision import StageResult
from skillopt.loop.jobs import WantedJob


def rule(text: str, *support: str, kind: str = "failure", **more: Any) -> Edit:
    return edit(text, source_type=kind, support=support, **more)


class Merge(Bench):
    """A step whose groups proposed changes."""

    def __init__(self, *groups: GroupReport, mode: str = "patch", **more: Any) -> None:
        optimizer = {"skill_update_mode": mode, **more.pop("optimizer", {})}
        super().__init__(optimizer=optimizer, **more)
        self.reflected(*groups)

    def found(self) -> StageResult[Merged]:
        return self.look(aggregate)

    def answer(self, job: WantedJob, *rows: dict[str, Any], key: str = "edits") -> None:
        self.facts.reply(job.id, json.dumps({"reasoning": "why", key: list(rows)}))

    def answer_all_as_asked(self) -> Merged:
        while wanted := self.found().wanted:
            for job in wanted:
                kept = ("op", "target", "content")
                self.answer(job, *[{name: row[name] for name in kept} for row in shown(job)])
        return self.outcome()

    def outcome(self) -> Merged:
        event = self.found().event
        assert event is not None
        return event


def shown(job: WantedJob, noun: str = "edits") -> list[dict[str, Any]]:
    user = messages_of(job)[1].content
    return json.loads(user.split(f"## Proposed {noun}\n\n")[1])


def append(content: str) -> dict[str, str]:
    return {"op": "append", "target": "", "content": content}


def contents(merged: Merged) -> list[str]:
    return [change.content for change in merged.edits if isinstance(change, Edit)]
