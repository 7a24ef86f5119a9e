"""Whole runs put back and taken away, in Redis."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from skillopt.domain.run import ENDED
from skillopt.state import keys
from skillopt.state.ports import Lead, LogEntry, Paid, RemovedRun
from skillopt.state.redis.scripts import Argument, Scripts, chunks, fenced


class RedisArchive:
    """Scripts enter, restore, pin and remove."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def put_ledger(self, run: str, lines: Mapping[str, str]) -> None:
        for chunk in chunks(list(lines.items())):
            pairs = [part for pair in chunk for part in pair]
            self._scripts.call("enter", (keys.ledger(run),), pairs)

    def put_run(
        self,
        run: str,
        *,
        meta: Mapping[str, str],
        entries: Sequence[LogEntry],
        status: str,
        open: bool,
        paid: Paid,
    ) -> bool:
        meter = _meter(paid)
        created = round(entries[0].at * 1_000_000) if entries else 0
        arguments: list[Argument] = [
            run, json.dumps(dict(meta), ensure_ascii=False), status, int(open), created, len(meter),
        ]  # fmt: skip
        for name, value in meter.items():
            arguments += (name, value)
        for entry in entries:
            arguments += (round(entry.at * 1000), entry.event)
        names = (keys.run(run), keys.log(run), keys.RUNS, keys.OPEN_RUNS, keys.meter(run))
        return bool(self._scripts.call("restore", names, arguments))

    def pin_plan(self, lead: Lead, plan: str) -> None:
        names = (keys.run_lease(lead.run), keys.run(lead.run))
        if self._scripts.call("pin", names, (lead.owner, lead.fence, plan)) != b"ok":
            raise fenced(lead)

    def remove(self, run: str) -> RemovedRun | None:
        others = (
            keys.log, keys.ledger, keys.meter, keys.reservations, keys.estimates, keys.view,
            keys.requests, keys.doorbell, keys.notices,
        )  # fmt: skip
        names = [keys.run(run), keys.run_lease(run), keys.RUNS, keys.OPEN_RUNS]
        names += [name(run) for name in others]
        removed, size = self._scripts.call("remove", names, (run, *sorted(ENDED)))
        return None if removed < 0 else RemovedRun(keys=removed, bytes=size)


def _meter(paid: Paid) -> dict[str, int]:
    fields = {f"calls_{role}": calls for role, calls in paid.calls.items()}
    return {
        **fields,
        "input_tokens": paid.input_tokens,
        "output_tokens": paid.output_tokens,
        "micro_usd": paid.micro_usd,
        "estimated_tokens": paid.estimated_tokens,
    }
