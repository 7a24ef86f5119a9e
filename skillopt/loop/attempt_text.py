"""What an analyst sees of an attempt, within a token budget.

The target's system prompt is left out: it holds the documents, which a prompt shows once.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.item import Item, TaskPrompt
from skillopt.domain.messages import Message
from skillopt.domain.results import JudgementBody, ReplyBody
from skillopt.errors import StateCorrupt
from skillopt.loop.evaluate import Attempt, reply_body
from skillopt.loop.facts import Facts
from skillopt.loop.prompt_parts import CHARACTERS_PER_TOKEN, cut, fenced
from skillopt.loop.tally import criterion_line

#: Characters of a judge's own remarks.
FEEDBACK_LIMIT = 2_000


@dataclass(frozen=True)
class Seen:
    """One attempt with the texts an analyst is shown; `messages` only if there was more to it than
    a question and an answer: calls of tools, or the steps of an agent.
    """

    item: Item
    reply: ReplyBody
    judgement: JudgementBody
    messages: tuple[Message, ...] = ()
    #: What the target was shown of the task's files, in words.
    attached: str = ""

    @property
    def passed(self) -> bool:
        return self.judgement.hard >= 1.0


def seen(facts: Facts, attempt: Attempt, *, by_agent: bool = False) -> Seen:
    """Fetch the texts of a judged attempt; an agent's has steps, whatever its task offers."""
    if attempt.judgement is None:
        raise StateCorrupt(f"attempt {attempt.rollout!r} is shown before it was judged")
    judgement = facts.body(attempt.judgement)
    if not isinstance(judgement, JudgementBody):
        raise StateCorrupt(f"job {attempt.judgement!r} should hold a judgement")
    reply = reply_body(facts, attempt.rollout)
    prompt = attempt.item.prompt
    told: tuple[Message, ...] = ()
    if (by_agent or prompt.tools or prompt.attachments) and reply.trajectory is not None:
        told = facts.messages(attempt.rollout)
    said = [message for message in told if message.role == "assistant"]
    messages = told if len(said) > 1 or any(message.tool_calls for message in said) else ()
    return Seen(attempt.item, reply, judgement, messages, _attached(prompt, told))


def _attached(prompt: TaskPrompt, told: tuple[Message, ...]) -> str:
    """Find what stood below the task; an agent found its files in a folder instead."""
    asked = next((message.content for message in told if message.role == "user"), "")
    if not prompt.attachments or not asked.startswith(prompt.text):
        return ""
    return asked.removeprefix(prompt.text).strip()


@dataclass(frozen=True)
class AttemptText:
    """Writes attempts of at most `tokens`: a quarter each for the task, its context and its files,
    and what they leave for the answer. Each keeps its head and its tail.
    """

    tokens: int

    def question(self, one: Seen) -> list[str]:
        """Give the task of an attempt: the files that came with it by name, texts as shown."""
        prompt = one.item.prompt
        task = self._task(prompt)
        lines = ["Task:", fenced(task)] if "\n" in task else [f"Task: {task}"]
        if prompt.context:
            lines += ["Context:", fenced(self._context(prompt))]
        if prompt.attachments:
            lines.append(f"Files that came with it: {_named(prompt)}")
        if one.attached:
            lines += ["What the target was shown of them:", fenced(self._files(one))]
        return lines

    def answer(self, one: Seen) -> str:
        """Give the conversation if there was one, or else the answer alone."""
        prompt = one.item.prompt
        shown = (self._task(prompt), self._context(prompt), self._files(one))
        room = self._room - sum(map(len, shown))
        said = _conversation(one) if one.messages else one.reply.text
        return fenced(cut(said, room) or "(empty)")

    def whole(self, index: int, one: Seen) -> str:
        """Give one attempt with its task and what came of it."""
        title = "Conversation:" if one.messages else "Answer:"
        lines = [f"### Attempt {index + 1}", *self.question(one)]
        lines += [title, self.answer(one)]
        if one.reply.tools_called:
            lines.append(f"Tools called: {', '.join(one.reply.tools_called)}")
        lines += verdict_lines(one.judgement, "Failed:")
        return "\n".join(lines)

    @property
    def _room(self) -> int:
        return self.tokens * CHARACTERS_PER_TOKEN

    def _task(self, prompt: TaskPrompt) -> str:
        return cut(prompt.task, self._room // 4)

    def _context(self, prompt: TaskPrompt) -> str:
        return cut(prompt.context, self._room // 4)

    def _files(self, one: Seen) -> str:
        return cut(one.attached, self._room // 4)


def _named(prompt: TaskPrompt) -> str:
    return ", ".join(f"{one.path} ({one.media_type})" for one in prompt.attachments)


def verdict_lines(judgement: JudgementBody, title: str) -> list[str]:
    """Say which criteria failed, under a title, and what else the judge said."""
    failed = [criterion for criterion in judgement.criteria if not criterion.passed]
    lines = [title, *map(criterion_line, failed)] if failed else []
    if judgement.remarks and judgement.hard < 1.0:
        lines += ["Judge:", fenced(cut(judgement.remarks, FEEDBACK_LIMIT))]
    if lines:
        return lines
    if judgement.hard < 1.0:
        return ["It failed; the judge does not say why."]
    return ["All criteria met."]


def _conversation(one: Seen) -> str:
    """Tell what was said after the task was put."""
    lines: list[str] = []
    names: dict[str, str] = {}
    for message in one.messages:
        if message.role == "assistant":
            lines += [f"assistant: {message.content}"] if message.content else []
            for call in message.tool_calls:
                names[call.id] = call.name
                lines.append(f"assistant calls {call.name}({call.arguments})")
        elif message.role == "tool":
            name = names.get(message.tool_call_id or "", "tool")
            lines.append(f"{name} answers: {message.content}")
    last = one.messages[-1]
    if (last.role, last.content) != ("assistant", one.reply.text):
        lines.append(f"assistant: {one.reply.text or '(empty)'}")
    return "\n".join(lines)
