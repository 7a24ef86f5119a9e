"""What must hold of a fleet that was disturbed, whatever was done to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from key_leaks import leaked_keys

from harness.faults import Injected
from harness.fleet import Fleet
from harness.work import PRICE, Run, Work, decisions, documents_in
from harness.written import Written
from skillopt.domain.events import decode_event
from skillopt.domain.usage import Usage, cost_micro_usd
from skillopt.state.ports import Spend

#: How long the last processes may take to be gone after the end.
GONE_S = 15.0


@dataclass(frozen=True)
class Bills:
    """What the runs say they spent, and what the provider bills."""

    spends: dict[str, Spend]
    shared: dict[str, Spend]
    charged: dict[str, int]


def settle(fleet: Fleet, work: Work) -> Bills:
    """Read every meter, once what dead workers had reserved has lapsed."""
    deadline = time.monotonic() + fleet.timing.reservation_s + 1
    while True:
        spends = {run.id: fleet.state.budgets.spend(run.id) for run in work.runs}
        shared = {str(one.scope): one.spend for one in fleet.state.budgets.shared()}
        held = any(spend.reserved.calls for spend in (*spends.values(), *shared.values()))
        if not held or time.monotonic() > deadline:
            return Bills(spends, shared, fleet.charged())
        time.sleep(0.1)


def same_results(fleet: Fleet, run: Run, scratch: Path) -> list[str]:
    """Compare a run with an undisturbed one: its decisions, and the bytes it left."""
    problems = []
    entries = fleet.state.runs.log(run.id)
    found = decisions([decode_event(entry.event) for entry in entries])
    # A run's first event is its creation, whose plan is stored under another name in memory.
    pairs = list(zip_longest(found, run.events()))[1:]
    differing = [number for number, (one, other) in enumerate(pairs, start=2) if one != other]
    if differing:
        types = [event.type for event in found]
        problems.append(f"run {run.id} decided otherwise from event {differing[0]} on: {types}")
    left, wanted = documents_in(fleet.run_dir(run)), run.documents(scratch)
    others = [name for name in left.keys() | wanted.keys() if left.get(name) != wanted.get(name)]
    if others:
        problems.append(f"run {run.id} left other bytes in {', '.join(sorted(others))}")
    return problems


def same_ledgers(fleet: Fleet, work: Work) -> list[str]:
    """Compare what runs went by with what is stored: of each job there is one result."""
    problems = []
    for run in work.runs:
        ledger = fleet.state.runs.ledger(run.id)
        stored = fleet.state.results.get(list(ledger))
        others = [
            job for job, line in ledger.items() if job not in stored or stored[job].line != line
        ]
        if others:
            problems.append(f"run {run.id} went by {len(others)} results that are not the stored")
    return problems


def judge(work: Work, written: Written, injected: Sequence[Injected], bills: Bills) -> list[str]:
    """Judge what was written and what was paid."""
    return [
        *_written_once(work, written),
        *_few_repeated(written, injected, bills),
        *_paid(bills),
    ]


def _written_once(work: Work, written: Written) -> list[str]:
    problems = []
    twice = {job[:16]: count for job, count in written.commits.items() if count != 1}
    if twice:
        problems.append(f"jobs committed more than once: {twice}")
    # A run may decide before it has every result of an undisturbed one, and withdraws the rest.
    if missing := [job for job, runs in written.waiting.items() if runs]:
        problems.append(f"{len(missing)} jobs are waited for and were never committed")
    if others := written.commits.keys() - work.jobs:
        problems.append(f"{len(others)} jobs were committed that an undisturbed run does not have")
    if written.overlaps:
        problems.append(f"jobs taken up while another had them: {dict(written.overlaps)}")
    for run in work.runs:
        if written.finishes[run.id] != 1:
            problems.append(f"run {run.id} has {written.finishes[run.id]} finish events")
    return problems


def _few_repeated(written: Written, injected: Sequence[Injected], bills: Bills) -> list[str]:
    problems = []
    allowed = sum(one.slots for one in injected)
    if written.needless > allowed:
        problems.append(f"{written.needless} executions repeated; the faults explain {allowed}")
    counted = sum(spend.executions for spend in bills.spends.values())
    if counted != written.claims.total():
        problems.append(f"{counted} executions counted, {written.claims.total()} made")
    return problems


def _paid(bills: Bills) -> list[str]:
    problems = []
    for name, spend in (*bills.spends.items(), *bills.shared.items()):
        if spend.reserved.calls or spend.reserved.tokens or spend.reserved.micro_usd:
            problems.append(f"{name} has something reserved at the end: {spend.reserved}")
    for name, spends in (
        ("all runs", tuple(bills.spends.values())),
        *((name, (spend,)) for name, spend in bills.shared.items()),
    ):
        counted = {
            "calls": sum(sum(spend.calls.values()) for spend in spends),
            "tokens": sum(_tokens(spend) for spend in spends),
            "micro_usd": sum(spend.micro_usd + spend.unconfirmed.micro_usd for spend in spends),
        }
        problems += [
            f"{name}: {counted[what]} {what} counted, {billed} billed"
            for what, billed in _billed(bills).items()
            if counted[what] < billed
        ]
    return problems


def _tokens(spend: Spend) -> int:
    return spend.input_tokens + spend.output_tokens + spend.unconfirmed.tokens


def _billed(bills: Bills) -> dict[str, int]:
    charged = bills.charged
    used = Usage(charged["prompt"], charged["completion"])
    return {
        "calls": charged["calls"],
        "tokens": used.total_tokens,
        "micro_usd": cost_micro_usd(used, PRICE),
    }


def no_key_stays(fleet: Fleet) -> list[str]:
    """Look for keys that nothing would ever remove."""
    leaks = leaked_keys(fleet.server.url)
    return [f"{len(leaks)} keys without a TTL: {leaks[:5]}"] if leaks else []


def orphans(fleet: Fleet) -> list[str]:
    """Wait for the end of every process of the fleet; names those that stay."""
    deadline = time.monotonic() + GONE_S
    while left := fleet.processes():
        if time.monotonic() > deadline:
            lines = [Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ") for pid in left]
            return [f"processes left behind: {[line.decode()[:120] for line in lines]}"]
        time.sleep(0.05)
    return []
