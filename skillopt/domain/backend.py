"""A backend as the catalogue describes it, and its fingerprint.

The fingerprint holds everything that can change an output and nothing else: kind, model,
parameters, revision. Endpoint, key, limits and price are not in it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from skillopt.domain.fingerprint import digest
from skillopt.domain.usage import Price, Role

BackendKind = Literal[
    "anthropic_messages",
    "azure_chat",
    "azure_responses",
    "openai_chat",
    "openai_compatible",
    "openai_responses",
    "simulated",
]

#: How a backend on Azure proves who it is: a key, or a token of Entra ID from one of three places.
AzureAuth = Literal["api_key", "azure_cli", "default", "managed_identity"]


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
    """What the whole fleet may send; None: no limit of ours."""

    #: Calls in flight from all workers together; each worker process has as many threads.
    concurrency: int | None = Field(default=None, ge=1, le=512)
    #: However often the provider asks to slow down, so many calls may be in flight.
    min_concurrency: int = Field(default=1, ge=1, le=512)
    #: Requests and tokens per minute of the credential.
    rpm: int | None = Field(default=None, ge=1)
    tpm: int | None = Field(default=None, ge=1)

    @field_validator("min_concurrency")
    @classmethod
    def _at_most_the_concurrency(cls, least: int, info: ValidationInfo) -> int:
        most = info.data.get("concurrency")
        if most is not None and least > most:
            raise ValueError(
                f"{least!r} is more than limits.concurrency, which is {most!r}; give at most {most}"
            )
        return least


class AzureEndpoint(_Record):
    """One resource that has the deployment: the address before `/openai`."""

    url: str
    #: With `auth: api_key`; every resource has keys of its own.
    api_key_env: str | None = None


class AzureAccess(_Record):
    """How a deployment is reached; nothing of it changes what the model says."""

    endpoints: tuple[AzureEndpoint, ...] = Field(min_length=1)
    auth: AzureAuth
    #: A dated version of the API, or `v1` or `preview` for the paths under `/openai/v1`.
    api_version: str
    scope: str
    #: A user-assigned managed identity; None takes the one of the machine.
    client_id: str | None = None


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
    #: Hosts besides Anthropic's that may be sent the key (kind `anthropic_messages` only).
    allowed_hosts: tuple[str, ...] = ()
    #: The kinds on Azure only; their `model` is the name of the deployment.
    azure: AzureAccess | None = None

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variables that hold its keys, each once."""
        endpoints = self.azure.endpoints if self.azure else ()
        named = (self.api_key_env, *(endpoint.api_key_env for endpoint in endpoints))
        return tuple(dict.fromkeys(name for name in named if name))

    def using(self, params: Params | None) -> Backend:
        """Give the backend as a role uses it: with these parameters instead of its own."""
        return self if params is None else self.model_copy(update={"params": params})

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
