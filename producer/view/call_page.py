"""One record in full: what was sent, what came back, how it was judged, what it took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from producer.records import CallReceipt, CallRecord, OptimizerRecord, RolloutRecord
from producer.view import numbers
from producer.view.printable import indented, one_line, printable, safe
from skillopt.domain.fingerprint import short
from skillopt.domain.item import Attachment
from skillopt.domain.messages import Message
from skillopt.domain.results import CriterionResult
from skillopt.domain.usage import MICRO

_ROLE_STYLES = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "yellow"}
_OUTCOMES = {
    "scored": "answered",
    "model_failed": "the model failed (refused, empty or unreadable reply)",
    "invalid": "invalid: the task cannot be scored",
    "missing": "missing: no score, which is not a zero",
    "left_out": "left out of every comparison",
}


def call_page(record: CallRecord, *, priced: bool = True) -> list[RenderableType]:
    """Give everything that is known of one call."""
    parts: list[RenderableType] = [Rule(safe(_title(record), "bold"), align="left")]
    parts += [safe(line) for line in _facts(record)]
    parts.append(safe(receipt_words(record.receipt, priced=priced), "dim"))
    if record.problem:
        parts.append(safe(f"problem: {record.problem}", "yellow"))
    parts.append(Text())
    if record.messages is None:
        parts.append(Text("no messages are stored", style="dim"))
    else:
        parts += _messages(_before_reply(record.messages, record.reply))
    parts += _reply(record)
    if isinstance(record, RolloutRecord):
        parts += _judgement(record)
        parts += _asked_of_judge(record, priced=priced)
    return parts


def attachment_line(attachment: Attachment) -> Text:
    """Name a file that comes with a task."""
    size = numbers.plural(attachment.size, "byte")
    return safe(f"attachment {attachment.path}: {size}, {attachment.media_type}", "cyan")


def receipt_words(receipt: CallReceipt | None, *, priced: bool = True) -> str:
    """Say who did the work and what it took."""
    if receipt is None:
        return "no receipt: the result is no longer stored"
    source = "from the cache, first done" if receipt.from_cache else "done"
    worker = f" by {printable(receipt.worker)}" if receipt.worker else ""
    cost = numbers.dollars(receipt.cost_micro_usd / MICRO if priced else None)
    return (
        f"{source}{worker} in {numbers.duration(receipt.seconds)}: "
        f"{numbers.plural(receipt.calls, 'call')}, {numbers.count(receipt.input_tokens)} tokens "
        f"in, {numbers.count(receipt.output_tokens)} out, {cost}"
        f"{' (estimated: the provider reported no usage)' if receipt.estimated else ''}"
    )


def params_words(params: Mapping[str, Any]) -> str:
    """Name the parameters of a request."""
    told = [
        f"{name} {json.dumps(value) if isinstance(value, dict) else value}"
        for name, value in params.items()
    ]
    return ", ".join(told) or "no parameters"


def criteria_lines(criteria: Sequence[CriterionResult]) -> list[Text]:
    """Give each check with whether it held, and why not."""
    lines = []
    for check in criteria:
        line = Text("  ")
        line.append("pass " if check.passed else "FAIL ", style="green" if check.passed else "red")
        line.append(one_line(check.requirement or check.name, 400))
        if check.detail:
            line.append(f": {one_line(check.detail, 400)}", style="dim")
        lines.append(line)
    return lines


def _title(record: CallRecord) -> str:
    if isinstance(record, OptimizerRecord):
        return record.label or record.call
    sample = f", sample {record.sample}" if record.sample else ""
    return f"{record.stage}: task {record.item} ({record.split}){sample}"


def _facts(record: CallRecord) -> list[str]:
    facts = [f"outcome: {_OUTCOMES[record.outcome]}"]
    if record.backend:
        facts.append(f"backend: {record.backend}, {params_words(record.params)}")
    if isinstance(record, OptimizerRecord):
        if record.reply_schema:
            facts.append(f"reply form: {record.reply_schema}")
        facts.append(f"job: {record.job or 'unknown: its prompt can no longer be built'}")
        if record.items:
            facts.append(f"tasks shown: {', '.join(record.items)}")
        return facts
    facts.append(f"document: {short(record.skill)}")
    facts.append(f"job: {record.rollout}")
    if record.judgement:
        facts.append(f"judgement: {record.judgement}")
    facts.append(f"score: hard {numbers.score(record.hard)}, soft {numbers.score(record.soft)}")
    return facts


def _before_reply(messages: Sequence[Message], reply: str | None) -> Sequence[Message]:
    """Leave the reply out if the messages end with it: it is shown by itself."""
    last = messages[-1] if messages else None
    ends_with_it = last is not None and last.role == "assistant" and last.content == reply
    return messages[:-1] if ends_with_it else messages


def _messages(messages: Sequence[Message]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for message in messages:
        title = "answered" if message.role == "assistant" else f"sent: {message.role}"
        parts.append(Text(f"[{title}]", style=_ROLE_STYLES[message.role]))
        if message.content:
            parts.append(indented(message.content))
        for image in message.images:
            parts.append(safe(f"  picture: {image.media_type}, {short(image.sha256)}", "cyan"))
        for call in message.tool_calls:
            parts.append(safe(f"  calls {call.name}({call.arguments})", "yellow"))
    return parts


def _reply(record: CallRecord) -> list[RenderableType]:
    ended = f", ended by {one_line(record.finish_reason)}" if record.finish_reason else ""
    parts: list[RenderableType] = [Text(f"[reply{ended}]", style="bold green")]
    if record.reply is None:
        parts.append(Text("  no reply is stored", style="dim"))
    else:
        parts.append(indented(record.reply or "(empty)"))
    if isinstance(record, RolloutRecord) and record.tools_called:
        parts.append(safe(f"  tools called: {', '.join(record.tools_called)}", "yellow"))
    return parts


def _judgement(record: RolloutRecord) -> list[RenderableType]:
    parts: list[RenderableType] = [Text("[checks]", style="bold")]
    if not record.criteria:
        parts.append(Text("  no check is stored", style="dim"))
    parts += criteria_lines(record.criteria)
    if record.feedback:
        parts.append(Text("[feedback to the analyst]", style="bold"))
        parts.append(indented(record.feedback))
    return parts


def _asked_of_judge(record: RolloutRecord, *, priced: bool) -> list[RenderableType]:
    """Give the conversation with a judge that is a model; nothing for any other."""
    if record.judge_receipt is None:
        return []
    words = receipt_words(record.judge_receipt, priced=priced)
    parts: list[RenderableType] = [Text("[the judge's own calls]", style="bold")]
    parts.append(safe(f"  {words}", "dim"))
    return [*parts, *_messages(record.judge_messages or ())]
