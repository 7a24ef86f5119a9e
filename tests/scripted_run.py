"""A whole run in memory: the real loop, driven by canned models."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, cast

from scripted_models import TEMPLATES, BlobStore, Models

from skillopt.domain.backend import BackendUse
from skillopt.domain.events import Event, RunCreated, encode_event
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import ExactJudge, Item, Splits, TaskPrompt
from skillopt.domain.jobs import RolloutSpec
from skillopt.domain.messages import Message, decode_messages
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import BODY, Body, InvalidBody, JudgementBody, Receipt, ReplyBody
from skillopt.domain.run import RunState
from skillopt.domain.spec import Settings
from skillopt.loop.decide import decide
from skillopt.loop.fold import apply, begin
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.state.ports import Finished, LogEntry, State, StoredResult

__all__ = [
    "SKILL",
    "TEMPLATES",
    "BlobStore",
    "Models",
    "ScriptedRun",
    "Store",
    "finished_job",
    "item",
    "make_plan",
]

SKILL = "# Greeter\n\nBe brief. Café.\n"


def item(name: str, word: str) -> Item:
    return Item(
        id=name,
        prompt=TaskPrompt(task=f"Task {name}: {word}?"),
        judge=ExactJudge(answer=word, substring=True),
    )


def make_plan(**changes: Any) -> RunPlan:
    settings = {
        "train": {"num_epochs": 2, "batch_size": 4},
        "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
        "optimizer": {"learning_rate": 2, "min_learning_rate": 1, "lr_scheduler": "constant"},
        **changes.pop("settings", {}),
    }
    # Off unless a test asks for them: each adds calls and decisions of its own.
    off = {"use_slow_update": False, "use_meta_skill": False}
    settings["optimizer"] = {**off, **settings["optimizer"]}
    settings["evaluation"] = {"early_decision": False, **settings.get("evaluation", {})}
    words = ["alpha", "beta", "gamma", "delta", "other", "extra", "alpha", "beta"]
    fields: dict[str, Any] = {
        "name": "greeter",
        "settings": Settings.model_validate(settings),
        "skill": SKILL,
        "splits": Splits(
            train=tuple(item(f"train-{i}", word) for i, word in enumerate(words)),
            val=tuple(item(f"val-{w}", w) for w in ("alpha", "beta", "gamma", "unknown")),
            test=tuple(item(f"test-{w}", w) for w in ("alpha", "delta")),
        ),
        "templates": TEMPLATES,
        "judge_versions": {"exact": 1, "rule": 1},
        "backends": {
            "target": BackendUse(role="target", backend="sim", fingerprint="f1"),
            "optimizer": BackendUse(role="optimizer", backend="sim", fingerprint="f1"),
        },
    }
    return RunPlan(**{**fields, **changes})


@dataclass
class Store:
    """The ports a record needs, over dictionaries; counts how often it is read."""

    results: dict[str, StoredResult] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    reads: int = 0

    def state(self) -> State:
        store = self

        class Results:
            def get(self, jobs):
                store.reads += 1
                return {job: store.results[job] for job in jobs if job in store.results}

        class Blobs:
            def get(self, hashes):
                store.reads += 1
                return {name: store.blobs[name] for name in hashes if name in store.blobs}

        none = cast(Any, None)
        return State(
            board=none,
            claims=none,
            results=cast(Any, Results()),
            blobs=cast(Any, Blobs()),
            cache=none,
            runs=none,
            doorbell=none,
            budgets=none,
            throttle=none,
            fleet=none,
            server=none,
            dead=none,
            requests=none,
            archive=none,
            shares=none,
            quotas=none,
            tokens=none,
            limits=none,
            spending=none,
            notices=none,
        )

    def read(self, sha: str) -> bytes:
        return self.blobs[sha]

    def put(self, content: bytes) -> str:
        name = sha256_hex(content)
        self.blobs[name] = content
        return name


def finished_job(
    job: str, body: Body, *, payer: str, calls: int, is_attempt: bool = False
) -> Finished:
    """Encode a result as a worker commits it."""
    scores = (body.hard, body.soft) if isinstance(body, JudgementBody) else (None, None)
    line = LedgerLine(
        outcome="invalid" if isinstance(body, InvalidBody) else "scored",
        digest=body.digest,
        hard=scores[0],
        soft=scores[1],
        payer=payer,
        judged=body.as_judged.digest if isinstance(body, ReplyBody) and is_attempt else None,
    )
    receipt = Receipt(worker="w1", seconds=0.5, calls=calls, input_tokens=10, output_tokens=4)
    return Finished(job, line.model_dump_json(), body.model_dump_json(), receipt.model_dump_json())


@dataclass
class ScriptedRun:
    """Drives a run to its end; also the Facts that it decides by."""

    plan: RunPlan = field(default_factory=make_plan)
    store: Store = field(default_factory=Store)
    #: Results arrive one by one in this seeded order, or all at once in the order wanted.
    order_seed: int | None = None
    #: As in `Models`.
    filtered: str = ""
    garbles: bool = False
    repairs: bool = True
    #: Other models than those.
    models: Models | None = None
    started_at: float = 1000.0
    ledger: dict[str, LedgerLine] = field(default_factory=dict)
    performed: dict[str, WantedJob] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        run = self.run_id = self.plan.run_id
        created = RunCreated(
            run=run, name=self.plan.name, plan=self.plan.identity, skill=self.plan.initial_key
        )
        self.factory = JobFactory(self.plan, run)
        self.events.append(created)
        self.state: RunState = begin(self.plan, created)

    # --- Facts

    def line(self, job: str) -> LedgerLine | None:
        return self.ledger.get(job)

    def body(self, job: str) -> Body:
        return BODY.validate_json(self.store.results[job].body)

    def messages(self, job: str) -> tuple[Message, ...]:
        body = self.body(job)
        if not isinstance(body, ReplyBody) or body.trajectory is None:
            return ()
        return decode_messages(self.store.read(body.trajectory))

    # --- driving

    def record(self, event: Event) -> None:
        self.events.append(event)
        self.state = apply(self.state, event)

    def advance(self) -> bool:
        """Take one decision; False once the run rests."""
        decision = decide(self.state, self, self.factory)
        for event in decision.events:
            self.record(event)
        wanted = list(decision.wanted)
        if self.order_seed is not None:
            random.Random(f"{self.order_seed}-{len(self.ledger)}").shuffle(wanted)
            wanted = wanted[:1]
        for job in wanted:
            self.perform(job)
        return bool(decision.events or decision.wanted)

    def finish(self) -> ScriptedRun:
        while self.advance():
            pass
        return self

    def until(self, event_type: type[Any]) -> ScriptedRun:
        while not isinstance(self.events[-1], event_type):
            assert self.advance(), f"the run ended without {event_type.__name__}"
        return self

    def log(self) -> list[LogEntry]:
        return [
            LogEntry(number, self.started_at + number, encode_event(event))
            for number, event in enumerate(self.events, start=1)
        ]

    # --- performing

    def perform(self, job: WantedJob) -> None:
        self.performed[job.id] = job
        for blob in job.blobs:
            self.store.put(blob)
        models = self.models or Models(self.filtered, self.garbles, self.repairs)
        body = models.answer(job.spec, self.store)
        calls = 0 if job.spec.backend is None else 1
        done = finished_job(
            job.id,
            body,
            payer=self.run_id,
            calls=calls,
            is_attempt=isinstance(job.spec, RolloutSpec),
        )
        self.ledger[job.id] = LedgerLine.model_validate_json(done.line)
        self.store.results[job.id] = StoredResult(done.line, done.body, done.receipt)
