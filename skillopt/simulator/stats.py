"""What the simulator has seen: calls by role, answers by status, concurrency, repetitions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from skillopt.domain.usage import ROLES, Role

CallKind = Role | Literal["unreadable"]


@dataclass
class Stats:
    #: Calls under way when counting began, and now.
    in_flight: int = 0
    peak_concurrency: int = 0
    calls: Counter[CallKind] = field(default_factory=Counter)
    ok: Counter[Role] = field(default_factory=Counter)
    by_status: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    #: How often each content (with its sample) was asked, and answered.
    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    #: Pictures in the requests, each as often as it was sent.
    pictures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    #: What a provider would bill: every reply that was begun, whether or not it arrived.
    charged_calls: int = 0
    charged_prompt_tokens: int = 0
    charged_completion_tokens: int = 0

    def arrived(self) -> None:
        self.in_flight += 1
        self.peak_concurrency = max(self.peak_concurrency, self.in_flight)

    def left(self, status: str) -> None:
        """Note how a call ended: an HTTP status, "dropped" or "abandoned" (the client left)."""
        self.in_flight -= 1
        self.by_status[status] += 1

    def read(self, key: str, role: Role, pictures: int = 0) -> None:
        self.calls[role] += 1
        self.asked[key] += 1
        self.pictures += pictures

    def charged(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Bill a reply that is about to be made: a client that leaves owes it all the same."""
        self.charged_calls += 1
        self.charged_prompt_tokens += prompt_tokens
        self.charged_completion_tokens += completion_tokens

    def replied(self, key: str, role: Role, prompt_tokens: int, completion_tokens: int) -> None:
        self.ok[role] += 1
        self.answered[key] += 1
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens

    def as_json(self) -> dict[str, Any]:
        kinds: tuple[CallKind, ...] = (*ROLES, "unreadable")
        return {
            "calls": {**{kind: self.calls[kind] for kind in kinds}, "total": self.calls.total()},
            "ok": {**{role: self.ok[role] for role in ROLES}, "total": self.ok.total()},
            "by_status": dict(sorted(self.by_status.items())),
            "in_flight": self.in_flight,
            "peak_concurrency": self.peak_concurrency,
            "violations": {
                "rpm": self.violations["rpm"],
                "tpm": self.violations["tpm"],
                "total": self.violations.total(),
            },
            "distinct_contents": len(self.asked),
            "max_repeats": max(self.asked.values(), default=0),
            "max_answered_repeats": max(self.answered.values(), default=0),
            "pictures": self.pictures,
            "tokens": {"prompt": self.prompt_tokens, "completion": self.completion_tokens},
            "charged": {
                "calls": self.charged_calls,
                "prompt": self.charged_prompt_tokens,
                "completion": self.charged_completion_tokens,
            },
        }
