"""What a person sees when a command that drove a run ends."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from producer.summary import EpochEnds, Summary
from producer.view import numbers
from producer.view.diff import documents_diff
from producer.view.printable import one_line, safe
from producer.view.scores import noise_lines, score_table, tag_table
from skillopt.domain.documents import Documents

_STATE_STYLES = {
    "finished": "bold green",
    "paused": "bold yellow",
    "running": "bold yellow",
    "cancelled": "bold red",
}
_INTERVAL_NOTE = "Brackets hold the 95 % interval of the hard score; n counts scored tasks."
_SEVERAL_SAMPLES = " Each has several samples, which count for as much as tasks differ."


def final_report(
    summary: Summary,
    *,
    initial: Documents | None = None,
    best: Documents | None = None,
    new: bool = False,
) -> list[RenderableType]:
    """Give the end of a run: state and reason, scores, work done, change, where it all is.

    Without `initial` and `best` no difference is shown. `new`: the command was told to start a
    further run, so that giving it again would not continue this one.
    """
    parts: list[RenderableType] = [Text(), _headline(summary), Text(), score_table(summary)]
    parts.append(Text(_interval_note(summary), style="dim"))
    if tags := tag_table(summary):
        parts += [Text(), tags]
    if summary.mode == "train":
        parts += [Text(line) for line in step_lines(summary)]
    parts += [Text(line) for line in (*noise_lines(summary.noise), *work_lines(summary))]
    parts += [safe(f"warning: {one_line(warning, 500)}", "yellow") for warning in summary.warnings]
    if initial is not None and best is not None and summary.mode == "train":
        parts += [
            Text(),
            Text("Change of the document", style="bold"),
            documents_diff(initial, best),
        ]
    parts += [Text(), safe(f"Run folder: {summary.run_dir}", "bold")]
    if summary.state != "finished":
        again = "The same command without --new" if new else "The same command"
        parts.append(Text(f"{again} continues this run.", style="cyan"))
    return parts


def work_lines(summary: Summary) -> list[str]:
    """Say what the run took: calls, cache hits, tokens, money."""
    calls, tokens = summary.calls, summary.tokens
    lines = []
    if summary.new_calls == 0:
        lines.append(f"0 model calls: {_why_no_calls(summary)}.")
    lines.append(
        f"Calls: {numbers.count(calls.total)} (target {numbers.count(calls.target)}, optimizer "
        f"{numbers.count(calls.optimizer)}, judge {numbers.count(calls.judge)}), "
        f"{numbers.plural(summary.cache_hits, 'cache hit')}"
    )
    if summary.new_calls:
        lines[-1] += f"; by this command {numbers.count(summary.new_calls)}"
    estimated = f" ({numbers.count(tokens.estimated)} estimated)" if tokens.estimated else ""
    lines.append(
        f"Tokens: {numbers.count(tokens.input)} in, {numbers.count(tokens.output)} out{estimated}; "
        f"cost: {numbers.dollars(summary.cost_usd)}; time: {numbers.duration(summary.seconds)}"
    )
    if summary.repaid_calls:
        lines.append(f"Paid again after a loss: {numbers.plural(summary.repaid_calls, 'call')}")
    if summary.unconfirmed_calls:
        calls_words = numbers.plural(summary.unconfirmed_calls, "call")
        more = f"{numbers.count(summary.unconfirmed_tokens)} tokens"
        if summary.unconfirmed_usd is not None:
            more += f" and {numbers.dollars(summary.unconfirmed_usd)}"
        lines.append(
            f"Unconfirmed: {calls_words} without an answer; budgets count up to {more} for them"
        )
    return lines


def _why_no_calls(summary: Summary) -> str:
    if summary.state != "finished":
        return "this command made none"
    if summary.calls.total == 0:
        return "every result came from the cache"
    return "this run was finished before"


def _headline(summary: Summary) -> Text:
    headline = safe(summary.run, "bold")
    headline.append(f" {summary.state}", style=_STATE_STYLES[summary.state])
    if summary.reason:
        headline.append(f": {one_line(summary.reason, 500)}", style="default")
    return headline


def step_lines(summary: Summary) -> list[str]:
    """Count the steps, and the slow updates if there were any, by what came of them."""
    lines = [f"Steps: {summary.steps} ({_counts(summary)})"]
    ends = summary.epoch_ends
    updates = ends.accepted + ends.rejected + ends.underpowered + ends.skipped
    if updates:
        lines.append(f"Slow updates: {updates} ({_counts(ends)})")
    if ends.meta_learned:
        lines.append(f"Meta skill: learnt {numbers.plural(ends.meta_learned, 'time')}")
    return lines


def _counts(of: Summary | EpochEnds) -> str:
    words = [f"{of.accepted} accepted", f"{of.rejected} rejected"]
    words += [f"{of.underpowered} underpowered"] if of.underpowered else []
    words.append(f"{of.skipped} skipped")
    kept = f"; {of.forced} of them kept by force" if of.forced else ""
    return ", ".join(words) + kept


def _interval_note(summary: Summary) -> str:
    documents = (summary.initial, summary.best, summary.final)
    scores = [score for one in documents for score in (one.val, one.test) if score]
    scores += [summary.evaluated.score] if summary.evaluated else []
    scores += summary.noise.arms if summary.noise else ()
    several = any(score.interval_method == "wilson_effective_n" for score in scores)
    return _INTERVAL_NOTE + (_SEVERAL_SAMPLES if several else "")
