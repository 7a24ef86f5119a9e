"""Everything that can be set on a simulator, shared by each way of starting it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from skillopt.config.suggest import did_you_mean
from skillopt.domain.fingerprint import digest, short
from skillopt.errors import ConfigError

#: Raised when the same request would be answered with other words than before.
BEHAVIOUR_VERSION = 3

Rate = Annotated[float, Field(ge=0, le=1)]
OutageKind = Literal["500", "529", "refuse", "stall"]


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SimulatorOptions(_Options):
    """The settings of a simulator; the descriptions are the help texts of its flags."""

    host: str = Field("127.0.0.1", description="loopback address to listen on")
    port: int = Field(0, ge=0, le=65535, description="port to listen on; 0 takes a free one")

    seed: int = Field(0, description="seed of everything that is drawn")
    competence: Rate = Field(1.0, description="share of tasks whose every rule the target obeys")
    sample_noise: Rate = Field(0.0, description="share of attempts that miss a rule by chance")
    vague_rate: Rate = Field(0.0, description="share of the optimizer's rules that say nothing")
    harmful_rate: Rate = Field(0.0, description="share of the optimizer's rules that do harm")
    malformed_rate: Rate = Field(
        0.0, description="share of optimizer and judge replies of a wrong form"
    )
    garbage_rate: Rate = Field(0.0, description="share of replies that are noise")
    truncated_rate: Rate = Field(0.0, description="share of replies cut off in the middle")

    latency_s: float = Field(0.0, ge=0, description="seconds a reply takes (median if it varies)")
    latency_sigma: float = Field(0.0, ge=0, description="sigma of lognormal latency; 0 is fixed")
    error_rate: Rate = Field(0.0, description="share of calls answered with a server error")
    stall_rate: Rate = Field(0.0, description="share of calls that hang")
    stall_s: float = Field(600.0, ge=0, description="seconds that a hanging call takes")
    drop_rate: Rate = Field(0.0, description="share of calls whose connection is cut")

    rpm: int | None = Field(None, ge=1, description="calls allowed in a window")
    tpm: int | None = Field(None, ge=1, description="tokens allowed in a window")
    window_s: float = Field(60.0, gt=0, description="length of the window of rpm and tpm")

    api_key: str | None = Field(
        None, min_length=1, description="the only key that is accepted; none: any"
    )
    models: tuple[str, ...] = Field((), description="models that exist, by comma; none: any")
    content_filter: str | None = Field(
        None, min_length=1, description="a prompt with this text is refused"
    )

    @field_validator("host")
    @classmethod
    def _loopback(cls, host: str) -> str:
        try:
            loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            loopback = False
        if not loopback:
            raise ValueError(
                f"the simulator listens on loopback only, not on {host!r}; use 127.0.0.1"
            )
        return host

    @field_validator("models", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @property
    def behaviour(self) -> str:
        """Identify what replies say; latency, faults and limits do not change it."""
        said = {
            name: getattr(self, name)
            for name in (
                "seed",
                "competence",
                "sample_noise",
                "vague_rate",
                "harmful_rate",
                "malformed_rate",
                "garbage_rate",
                "truncated_rate",
            )
        }
        return "sim-" + short(digest({"version": BEHAVIOUR_VERSION, **said}))


class Control(_Options):
    """What `POST /control` may change while the server runs; what is absent stays as it is."""

    outage_s: float | None = Field(None, ge=0)
    outage_calls: int | None = Field(None, ge=0)
    outage_kind: OutageKind = "500"
    latency_s: float | None = Field(None, ge=0)
    latency_sigma: float | None = Field(None, ge=0)
    error_rate: Rate | None = None
    stall_rate: Rate | None = None
    stall_s: float | None = Field(None, ge=0)
    drop_rate: Rate | None = None
    rpm: int | None = Field(None, ge=1)
    tpm: int | None = Field(None, ge=1)
    reset_stats: bool = False

    def applied_to(self, options: SimulatorOptions) -> SimulatorOptions:
        """Give the options with the changes made."""
        not_options = {"outage_s", "outage_calls", "outage_kind", "reset_stats"}
        changes = self.model_dump(exclude_unset=True, exclude=not_options)
        # A limit can be taken away with null; every other option always has a value.
        kept = {k: v for k, v in changes.items() if v is not None or k in ("rpm", "tpm")}
        return options.model_copy(update=kept)


def read_options(values: Mapping[str, Any]) -> SimulatorOptions:
    """Make options of what a person gave; raises ConfigError that names each wrong value."""
    try:
        return SimulatorOptions.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(_in_words(entry) for entry in error.errors(include_url=False))
        raise ConfigError(f"simulator options: {problems}") from error


def _in_words(entry: ErrorDetails) -> str:
    name = ".".join(map(str, entry["loc"]))
    if entry["type"] == "extra_forbidden":
        known = SimulatorOptions.model_fields
        return f"{name} is not known; {did_you_mean(name, known, 'options')}"
    return f"{name} is {entry['input']!r}: {entry['msg'].removeprefix('Value error, ')}"
