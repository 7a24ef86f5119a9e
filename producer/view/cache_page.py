"""The cache, as it is shown: what it holds, a document's results, why an attempt was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.caching.clearing import Matching
from producer.caching.explaining import Story
from producer.caching.listing import CachedAttempt, DocumentResults
from producer.caching.stats import CacheStats
from producer.view import numbers
from producer.view.printable import one_line, safe
from skillopt.domain.fingerprint import short
from skillopt.domain.usage import MICRO

_KINDS = {"rollout": "attempts", "judge": "judgements", "optimize": "optimizer calls"}
_NAMED_REASONS = 3


def stats_page(stats: CacheStats) -> list[RenderableType]:
    """Give the numbers, then the documents with most results."""
    table = Table(box=None, pad_edge=False)
    for name in ("stored", "number", "bytes"):
        table.add_column(name, justify="left" if name == "stored" else "right")
    for kind, held in stats.results.items():
        table.add_row(_KINDS[kind], numbers.count(held.count), size(held.bytes))
    table.add_row("texts (blobs)", numbers.count(stats.blobs.count), size(stats.blobs.bytes))
    return [table, Text(), *(safe(line) for line in _stats_lines(stats)), *_top(stats)]


def _stats_lines(stats: CacheStats) -> Iterator[str]:
    worth, reuse = stats.worth, stats.reuse
    tokens = numbers.count(worth.input_tokens + worth.output_tokens)
    cost = numbers.dollars(worth.cost_micro_usd / MICRO)
    yield f"making it all again: {numbers.plural(worth.calls, 'call')}, {tokens} tokens, {cost}"
    replies = numbers.plural(reuse.replies, "reply", "replies")
    newest = numbers.plural(reuse.runs, "run")
    yield f"reused: {numbers.count(reuse.reused)} of {replies} in the newest {newest}"
    if stats.first_expiry_s is not None and stats.last_expiry_s is not None:
        first, last = time_span(stats.first_expiry_s), time_span(stats.last_expiry_s)
        yield f"if nobody uses them, results expire in {first} to {last}"


def _top(stats: CacheStats) -> Iterator[RenderableType]:
    if not stats.top:
        return
    yield Text()
    yield Text(numbers.plural(stats.documents, "document") + " with results", style="bold")
    table = Table(box=None, pad_edge=False)
    table.add_column("document")
    table.add_column("results", justify="right")
    table.add_column("mostly paid by run", overflow="fold")
    for one in stats.top:
        table.add_row(short(one.skill), numbers.count(one.results), safe(one.run))
    yield table


def document_page(results: DocumentResults, *, rows: int) -> list[RenderableType]:
    """Give a document's results, at most `rows` of them."""
    what = f" ({one_line(results.what)})" if results.what else ""
    count = numbers.plural(len(results.attempts), "result")
    title = safe(f"document {short(results.skill)}{what}: {count}", "bold")
    if not results.attempts:
        return [title]
    table = Table(box=None, pad_edge=False)
    for name in ("task", "sample", "backend", "outcome", "hard", "soft", "age", "expires in"):
        table.add_column(name, overflow="fold")
    for name in ("calls", "tokens", "cost"):
        table.add_column(name, justify="right")
    table.add_column("paid by, worker", overflow="fold", ratio=1)
    for attempt in results.attempts[:rows]:
        table.add_row(*_cells(attempt))
    rest = len(results.attempts) - rows
    more = [safe(f"and {rest:,} more; --rows {len(results.attempts)} shows all", "dim")]
    return [title, table, *(more if rest > 0 else [])]


def _cells(attempt: CachedAttempt) -> list[Text]:
    receipt = attempt.receipt
    task = attempt.task or (f"prompt {short(attempt.prompt)}" if attempt.prompt else "unknown")
    backend = attempt.backend or (short(attempt.fingerprint) if attempt.fingerprint else "unknown")
    sample = numbers.UNKNOWN if attempt.sample is None else str(attempt.sample)
    age = numbers.UNKNOWN if attempt.age_s is None else time_span(attempt.age_s)
    cells = (
        *(task, sample, backend, attempt.outcome),
        *(numbers.score(attempt.hard), numbers.score(attempt.soft)),
        *(age, time_span(attempt.expires_in_s)),
        numbers.count(receipt.calls),
        numbers.count(receipt.input_tokens + receipt.output_tokens),
        numbers.dollars(receipt.cost_micro_usd / MICRO),
        ", ".join(filter(None, (attempt.payer or "unknown", receipt.worker, _alone(attempt)))),
    )
    return [safe(one_line(cell)) for cell in cells]


