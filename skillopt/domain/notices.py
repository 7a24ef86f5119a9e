"""What a team is told about a run by its webhook, and where that may be."""

from __future__ import annotations

from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, field_validator

from skillopt.domain.hosts import is_loopback

#: A run ended; it paused; it has used up most of a limit; it has given jobs up.
NoticeKind = Literal["finished", "paused", "budget", "dead"]
NOTICE_KINDS: Final[tuple[NoticeKind, ...]] = get_args(NoticeKind)

_LONGEST_URL: Final = 2_000


class Notify(BaseModel):
    """Whom a run tells what; it changes nothing that comes out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: null: nobody is told.
    webhook: str | None = None
    on: list[NoticeKind] = list(NOTICE_KINDS)

    @field_validator("webhook")
    @classmethod
    def _may_be_told(cls, url: str | None) -> str | None:
        if url is not None:
            fault = fault_of_webhook(url)
            if fault:
                raise ValueError(fault)
        return url


def fault_of_webhook(url: str) -> str:
    """Say what keeps a URL from being told of runs; "" if nothing does."""
    if len(url) > _LONGEST_URL or any(ord(char) <= 32 or ord(char) > 126 for char in url):
        return "a webhook is a URL of plain characters without spaces, like https://host/path"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "this is no URL; give one like https://host/path"
    if parts.username or parts.password:
        return "a webhook's URL has no user and no password: give one without"
    if parts.scheme == "https" and host:
        return ""
    if parts.scheme == "http" and is_loopback(host):
        return ""
    return "a webhook is told by https, or by http on this machine; give an https:// URL"
