"""What the doctor found, as a person reads it and as a program does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from producer.doctor.check import Check, Status, nothing_failed
from producer.view.numbers import plural
from producer.view.printable import printable, safe

_STYLES: dict[Status, str] = {
    "ok": "green",
    "warning": "yellow",
    "failed": "bold red",
    "skipped": "dim",
}
#: Room for the word before each line.
_WIDTH = max(map(len, _STYLES))


def check_lines(check: Check) -> Text:
    """One finding: its line, and below it why it matters and what to do."""
    text = Text(f"{check.status:{_WIDTH}}", style=_STYLES[check.status])
    text.append(f"  {printable(check.name)}: ", style="default")
    text.append(_indented(check.value), style="default")
    for line in (check.detail, f"fix: {check.fix}" if check.fix else ""):
        if line:
            style = "cyan" if line.startswith("fix: ") else "dim"
            text.append(f"\n{' ' * _WIDTH}  {_indented(line)}", style=style)
    return text


def calling_line(labels: Sequence[str]) -> Text:
    return safe(f"One short call to each of: {', '.join(labels)} …", "bold")


def closing_line(checks: Sequence[Check]) -> Text:
    """Say in one line how things are."""
    failed = sum(check.status == "failed" for check in checks)
    warned = sum(check.status == "warning" for check in checks)
    words = [plural(failed, "check") + " failed"] if failed else []
    words += [plural(warned, "warning")] if warned else []
    if not words:
        return Text("All is well.", style="bold green")
    return Text(f"{', '.join(words)}.", style="bold red" if failed else "bold yellow")


def doctor_object(checks: Sequence[Check]) -> dict[str, Any]:
    return {"ok": nothing_failed(checks), "checks": [asdict(check) for check in checks]}


def _indented(text: str) -> str:
    return printable(text).replace("\n", f"\n{' ' * _WIDTH}  ")
