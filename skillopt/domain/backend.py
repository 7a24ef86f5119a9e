"""A backend as the catalogue describes it, and its fingerprint.

The fingerprint holds everything that can change an output and nothing else: kind, model,
parameters, revision. Endpoint, key, limits and price are not in it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from skillopt.domain.fingerprint import digest
from skillopt.domain.usage import Price, Role

BackendKind = Literal["openai_chat", "openai_compatible", "simulated"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Params(_Record):
    """Request parameters; each one given is sent, and enters the fingerprint."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    max_output_tokens: int | None = Field(default=None, ge=1)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    seed: int | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    extra_headers: dict[str, str] = Field(default_factory=dict)


class Limits(_Record):
    #: Calls in flight from one worker process.
    concurrency: int = Field(default=16, ge=1, le=512)


class Backend(_Record):
    """One entry of the catalogue, ready to use: defaults filled in, revision known."""

    name: str
    kind: BackendKind
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    revision: str = ""
    params: Params = Params()
    limits: Limits = Limits()
    price: Price | None = None
    #: Tokens and calls count, money does not (a flat-rate plan).
    subscription: bool = False
    timeout_s: float = Field(default=120.0, gt=0)
    #: How the simulator that the embedded mode starts behaves (kind `simulated` only).
    simulator: dict[str, Any] = Field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        return digest(
            {
                "kind": self.kind,
                "model": self.model,
                "revision": self.revision,
                "params": self.params.model_dump(mode="json", exclude_none=True),
            }
        )


class BackendUse(_Record):
    """Which backend plays a role in a run; workers refuse a job of another fingerprint."""

    role: Role
    backend: str
    fingerprint: str
