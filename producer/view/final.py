"""What a person sees when a command that drove a run ends."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from producer.summary import Summary
from producer.view import numbers
from producer.view.diff import skill_diff
from producer.view.printable import one_line, safe
from producer.view.scores import score_table

_STATE_STYLES = {"finished": "bold green", "paused": "bold yellow", "running": "bold yellow"}
_INTERVAL_NOTE = "Brackets hold the 95 % interval of the hard score; n counts scored tasks."


def final_report(
    summary: Summary, *, initial: str | None = None, best: str | None = None
) -> list[RenderableType]:
    """Give the end of a run: state and reason, scores, work done, change, where it all is.

    `initial` and `best` are the documents' texts; without them no difference is shown.
    """
    parts: list[RenderableType] = [Text(), _headline(summary), Text(), score_table(summary)]
    parts.append(Text(_INTERVAL_NOTE, style="dim"))
    if summary.mode == "train":
        parts.append(Text(_step_words(summary)))
    parts += [Text(line) for line in work_lines(summary)]
    parts += [safe(f"warning: {one_line(warning, 500)}", "yellow") for warning in summary.warnings]
    if initial is not None and best is not None and summary.mode == "train":
        parts += [Text(), Text("Change of the document", style="bold"), skill_diff(initial, best)]
    parts += [Text(), safe(f"Run folder: {summary.run_dir}", "bold")]
    if summary.state != "finished":
        parts.append(Text("The same command continues this run.", style="cyan"))
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
    lines.append(
        f"Tokens: {numbers.count(tokens.input)} in, {numbers.count(tokens.output)} out; "
        f"cost: {numbers.dollars(summary.cost_usd)}; time: {numbers.duration(summary.seconds)}"
    )
    if summary.repaid_calls:
        lines.append(f"Paid again after a loss: {numbers.plural(summary.repaid_calls, 'call')}")
    if summary.unconfirmed_calls:
        calls_words = numbers.plural(summary.unconfirmed_calls, "call")
        lines.append(f"Unconfirmed: {calls_words} counted at their estimate")
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


def _step_words(summary: Summary) -> str:
    return (
        f"Steps: {summary.steps} ({summary.accepted} accepted, {summary.rejected} rejected, "
        f"{summary.skipped} skipped)"
    )
