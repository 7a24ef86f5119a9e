"""What is asked of a process that tries a backend out, and what it answers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from skillopt.domain.backend import Backend


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProbeRequest(_Record):
    """Try this backend out, within so many seconds."""

    backend: Backend
    timeout_s: float


class ProbeReport(_Record):
    """What came of it: an answer, or a failure with its code and its words. No secret is in it."""

    latency_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    #: The provider did not say how many tokens it took.
    estimated: bool = False
    finish_reason: str = ""
    #: The code of the error (see `skillopt.errors`); "" if there was none.
    error: str = ""
    message: str = ""

    @property
    def answered(self) -> bool:
        return not self.error
