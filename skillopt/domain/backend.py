"""A backend as the catalogue describes it, and its fingerprint.

The fingerprint holds everything that can change an output and nothing else: kind, model,
parameters, revision; of an agent program its version and what it may do. Endpoint, key, limits
and price are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from skillopt.domain.agent import AgentAccess, AgentProgramName
from skillopt.domain.fingerprint import digest
from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.usage import Price, Role

BackendKind = Literal[
    "anthropic_messages",
    "azure_chat",
    "azure_responses",
    "claude_cli",
    "codex_cli",
    "copilot_cli",
    "openai_chat",
    "openai_compatible",
    "openai_responses",
    "simulated",
]

#: The kinds that run a program, which does a whole task by itself.
AGENT_KINDS: dict[BackendKind, AgentProgramName] = {
    "claude_cli": "claude",
    "codex_cli": "codex",
    "copilot_cli": "copilot",
}

#: What an agent needs besides its own deadline: to end the program and take its folder away.
_AGENT_LEAVES_S = 30.0

#: How a reply of a given form is asked for: by its schema, as any JSON object, or by words alone.
StructuredOutput = Literal["json_schema", "json_object", "none"]

#: How a backend on Azure proves who it is: a key, or a token of Entra ID from one of three places.
AzureAuth = Literal["api_key", "azure_cli", "default", "managed_identity"]


def usual_form(kind: BackendKind) -> StructuredOutput:
    """How a kind asks for a reply of a given form, if its catalogue entry says nothing.

    Servers that call themselves compatible differ in this: who knows one says what it can.
    """
    return "none" if kind == "openai_compatible" else "json_schema"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Params(_Record):
    """Request parameters; each one given is sent, and enters the fingerprint."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    #: At most far more than any model writes: budgets reserve the price of all of them.
    max_output_tokens: int | None = Field(default=None, ge=1, le=100_000_000)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    seed: int | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    extra_headers: dict[str, str] = Field(default_factory=dict)


#: The limits that may also be set while workers run.
LimitName = Literal["rpm", "tpm", "concurrency", "min_concurrency"]


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

    def changed(self, changes: Mapping[LimitName, int]) -> Limits:
        """Give the limits with some of them changed; a least number gives way to the most."""
        limits: dict[str, Any] = {**self.model_dump(), **dict(changes.items())}
        most = limits["concurrency"]
        if most is not None:
            limits["min_concurrency"] = min(limits["min_concurrency"], most)
        return Limits(**limits)


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
    #: The file, and its day, that a list price is from; "" if its own entry says what it costs.
    price_from: str = ""
    #: Tokens and calls count, money does not (a flat-rate plan).
    subscription: bool = False
    timeout_s: float = Field(default=120.0, gt=0)
    #: How the simulator that the embedded mode starts behaves (kind `simulated` only).
    simulator: dict[str, Any] = Field(default_factory=dict)
    #: Hosts besides their provider's that may be sent the key (the kinds of Anthropic and OpenAI).
    allowed_hosts: tuple[str, ...] = ()
    #: The kinds on Azure only; their `model` is the name of the deployment.
    azure: AzureAccess | None = None
    #: The kinds of agent programs only; their `model` may be "": the program's own choice.
    agent: AgentAccess | None = None
    #: None: what its kind usually can.
    structured_output: StructuredOutput | None = None

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
    def longest_call_s(self) -> float:
        """The time after which a call is cut from outside, whatever it does.

        An agent keeps its deadline itself; before it begins, it may wait as long for a login that
        another run is using.
        """
        if self.agent is None:
            return self.timeout_s
        turns = 2 if self.agent.auth == "login_file" else 1
        return turns * self.timeout_s + _AGENT_LEAVES_S

    @property
    def reply_form(self) -> StructuredOutput:
        """How it asks for a reply of a given form."""
        return self.structured_output or usual_form(self.kind)

    @property
    def fingerprint(self) -> str:
        usual = self.reply_form == usual_form(self.kind)
        formed = {} if usual else {"structured_output": self.reply_form}
        return digest(
            {
                "kind": self.kind,
                "model": self.model,
                "revision": self.revision,
                "params": self.params.model_dump(mode="json", exclude_none=True),
                **formed,
                **({} if self.agent is None else {"agent": self.agent.shaping}),
            }
        )


class CallUse(_Record):
    """How calls of a backend are made; workers refuse a job of another fingerprint."""

    fingerprint: str
    #: All parameters of the calls, if the role changes any of the backend's own.
    params: Params | None = None
    #: The backend's own parameters, if the role changes none.
    own: Params | None = None

    @property
    def effective(self) -> Params:
        """The parameters that the calls are made with."""
        return self.params or self.own or Params()

    @property
    def told(self) -> dict[str, Any]:
        """The parameters that the calls are made with, as people are told them."""
        shown = self.effective.model_dump(mode="json", exclude_none=True)
        return {name: value for name, value in shown.items() if value != {}}

    @property
    def job_params(self) -> dict[str, Any] | None:
        """The parameters as a job's spec has them; None if they are the backend's own."""
        if self.params is None:
            return None
        return self.params.model_dump(mode="json", exclude_none=True)


class BackendUse(CallUse):
    """Which backend plays a role in a run, and how."""

    role: Role
    backend: str
    #: Whether it is a program that takes many steps by itself; the loop shows them to analysts.
    agent: bool = False
    #: The optimizer's stages whose calls are made in another way than the role's.
    stages: dict[OptimizeStage, CallUse] = Field(default_factory=dict)

    def at(self, stage: OptimizeStage) -> CallUse:
        return self.stages.get(stage, self)
