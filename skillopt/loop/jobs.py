"""Jobs that a decision wants, with all that is needed to send them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from skillopt.domain.documents import Documents
from skillopt.domain.fingerprint import canonical_json, sha256_hex, text_hash
from skillopt.domain.item import Item
from skillopt.domain.jobs import JobSpec, JudgeSpec, OptimizeSpec, OptimizeStage, RolloutSpec
from skillopt.domain.messages import Message, encode_messages
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import ReplyBody
from skillopt.domain.skill_folder import manifest
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


class _Encoded(NamedTuple):
    """An item's two parts as they are stored."""

    prompt: bytes
    prompt_hash: str
    judge: bytes
    judge_hash: str
    judge_version: int


class JobFactory:
    """Builds the jobs of one run; every id follows from the plan.

    A decision looks at every job of its stage each time, so specs are built once and kept.
    """

    def __init__(self, plan: RunPlan, run: str) -> None:
        self._plan = plan
        self._salt = run if plan.settings.cache != "on" else None
        self._attempt = plan.templates["attempt"].encode()
        self._attempt_hash = sha256_hex(self._attempt)
        self._items: dict[str, _Encoded] = {}
        self._skills: dict[str, str] = {}
        self._rollouts: dict[tuple[str, str, int], RolloutSpec] = {}
        self._judgements: dict[tuple[str, str], JudgeSpec] = {}

    def rollout(self, key: str, documents: Documents, item: Item, sample: int) -> RolloutSpec:
        """Give the spec of one attempt with the documents that `key` names."""
        wanted = (key, item.id, sample)
        known = self._rollouts.get(wanted)
        if known is None:
            known = self._rollouts[wanted] = RolloutSpec(
                env=self._plan.env,
                skill=self._skill_hash(key, documents),
                layout=None if self._plan.files is None else "folder",
                memory=text_hash(documents.memory) if documents.memory else None,
                prompt=self._encoded(item).prompt_hash,
                template=self._attempt_hash,
                backend=self._plan.backends["target"].fingerprint,
                sample=sample,
                salt=self._salt,
            )
        return known

    def wanted_rollout(
        self, spec: RolloutSpec, documents: Documents, item: Item, label: str
    ) -> WantedJob:
        encoded = self._encoded(item)
        texts = [documents.skill.encode()]
        if self._plan.files is not None:
            texts.append(manifest(documents.skill, self._plan.files))
        if documents.memory:
            texts.append(documents.memory.encode())
        return WantedJob(
            spec,
            role="target",
            label=f"{label} / {item.id} / {spec.sample}",
            blobs=(*texts, encoded.prompt, self._attempt, encoded.judge),
            judge=encoded.judge,
            judge_version=encoded.judge_version,
        )

    def judge(self, item: Item, reply: str) -> JudgeSpec:
        """Give the spec of the judgement of the reply with digest `reply`."""
        key = (item.id, reply)
        known = self._judgements.get(key)
        if known is None:
            encoded = self._encoded(item)
            known = self._judgements[key] = JudgeSpec(
                judge=encoded.judge_hash, version=encoded.judge_version, reply=reply
            )
        return known

    def wanted_judge(self, spec: JudgeSpec, body: ReplyBody, item: Item, label: str) -> WantedJob:
        reply = canonical_json(body.model_dump(mode="json"))
        return WantedJob(
            spec,
            role="target",
            label=f"{label} / {item.id} / judge",
            blobs=(self._encoded(item).judge, reply),
        )

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

    def _skill_hash(self, key: str, documents: Documents) -> str:
        known = self._skills.get(key)
        if known is None:
            known = self._skills[key] = self._plan.skill_hash(documents.skill)
        return known

    def _encoded(self, item: Item) -> _Encoded:
        known = self._items.get(item.id)
        if known is None:
            prompt = canonical_json(item.prompt.model_dump(mode="json"))
            judge = canonical_json(item.judge.model_dump(mode="json"))
            known = self._items[item.id] = _Encoded(
                prompt,
                sha256_hex(prompt),
                judge,
                sha256_hex(judge),
                self._plan.judge_versions[item.judge.kind],
            )
        return known
