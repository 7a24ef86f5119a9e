"""One thing that was looked at, and what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

#: A run can do with it; it can, but somebody should know; it cannot; it was not looked at.
Status = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True)
class Check:
    """`value` is what was found, `detail` why that matters, `fix` what to do about it."""

    name: str
    status: Status
    value: str = ""
    detail: str = ""
    fix: str = ""


def ok(name: str, value: str, detail: str = "") -> Check:
    return Check(name, "ok", value, detail)


def warning(name: str, value: str, fix: str, detail: str = "") -> Check:
    return Check(name, "warning", value, detail, fix)


def failed(name: str, value: str, fix: str, detail: str = "") -> Check:
    return Check(name, "failed", value, detail, fix)


def skipped(name: str, value: str, detail: str = "") -> Check:
    return Check(name, "skipped", value, detail)


def nothing_failed(checks: Iterable[Check]) -> bool:
    return all(check.status != "failed" for check in checks)
