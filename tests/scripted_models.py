"""Canned models: a target that obeys its documents, an exact judge, and an optimizer.

Each answer is a function of the request alone, so any number of workers sees the same models. The
optimizer learns one thing: which words the tasks ask for. It answers every stage of the loop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from skillopt.domain.fingerprint import digest
from skillopt.domain.jobs import JobSpec, JudgeSpec, OptimizeStage, RolloutSpec
from skillopt.domain.messages import Message, decode_messages, encode_messages
from skillopt.domain.results import Body, CriterionResult, InvalidBody, JudgementBody, ReplyBody
from skillopt.domain.skill_folder import read_manifest
from skillopt.loop.templates import NAMES

TEMPLATES = {
    **{name: f"Do {name}." for name in NAMES},
    "attempt": "{{skill}}",
    "reflect_failure": "Find what failed. {{form}}{{skill_aware}}{{documents}}",
    "reflect_success": "Find what worked. {{form}}{{skill_aware}}{{documents}}",
    "reflect_contrast": "Find what differs. {{form}}{{skill_aware}}{{documents}}",
    "skill_aware": " Also appendix_notes.",
    "two_documents": " Say which document.",
    "form_edits": "Answer with edits.",
    "form_suggestions": "Answer with revise_suggestions.",
    "form_rewrite": "Answer with skill_candidates.",
    "merge": "Merge the proposals. {{form}}{{documents}}",
    "rank": "Rank by selected_indices.",
    "repair": "Not usable: {{error}}",
}

_RULE = re.compile(r"Always say (\w+)\.")
_REMINDER = re.compile(r"Remember to say (\w+)\.")
_FAILED = re.compile(r"^- say (\w+)\b", re.MULTILINE)


class BlobStore(Protocol):
    """Where the texts are that a job's spec refers to."""

    def read(self, sha: str) -> bytes: ...

    def put(self, content: bytes) -> str: ...


