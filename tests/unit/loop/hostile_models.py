"""An optimizer whose replies are spoilt, each in a way that follows from a seed and the prompt."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

from scripted_models import BlobStore, Models, stage_of
from spoilt_replies import SPOILERS, Fate, Json, Reply

from skillopt.domain.jobs import JobSpec, OptimizeSpec, OptimizeStage
from skillopt.domain.messages import decode_messages
from skillopt.domain.results import Body, ReplyBody
from skillopt.domain.spec import UpdateMode


@dataclass(frozen=True)
class Given:
    """A reply as it was sent, what it means to say, and what is to come of it."""

    stage: OptimizeStage
    spoilt: str
    text: str
    meant: dict[str, Json]
    fate: Fate


@dataclass
class Hostile(Models):
    """Spoils a share of the replies of every stage, those to a repair included."""

    spread: float = 0.7
    seed: int = 0
    mode: UpdateMode = "patch"
    share: float = 0.8
    #: The one way in which every reply is spoilt; "" for all ways.
    only: str = ""
    #: By job.
    given: dict[str, Given] = field(default_factory=dict)

    def answer(self, spec: JobSpec, blobs: BlobStore) -> Body:
        if not isinstance(spec, OptimizeSpec):
            return super().answer(spec, blobs)
        messages = decode_messages(blobs.read(spec.messages))
        assert stage_of(messages) == spec.stage
        luck = random.Random(f"{self.seed}-{spec.messages}")
        reply = Reply(spec.stage, self.mode, json.loads(self.optimize(messages)), luck)
        name = self.only or self._way(luck)
        text, fate = SPOILERS[name](reply)
        self.given[spec.id] = Given(spec.stage, name, text, reply.meant, fate)
        return ReplyBody(text=text, trajectory=spec.messages)

    def _way(self, luck: random.Random) -> str:
        return luck.choice(list(SPOILERS)) if luck.random() < self.share else "clean"
