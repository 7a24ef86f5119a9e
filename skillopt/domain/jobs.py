"""Job specs. A job's id is the hash of its spec.

Everything that can change a result is in the spec and nothing else: a rollout has no judge, a
judgement names the digest of the reply it judges, not the rollout that made it. Texts are
referred to by hash; the blobs hold them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from skillopt.domain.fingerprint import canonical_json, sha256_hex
from skillopt.domain.misread import in_short
from skillopt.errors import NotUnderstood, StateCorrupt

OptimizeStage = Literal[
    "reflect_failure",
    "reflect_success",
    "reflect_contrast",
    "merge",
    "learning_rate",
    "rank",
    "rewrite",
    "compress",
    "consolidate",
    "slow_update",
    "meta_skill",
]
OPTIMIZE_STAGES: tuple[OptimizeStage, ...] = get_args(OptimizeStage)


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Set by `cache: refresh | off`: an independent replicate for one run.
    salt: str | None = None

    @cached_property
    def encoded(self) -> bytes:
        """The canonical bytes that are stored and hashed; absent fields are left out."""
        return canonical_json(self.model_dump(mode="json", exclude_none=True))

    @cached_property
    def id(self) -> str:
        return sha256_hex(self.encoded)


class RolloutSpec(_Spec):
    """One attempt of the target at one task with one document."""

    kind: Literal["rollout"] = "rollout"
    env: str = "tasks"
    skill: str
    #: "folder": `skill` is the hash of the folder's manifest, which names the text.
    layout: Literal["folder"] | None = None
    memory: str | None = None
    prompt: str
    template: str
    backend: str
    #: All parameters of the call, if the role changes any; `backend` has them in already.
    params: dict[str, Any] | None = None
    sample: int = 0


class JudgeSpec(_Spec):
    """One judgement of one reply; the fields below `reply` are those of a judge that is a model."""

    kind: Literal["judge"] = "judge"
    judge: str
    version: int
    reply: str
    #: The task as the target saw it, and the template that puts both to the judge.
    prompt: str | None = None
    template: str | None = None
    backend: str | None = None
    params: dict[str, Any] | None = None


class OptimizeSpec(_Spec):
    """One optimizer call: fixed messages, and the stage that says which reply form is due."""

    kind: Literal["optimize"] = "optimize"
    stage: OptimizeStage
    messages: str
    backend: str
    params: dict[str, Any] | None = None
    #: Blob of the `ReplySchema` that is requested.
    reply_schema: str | None = None
    sample: int = 0


JobSpec = RolloutSpec | JudgeSpec | OptimizeSpec
JobKind = Literal["rollout", "judge", "optimize"]
_ADAPTER: TypeAdapter[JobSpec] = TypeAdapter(Annotated[JobSpec, Field(discriminator="kind")])


def decode_spec(job: str, encoded: bytes) -> JobSpec:
    """Read a stored spec; one whose hash is not `job` was not written by us.

    Raises StateCorrupt for such a one, NotUnderstood for one of another version.
    """
    if sha256_hex(encoded) != job:
        raise StateCorrupt(f"spec of job {job!r} does not hash to its id")
    try:
        return _ADAPTER.validate_json(encoded)
    except ValidationError as error:
        raise NotUnderstood(f"spec of job {job!r} is not understood: {in_short(error)}") from error
