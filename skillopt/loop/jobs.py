"""Jobs that a decision wants, with all that is needed to send them."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.fingerprint import canonical_json, sha256_hex, text_hash
from skillopt.domain.item import Item
from skillopt.domain.jobs import JobSpec, JudgeSpec, OptimizeSpec, OptimizeStage, RolloutSpec
from skillopt.domain.messages import Message, encode_messages
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import ReplyBody
from skillopt.domain.usage import Role


@dataclass(frozen=True)
class WantedJob:
    """One job, the backend that must do it, and the texts its spec refers to."""

    spec: JobSpec
    role: Role
    #: "step 3 / gate / bm-004 / 0": what people see of it in the queue.
    label: str
    blobs: tuple[bytes, ...] = ()
    #: The judge that may be applied right after the rollout.
    judge: bytes | None = None
    judge_version: int | None = None

    @property
    def id(self) -> str:
        return self.spec.id


class JobFactory:
    """Builds the jobs of one run; every id follows from the plan."""

    def __init__(self, plan: RunPlan, run: str) -> None:
        self._plan = plan
        self._salt = run if plan.settings.cache != "on" else None
        self._attempt = plan.templates["attempt"]
        self._attempt_hash = text_hash(self._attempt)

    def rollout(self, text: str, item: Item, sample: int, label: str) -> WantedJob:
        prompt = canonical_json(item.prompt.model_dump(mode="json"))
        judge = canonical_json(item.judge.model_dump(mode="json"))
        spec = RolloutSpec(
            env=self._plan.env,
            skill=text_hash(text),
            prompt=sha256_hex(prompt),
            template=self._attempt_hash,
            backend=self._plan.backends["target"].fingerprint,
            sample=sample,
            salt=self._salt,
        )
        return WantedJob(
            spec,
            role="target",
            label=f"{label} / {item.id} / {sample}",
            blobs=(text.encode(), prompt, self._attempt.encode(), judge),
            judge=judge,
            judge_version=self._plan.judge_versions[item.judge.kind],
        )

    def judge(self, item: Item, reply: str, body: ReplyBody | None, label: str) -> WantedJob:
        """Judge the reply with digest `reply`; `body` is needed only if it must be sent."""
        judge = canonical_json(item.judge.model_dump(mode="json"))
        spec = JudgeSpec(
            judge=sha256_hex(judge),
            version=self._plan.judge_versions[item.judge.kind],
            reply=reply,
        )
        blobs = (judge,) if body is None else (judge, canonical_json(body.model_dump(mode="json")))
        return WantedJob(spec, role="target", label=f"{label} / {item.id} / judge", blobs=blobs)

    def optimize(
        self, stage: OptimizeStage, messages: tuple[Message, ...], label: str
    ) -> WantedJob:
        encoded = encode_messages(messages)
        spec = OptimizeSpec(
            stage=stage,
            messages=sha256_hex(encoded),
            backend=self._plan.backends["optimizer"].fingerprint,
            salt=self._salt,
        )
        return WantedJob(spec, role="optimizer", label=label, blobs=(encoded,))
