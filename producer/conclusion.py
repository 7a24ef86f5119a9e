"""The summary of a run that nobody waits for: made from the state, by whoever let it go."""

from __future__ import annotations

from producer.facts import LedgerFacts
from producer.minutes import active_seconds
from producer.run_folder import RunFolder
from producer.stored_log import folded
from producer.summary import Summary, summarize
from skillopt.domain.plan import RunPlan
from skillopt.state.ports import State


def summary_of(ports: State, plan: RunPlan, folder: RunFolder) -> Summary:
    """Sum a run up as it is now; `folder` is only named. Money counts as unknown as soon as one
    call had no price.
    """
    run = plan.run_id
    entries = ports.runs.log(run)
    info = ports.runs.info(run)
    facts = LedgerFacts(run, ports.runs.ledger(run), ports.results, ports.blobs)
    spend = ports.budgets.spend(run)
    return summarize(
        folded(plan, entries),
        skill=info.meta.get("skill", "") if info else "",
        spend=spend,
        cache_hits=facts.cache_hits,
        seconds=round(active_seconds(entries), 3),
        run_dir=str(folder.path),
        priced=spend.unpriced_calls == 0,
    )


def conclude(ports: State, plan: RunPlan, folder: RunFolder) -> None:
    """Write the summary of a run that has come to rest into its folder."""
    folder.write_summary(summary_of(ports, plan, folder))