def _alone(attempt: CachedAttempt) -> str:
    return "for that run alone" if attempt.private_to else ""


def story_page(story: Story) -> list[RenderableType]:
    """Give one attempt in full: where it was needed, what happened, and its spec field by field."""
    attempt = story.attempt
    title = f"{attempt.stage} / {attempt.task} / sample {attempt.sample}: {story.verdict}"
    fields = attempt.spec.model_dump(mode="json", exclude_none=True)
    return [
        safe(one_line(title), "bold"),
        *(safe(sentence) for sentence in story.sentences),
        safe(f"  job: {attempt.spec.id}", "dim"),
        *(safe(f"  {name}: {value}", "dim") for name, value in fields.items()),
        Text(),
    ]


def story_object(story: Story) -> dict[str, Any]:
    """Give a story as a program reads it."""
    attempt = story.attempt
    return {
        "stage": attempt.stage,
        "step": attempt.step,
        "task": attempt.task,
        "sample": attempt.sample,
        "job": attempt.spec.id,
        "spec": attempt.spec.model_dump(mode="json", exclude_none=True),
        "verdict": story.verdict,
        "payer": attempt.line.payer if attempt.line else None,
        "reason": story.reason,
        "sentences": list(story.sentences),
        "receipt": story.receipt.model_dump(mode="json") if story.receipt else None,
        "nearest": [
            {
                "job": neighbour.job,
                "payer": neighbour.payer,
                "differences": {one.field: one.words for one in neighbour.differences},
            }
            for neighbour in story.nearest
        ],
    }


def stories_page(run: str, stories: Sequence[Story]) -> list[RenderableType]:
    """Give the attempts of a run, stage by stage: how many were reused, and why others were not."""
    reused = sum(story.verdict == "reused" for story in stories)
    made = sum(story.verdict == "made" for story in stories)
    title = f"{run}: {numbers.plural(len(stories), 'attempt')}, {reused:,} reused, {made:,} made"
    table = Table(pad_edge=False)
    for name in ("stage", "attempts", "reused", "made"):
        table.add_column(name, justify="left" if name == "stage" else "right", overflow="fold")
    table.add_column("why they were made", overflow="fold", ratio=1)
    for stage in dict.fromkeys(story.attempt.stage for story in stories):
        own = [story for story in stories if story.attempt.stage == stage]
        verdicts = Counter(story.verdict for story in own)
        counts = (len(own), verdicts["reused"], verdicts["made"])
        table.add_row(safe(stage), *(f"{count:,}" for count in counts), safe(_reasons(own)))
    hint = "--task ID tells each attempt at a task in full"
    return [safe(title, "bold"), *([table] if stories else []), safe(hint, "dim")]


def _reasons(stories: Sequence[Story]) -> str:
    reasons = Counter(story.reason for story in stories if story.verdict == "made")
    named = [f"{count:,}: {reason}" for reason, count in reasons.most_common(_NAMED_REASONS)]
    return "; ".join([*named, *(["…"] if len(reasons) > _NAMED_REASONS else [])])


def matching_words(matching: Matching) -> str:
    """Say what is about to be removed."""
    results = numbers.plural(len(matching.payers), "result")
    cost = matching.cost_micro_usd
    money = f" ({numbers.dollars(cost / MICRO)})" if cost else ""
    return (
        f"{results}, {size(matching.bytes)}; a run that needs them pays "
        f"{numbers.plural(matching.calls, 'call')}{money} again"
    )


def size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    value, units = count / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, _ = value / 1024, units.pop(0)
    return f"{value:.1f} {units[0]}"


def time_span(seconds: float) -> str:
    """Show a duration roughly: whole days, hours or minutes."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length):,} {unit}"
    return "< 1 min"