def sections(user: str) -> dict[str, str]:
    """Take a prompt apart by its titles; what stands between fences has none."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    fence = ""
    for line in user.splitlines():
        mark = re.match(r"~{4,}$", line)
        if mark and fence in ("", line):
            fence = "" if fence else line
        if not fence and line.startswith("## "):
            lines = found.setdefault(line[3:], [])
        else:
            lines.append(line)
    return {title: "\n".join(content).strip() for title, content in found.items()}


def unfenced(text: str) -> str:
    """Give the first text between fences, or the text itself if it has none."""
    match = re.search(r"^(~{4,})\n(.*?)\n\1$", text, re.MULTILINE | re.DOTALL)
    return match.group(2) if match else text


def stage_of(messages: Sequence[Message]) -> OptimizeStage:
    """Tell from the titles of a prompt what it asks for."""
    parts = sections(messages[1].content)
    by_title: list[tuple[str, OptimizeStage]] = [
        ("Existing memory", "meta_skill"),
        ("Comparison", "slow_update"),
        ("Notes", "consolidate"),
        ("Limit", "compress"),
        ("Merged", "learning_rate"),
        ("Proposed", "merge"),
        ("Contrasts", "reflect_contrast"),
        ("Failing criteria", "reflect_failure"),
        ("Attempts", "reflect_success"),
    ]
    for start, stage in by_title:
        if any(title.startswith(start) for title in parts):
            return stage
    return "rank" if "selected_indices" in messages[0].content else "rewrite"


@dataclass
class Models:
    """A target that says the words its documents ask for, and an optimizer that asks for more."""

    #: The task whose prompt the content filter refuses.
    filtered: str = ""
    #: Analysts first answer with something that is not JSON.
    garbles: bool = False
    #: And whether they do better when asked again.
    repairs: bool = True
    #: The share of attempts that come out otherwise than the documents make one expect, half of
    #: them better and half worse; which ones follows from the task and the sample.
    spread: float = 0.0

    def answer(self, spec: JobSpec, blobs: BlobStore) -> Body:
        if isinstance(spec, RolloutSpec):
            return self.attempt(spec, blobs)
        if isinstance(spec, JudgeSpec):
            return self.judge(spec, blobs)
        text = self.optimize(decode_messages(blobs.read(spec.messages)))
        return ReplyBody(text=text, trajectory=spec.messages)

    # --- target and judge

    def attempt(self, spec: RolloutSpec, blobs: BlobStore) -> Body:
        skill = blobs.read(spec.skill)
        if spec.layout == "folder":
            skill = blobs.read(read_manifest(skill).text)
        memory = blobs.read(spec.memory).decode() if spec.memory else ""
        task = json.loads(blobs.read(spec.prompt))["task"]
        if self.filtered and self.filtered in task:
            return InvalidBody(reason="the content filter refused the prompt")
        told = "\n".join(filter(None, [skill.decode(), memory]))
        sent = (Message(role="system", content=told), Message(role="user", content=task))
        said = self.said(told, task, luck(task, spec.sample))
        return ReplyBody(text=said, trajectory=blobs.put(encode_messages(sent)))

    def said(self, told: str, task: str, chance: float) -> str:
        if chance < self.spread / 2:
            return " ".join(re.findall(r"\w+", task))
        words = _RULE.findall(told)
        if chance > 1 - self.spread / 2:
            words = [word for word in words if word in _REMINDER.findall(told)]
        return " ".join(words)

    def judge(self, spec: JudgeSpec, blobs: BlobStore) -> Body:
        word = json.loads(blobs.read(spec.judge))["answer"]
        reply = ReplyBody.model_validate_json(blobs.read(spec.reply))
        passed = word in reply.text.split()
        criterion = CriterionResult(
            name="contains",
            requirement=f"say {word}",
            passed=passed,
            detail="" if passed else f"{word} is not there",
        )
        return JudgementBody(hard=float(passed), soft=float(passed), criteria=(criterion,))

    # --- optimizer

    def optimize(self, messages: tuple[Message, ...]) -> str:
        stage = stage_of(messages)
        first = len(messages) == 2 or not self.repairs
        if self.garbles and first and stage == "reflect_failure":
            return "I would rather talk about the weather."
        system, parts = messages[0].content, sections(messages[1].content)
        replies: dict[str, Callable[[str, dict[str, str]], dict[str, Any]]] = {
            "merge": merge,
            "learning_rate": budget,
            "rank": rank,
            "rewrite": rewrite,
            "compress": compress,
            "consolidate": consolidate,
            "slow_update": guidance,
            "meta_skill": lesson,
        }
        reply = replies.get(stage, analyse)(system, parts)
        return json.dumps({"reasoning": "words", **reply})


def luck(task: str, sample: int) -> float:
    return int(digest([task, sample])[:8], 16) / 16**8


# --- replies ------------------------------------------------------------------------------------


def analyse(system: str, parts: dict[str, str]) -> dict[str, Any]:
    """Ask for each word that failed; for one that the documents already ask for, remind of it."""
    shown = (parts.get(name, "") for name in ("Failing criteria", "Contrasts"))
    failed = list(dict.fromkeys(word for text in shown for word in _FAILED.findall(text)))
    texts = [unfenced(parts[name]) for name in ("Current skill", "Current memory") if name in parts]
    known = [word for text in texts for word in _RULE.findall(text)]
    notes = [f"Remember to say {word}." for word in failed if word in known]
    rules = [f"Always say {word}." for word in failed if word not in known]
    reply: dict[str, Any] = {
        "batch_size": 1,
        "failure_summary": [{"failure_type": "t", "count": 1, "description": "a word"}],
        "success_patterns": [],
        "patch": {"reasoning": "words", **changes(system, rules, texts[0] if texts else "")},
    }
    return {**reply, "appendix_notes": notes} if "appendix_notes" in system else reply


def changes(system: str, rules: list[str], text: str) -> dict[str, Any]:
    if "revise_suggestions" in system:
        return {"revise_suggestions": [suggestion(rule) for rule in rules]}
    if "skill_candidates" in system:
        return {"skill_candidates": [candidate(text, rules)] if rules else []}
    edits = [{"op": "append", "target": "", "content": rule} for rule in rules]
    if "which document" in system:
        for number, edit in enumerate(edits):
            edit["document"] = "memory" if number % 2 else "skill"
    return {"edits": edits}


def suggestion(rule: str) -> dict[str, Any]:
    return {
        "type": "add_rule",
        "title": rule,
        "motivation": "it failed",
        "instruction": rule,
        "priority_hint": "high",
    }


def candidate(text: str, rules: Sequence[str]) -> dict[str, Any]:
    return {
        "title": "more words",
        "change_summary": list(rules),
        "new_skill": with_rules(text, rules),
    }


def with_rules(text: str, rules: Sequence[str]) -> str:
    new = [rule for rule in dict.fromkeys(rules) if rule not in text]
    return "\n".join([text.rstrip("\n"), *(f"\n{rule}" for rule in new)]) + "\n"


def merge(system: str, parts: dict[str, str]) -> dict[str, Any]:
    title = next(title for title in parts if title.startswith("Proposed"))
    rows = json.loads(parts[title])
    if title == "Proposed rewrites":
        rules = [rule for row in rows for rule in rules_in(row["new_skill"])]
        return {"skill_candidates": [candidate(rows[0]["new_skill"], rules)]}
    if title == "Proposed suggestions":
        return {"revise_suggestions": [suggestion(row["instruction"]) for row in rows]}
    kept = ("op", "target", "content", "document")
    return {"edits": [{key: row[key] for key in kept if key in row} for row in rows]}


def rules_in(text: str) -> list[str]:
    return [match.group() for match in _RULE.finditer(text)]


def budget(system: str, parts: dict[str, str]) -> dict[str, Any]:
    return {"learning_rate": 2, "confidence": 0.5, "risk_notes": []}


def rank(system: str, parts: dict[str, str]) -> dict[str, Any]:
    return {"selected_indices": [0, 1]}


def rewrite(system: str, parts: dict[str, str]) -> dict[str, Any]:
    text = unfenced(
        next(parts[name] for name in ("Current skill", "Current memory") if name in parts)
    )
    rules = rules_in(parts["Suggestions"])
    return {"change_summary": rules, "new_skill": with_rules(text, rules)}


def compress(system: str, parts: dict[str, str]) -> dict[str, Any]:
    """Keep headings, rules and protected parts only."""
    text = unfenced(
        next(parts[name] for name in ("Current skill", "Current memory") if name in parts)
    )
    wanted = re.compile(r"#|<!-- KEEP|Always say")
    kept = [line for line in text.splitlines() if wanted.match(line)]
    return {"change_summary": ["shorter"], "new_skill": "\n".join(kept) + "\n"}


def consolidate(system: str, parts: dict[str, str]) -> dict[str, Any]:
    return {"appendix_notes": [" ".join(json.loads(parts["Notes"]))]}


def guidance(system: str, parts: dict[str, str]) -> dict[str, Any]:
    """Ask for the words that fail now."""
    failing = parts["Comparison"].split("### improved")[0]
    failed = dict.fromkeys(_FAILED.findall(failing))
    return {"slow_update_content": "\n".join(f"Always say {word}." for word in failed) or "Go on."}


def lesson(system: str, parts: dict[str, str]) -> dict[str, Any]:
    regressed = parts["Comparison"].count("regressed")
    return {"meta_skill_content": f"Rules about words help; {regressed} regressions were seen."}
