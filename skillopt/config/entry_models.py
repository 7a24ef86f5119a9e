"""The keys that each kind of backend takes in the catalogue."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from skillopt.domain.agent import AgentAuth, Effort, Sandbox, SkillDelivery
from skillopt.domain.backend import AzureAuth, BackendKind, Limits, Params, StructuredOutput


class Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    revision: str | None = Field(default=None, min_length=1)
    params: Params = Params()
    limits: Limits = Limits()
    timeout_s: float = Field(default=120.0, gt=0, le=86_400)
    #: Read by hand: a number, a word or a mapping.
    price: object = None


class HttpEntry(Entry):
    """A model behind an API."""

    #: How a reply of a given form is asked for; None: what the kind usually can.
    structured_output: StructuredOutput | None = None


class OpenAIEntry(HttpEntry):
    """OpenAI itself, through either of its two APIs."""

    model: str = Field(min_length=1)
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    #: Hosts besides OpenAI's that may be sent the key.
    allowed_hosts: list[str] = Field(default_factory=list)


class OpenAICompatibleEntry(HttpEntry):
    model: str = Field(min_length=1)
    base_url: str
    api_key_env: str | None = None


class AnthropicEntry(HttpEntry):
    """Anthropic's Messages API, or a server that speaks it."""

    model: str = Field(min_length=1)
    base_url: str | None = None
    api_key_env: str | None = "ANTHROPIC_API_KEY"
    #: Hosts besides Anthropic's that may be sent the key.
    allowed_hosts: list[str] = Field(default_factory=list)


class AzureEntry(HttpEntry):
    """A deployment on Azure, through either API."""

    deployment: str
    #: Read by hand: a list of addresses, or of mappings of `url` and `api_key_env`.
    endpoints: object
    auth: AzureAuth = "default"
    api_key_env: str | None = None
    api_version: str | None = None
    scope: str | None = None
    client_id: str | None = None


class AgentEntry(Entry):
    """An agent program: Claude Code, Codex or Copilot."""

    #: None leaves the choice to the program.
    model: str | None = Field(default=None, min_length=1)
    #: The version that workers must have; None takes the one that is installed here.
    version: str | None = None
    executable: str | None = Field(default=None, min_length=1)
    auth: AgentAuth | None = None
    #: The variable of the key or token.
    api_key_env: str | None = None
    login_file: str | None = Field(default=None, min_length=1)
    base_url: str | None = None
    skill_delivery: SkillDelivery = "prompt"
    tools: list[str] | None = None
    max_turns: int | None = Field(default=None, ge=1)
    sandbox: Sandbox | None = None
    network: bool = False
    web_search: bool = False
    effort: Effort | None = None
    timeout_s: float = Field(default=600.0, gt=0, le=86_400)


class SimulatedEntry(HttpEntry):
    model: str = Field(default="sim", min_length=1)
    base_url: str | None = None
    #: Options of the simulator that is started if there is no base_url.
    simulator: dict[str, Any] = Field(default_factory=dict)


AnyEntry = (
    AgentEntry | AnthropicEntry | OpenAIEntry | OpenAICompatibleEntry | AzureEntry | SimulatedEntry
)
KINDS: dict[BackendKind, type[AnyEntry]] = {
    "anthropic_messages": AnthropicEntry,
    "azure_chat": AzureEntry,
    "azure_responses": AzureEntry,
    "claude_cli": AgentEntry,
    "codex_cli": AgentEntry,
    "copilot_cli": AgentEntry,
    "openai_chat": OpenAIEntry,
    "openai_compatible": OpenAICompatibleEntry,
    "openai_responses": OpenAIEntry,
    "simulated": SimulatedEntry,
}
