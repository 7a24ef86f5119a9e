"""Posts a run's news to a webhook: signed, once in a while again, never followed elsewhere."""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import httpx2
from pydantic import BaseModel, ConfigDict

from producer.queue.models import Money
from skillopt import __version__
from skillopt.domain.notices import NoticeKind, fault_of_webhook
from skillopt.errors import ConfigError

log = logging.getLogger(__name__)

#: The key that signs what is sent, in the coordinator's environment.
KEY_VARIABLE: Final = "SKILLOPT_WEBHOOK_KEY"
#: The only hosts that are told anything, separated by commas, if a team wants to say so.
HOSTS_VARIABLE: Final = "SKILLOPT_WEBHOOK_HOSTS"
SIGNATURE: Final = "X-Skillopt-Signature"
TIMESTAMP: Final = "X-Skillopt-Timestamp"
DELIVERY: Final = "X-Skillopt-Delivery"
TIMEOUT_S: Final = 10.0


class News(BaseModel):
    """What is posted. Whoever gets the same `id` twice can forget the second."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = 1
    id: str
    kind: NoticeKind
    #: When it happened, in seconds since 1970.
    at: float
    run: str
    name: str
    owner: str
    team: str
    labels: dict[str, str]
    phase: str
    #: What happened, in a sentence.
    words: str
    initial_score: float | None
    best_score: float | None
    spent: Money


class NotDelivered(Exception):
    """A webhook did not take news; they are posted again later."""


@dataclass(frozen=True)
class Webhook:
    """How news are posted from here."""

    key: bytes | None = field(default=None, repr=False)
    #: None: any that may be told at all.
    hosts: frozenset[str] | None = None
    timeout_s: float = TIMEOUT_S

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Webhook:
        """Read key and hosts; raises ConfigError for a key that is set and empty."""
        key = environ.get(KEY_VARIABLE)
        if key is not None and not key.strip():
            raise ConfigError(f"{KEY_VARIABLE} is set but empty; give it a secret, or unset it")
        named = environ.get(HOSTS_VARIABLE)
        hosts = None
        if named is not None:
            hosts = frozenset(host.strip().lower() for host in named.split(",") if host.strip())
        return cls(key.strip().encode() if key else None, hosts)

    def post(self, url: str, news: News, *, now: Callable[[], float]) -> None:
        """Post news; raises NotDelivered unless the answer is a 2xx. Redirects are not followed."""
        host = (urlsplit(url).hostname or "").lower()
        fault = fault_of_webhook(url)
        if not fault and self.hosts is not None and host not in self.hosts:
            fault = f"host {host!r} is not among {HOSTS_VARIABLE}"
        if fault:
            raise NotDelivered(fault)
        body = news.model_dump_json().encode()
        try:
            # Proxies and netrc of the environment are not asked: they may hold credentials.
            with httpx2.Client(
                timeout=self.timeout_s, follow_redirects=False, trust_env=False
            ) as client:
                response = client.post(url, content=body, headers=self._headers(news, body, now()))
        except httpx2.HTTPError as error:
            raise NotDelivered(f"{host}: {type(error).__name__}") from error
        if not response.is_success:
            raise NotDelivered(f"{host} answered {response.status_code}")

    def _headers(self, news: News, body: bytes, now: float) -> dict[str, str]:
        stamp = f"{now:.0f}"
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"skillopt-fleet/{__version__}",
            DELIVERY: news.id,
            TIMESTAMP: stamp,
        }
        if self.key is not None:
            headers[SIGNATURE] = signature(self.key, stamp, body)
        return headers


def signature(key: bytes, stamp: str, body: bytes) -> str:
    """Sign a time and a body, as receivers check it."""
    return "sha256=" + hmac.new(key, f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
