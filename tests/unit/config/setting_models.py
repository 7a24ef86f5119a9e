"""Models with a habit that some setting is about."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from scripted_models import BlobStore, stage_of
from scripted_run import Models

from skillopt.domain.jobs import JudgeSpec
from skillopt.domain.messages import Message
from skillopt.domain.results import Body, JudgementBody

__all__ = ["Fickle", "Forgetful", "Models", "Reminding", "Verbose", "WithoutAdvice"]

#: What `Reminding` notes about work that went well.
PRAISE = "Keep doing what worked."
#: Guidance that changes no answer.
EMPTY_ADVICE = "Carry on."


class Forgetful(Models):
    """A target that keeps two rules in mind: a new one pushes the oldest out."""

    def said(self, told: str, task: str, chance: float) -> str:
        return " ".join(re.findall(r"Always say (\w+)\.", told)[-2:])


class Verbose(Models):
    """A judge whose soft score falls with each word that is said, whatever it is."""

    def judge(self, spec: JudgeSpec, blobs: BlobStore) -> Body:
        judged = super().judge(spec, blobs)
        assert isinstance(judged, JudgementBody)
        said = json.loads(blobs.read(spec.reply))["text"].split()
        return judged.model_copy(update={"soft": 1 / (2 + len(said))})


class WithoutAdvice(Models):
    """An optimizer whose guidance at the end of an epoch changes nothing that is measured."""

    def optimize(self, messages: tuple[Message, ...]) -> str:
        if stage_of(messages) == "slow_update":
            return json.dumps({"reasoning": "", "slow_update_content": EMPTY_ADVICE})
        return super().optimize(messages)


@dataclass
class Fickle(Models):
    """Attempts that come out by chance, so that a task both passes and fails."""

    spread: float = 0.7


@dataclass
class Reminding(Fickle):
    """Analysts who also have a note on what went well, if they are asked for notes."""

    def optimize(self, messages: tuple[Message, ...]) -> str:
        reply = super().optimize(messages)
        if stage_of(messages) != "reflect_success" or "appendix_notes" not in messages[0].content:
            return reply
        return json.dumps({**json.loads(reply), "appendix_notes": [PRAISE]})
