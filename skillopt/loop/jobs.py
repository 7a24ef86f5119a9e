"""Jobs that a decision wants, with all that is needed to send them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from skillopt.domain.documents import Documents
from skillopt.domain.fingerprint import canonical_json, sha256_hex, text_hash
from skillopt.domain.item import Item, asks_model
from skillopt.domain.jobs import JobSpec, JudgeSpec, OptimizeSpec, OptimizeStage, RolloutSpec
from skillopt.domain.messages import Message, encode_messages
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import ReplyBody
from skillopt.domain.skill_folder import manifest
from skillopt.domain.usage import Role
from skillopt.loop.replies.schemas import reply_schema


@dataclass(frozen=True)
class WantedJob:
    """One job, the backend that must do it, and the texts its spec refers to."""

    spec: JobSpec
    role: Role
    #: "step 3 / gate / bm-004 / 0": what people see of it in the queue.
    label: str
    blobs: tuple[bytes, ...] = ()
    #: Hashes of the files that come with the task; they are stored with the run.
    attachments: tuple[str, ...] = ()
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
    asks_model: bool


class JobFactory:
    """Builds the jobs of one run; every id follows from the plan.

    A decision looks at every job of its stage each time, so specs are built once and kept.
    """

    def __init__(self, plan: RunPlan, run: str) -> None:
        self._plan = plan
        self._salt = run if plan.settings.cache != "on" else None
        self._attempt = plan.templates["attempt"].encode()
        self._attempt_hash = sha256_hex(self._attempt)
        # Only a plan with judges that ask a model has the template that puts answers to one.
        self._rubric = plan.templates.get("rubric", "").encode()
        # An agent gets what lies beside SKILL.md; decoded once, for all jobs.
        self._files = tuple(file.content for file in plan.files or ())
        self._items: dict[str, _Encoded] = {}
        self._skills: dict[str, str] = {}
        self._texts: dict[tuple[str, str | None], tuple[bytes, ...]] = {}
        self._rollouts: dict[tuple[str, str, int], RolloutSpec] = {}
        self._wanted: dict[tuple[str, str, str], WantedJob] = {}
        self._judgements: dict[tuple[str, str], JudgeSpec] = {}

    def rollout(self, key: str, documents: Documents, item: Item, sample: int) -> RolloutSpec:
        """Give the spec of one attempt with the documents that `key` names."""
        wanted = (key, item.id, sample)
        known = self._rollouts.get(wanted)
        if known is None:
            target = self._plan.backends["target"]
            known = self._rollouts[wanted] = RolloutSpec(
                env=self._plan.env,
                skill=self._skill_hash(key, documents),
                layout=None if self._plan.files is None else "folder",
                memory=text_hash(documents.memory) if documents.memory else None,
                prompt=self._encoded(item).prompt_hash,
                template=self._attempt_hash,
                backend=target.fingerprint,
                params=target.job_params,
                sample=sample,
                salt=self._salt,
            )
        return known

    def wanted_rollout(
        self, spec: RolloutSpec, documents: Documents, item: Item, label: str
    ) -> WantedJob:
        # Tasks that ask the same share their attempts, but neither name nor judge.
        key = (spec.id, item.id, label)
        known = self._wanted.get(key)
        if known is None:
            known = self._wanted[key] = self._rollout_job(spec, documents, item, label)
        return known

    def _rollout_job(
        self, spec: RolloutSpec, documents: Documents, item: Item, label: str
    ) -> WantedJob:
        encoded = self._encoded(item)
        # A model's judgement is asked of another backend's workers.
        here = None if encoded.asks_model else encoded.judge
        return WantedJob(
            spec,
            role="target",
            label=f"{label} / {item.id} / {spec.sample}",
            blobs=(
                *self._texts_of(spec, documents),
                *(encoded.prompt, self._attempt),
                *(() if here is None else (here,)),
            ),
            attachments=tuple(one.sha256 for one in item.prompt.attachments),
            judge=here,
            judge_version=None if here is None else encoded.judge_version,
        )

    def _texts_of(self, spec: RolloutSpec, documents: Documents) -> tuple[bytes, ...]:
        """Encode the documents of an attempt, once for all of its tasks."""
        known = self._texts.get((spec.skill, spec.memory))
        if known is None:
            texts = [documents.skill.encode()]
            if self._plan.files is not None:
                texts += [manifest(documents.skill, self._plan.files), *self._files]
            if documents.memory:
                texts.append(documents.memory.encode())
            known = self._texts[spec.skill, spec.memory] = tuple(texts)
        return known

    def judge(self, item: Item, reply: str) -> JudgeSpec:
        """Give the spec of the judgement of the reply with digest `reply`."""
        key = (item.id, reply)
        known = self._judgements.get(key)
        if known is None:
            known = self._judgements[key] = self._judgement(self._encoded(item), reply)
        return known

    def _judgement(self, encoded: _Encoded, reply: str) -> JudgeSpec:
        judge, version = encoded.judge_hash, encoded.judge_version
        if not encoded.asks_model:
            return JudgeSpec(judge=judge, version=version, reply=reply)
        use = self._plan.backends["judge"]
        return JudgeSpec(
            judge=judge,
            version=version,
            reply=reply,
            prompt=encoded.prompt_hash,
            template=sha256_hex(self._rubric),
            backend=use.fingerprint,
            params=use.job_params,
            salt=self._salt,
        )

    def wanted_judge(self, spec: JudgeSpec, body: ReplyBody, item: Item, label: str) -> WantedJob:
        encoded = self._encoded(item)
        judged = body if spec.reply == body.digest else body.as_judged
        reply = canonical_json(judged.model_dump(mode="json"))
        shown = (encoded.prompt, self._rubric) if encoded.asks_model else ()
        return WantedJob(
            spec,
            role="judge" if encoded.asks_model else "target",
            label=f"{label} / {item.id} / judge",
            blobs=(encoded.judge, reply, *shown),
        )

    def optimize(
        self, stage: OptimizeStage, messages: tuple[Message, ...], label: str
    ) -> WantedJob:
        encoded = encode_messages(messages)
        schema = reply_schema(stage, self._plan.settings).encoded
        use = self._plan.backends["optimizer"].at(stage)
        spec = OptimizeSpec(
            stage=stage,
            messages=sha256_hex(encoded),
            backend=use.fingerprint,
            params=use.job_params,
            reply_schema=sha256_hex(schema),
            salt=self._salt,
        )
        return WantedJob(spec, role="optimizer", label=label, blobs=(encoded, schema))

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
                asks_model(item.judge),
            )
        return known
