"""Runs one run to its end on this machine: everything it needs is started, watched and ended.

Embedded (a private Redis of the store) or on a shared one: only the URL differs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from producer.attachments import KeptAttachments
from producer.embedded import children
from producer.embedded.lock import StoreLock
from producer.embedded.redis_server import RedisServer
from producer.embedded.silence import SilenceRule
from producer.embedded.simulators import start_simulators
from producer.embedded.store import Store
from producer.embedded.supervisor import Supervisor
from producer.interruption import interruptible
from producer.minutes import active_seconds
from producer.mirror import complete_folder
from producer.payers import require_prices_for
from producer.restoring import restore_if_lost, restored_words
from producer.run_folder import RunFolder
from producer.stored_log import folded
from producer.submit import Submission, submit
from producer.summary import Summary, summarize
from producer.view.live import Snapshot
from producer.wanted_news import want_news
from skillopt.config.catalogue import dump_catalogue
from skillopt.config.load import LoadedSpec
from skillopt.config.runtime import timing
from skillopt.domain.backend import Backend
from skillopt.domain.events import Event, decode_event
from skillopt.domain.run import RunState
from skillopt.domain.view import read_view
from skillopt.errors import StateCorrupt, StateUnavailable
from skillopt.loop import fold
from skillopt.state.redis.connect import connect

#: How often the run is looked at; a ring of its doorbell comes sooner.
LOOK_S = 0.25

#: Calls in flight from one worker process, if neither an option nor the catalogue says how many.
THREADS = 16


@dataclass(frozen=True)
class SessionOptions:
    store: Path
    command: str
    redis_url: str | None = None
    workers: int = 1
    concurrency: int | None = None
    #: Tasks that no comparison counts from now on, and why.
    leave_out: Mapping[str, str] = field(default_factory=dict)
    #: Environment variables of the children, besides this process's own.
    extra_env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Watcher:
    """Who is told of the run: every event once, and how it stands now and then.

    `earlier` is told of the events that were there when this command came.
    """

    event: Callable[[Event], None]
    update: Callable[[Snapshot], None]
    note: Callable[[str], None]
    earlier: Callable[[Event], None] = lambda event: None


@dataclass(frozen=True)
class Ended:
    summary: Summary
    state: RunState


def finished_before(loaded: LoadedSpec, store: Path) -> Ended | None:
    """Give a run that is finished already: nothing is started, nothing is called."""
    folder = RunFolder(store / "runs" / loaded.plan.run_id)
    if not (folder.path / "summary.json").exists():
        return None
    try:
        state, summary = folder.state(), folder.read_summary()
    except StateCorrupt:
        return None  # damaged: it is derived anew from what Redis has
    if state.finished is None or summary is None:
        return None
    return Ended(summary.model_copy(update={"new_calls": 0}), state)


def replica_of(loaded: LoadedSpec, store: Path) -> LoadedSpec:
    """Give the same plan under a run id that is not taken yet."""
    number, plan = 1, loaded.plan
    while (store / "runs" / plan.run_id).exists():
        plan, number = loaded.plan.model_copy(update={"replica": number}), number + 1
    return replace(loaded, plan=plan)


def run_to_end(loaded: LoadedSpec, options: SessionOptions, watcher: Watcher) -> Ended:
    """Create or continue the run and stay until it finishes or pauses."""
    store = Store.open(options.store)
    with (
        interruptible(),
        StoreLock.acquire(store, command=options.command) as lock,
        _supervisor(lock, options) as (supervisor, url),
    ):
        return _Session(loaded, options, watcher, store, supervisor, url).run()


@contextmanager
def _supervisor(lock: StoreLock, options: SessionOptions) -> Iterator[tuple[Supervisor, str]]:
    environ = {"SKILLOPT_TIMING": "embedded", **os.environ, **options.extra_env}
    silence = SilenceRule(between_s=timing(environ).health_stale_s)
    if options.redis_url is not None:
        with Supervisor(silence=silence) as supervisor:
            yield supervisor, options.redis_url
        return
    with RedisServer.start(lock) as server, Supervisor(server, silence=silence) as supervisor:
        yield supervisor, server.url


class _Session:
    def __init__(
        self,
        loaded: LoadedSpec,
        options: SessionOptions,
        watcher: Watcher,
        store: Store,
        supervisor: Supervisor,
        url: str,
    ) -> None:
        self._loaded = loaded
        self._options = options
        self._watcher = watcher
        self._store = store
        self._supervisor = supervisor
        self._env = {**children.environment(os.environ, url), **options.extra_env}
        self._ports = connect(url, timing(self._env))
        self._folder = RunFolder(store.runs_dir / loaded.plan.run_id)

    def run(self) -> Ended:
        plan = self._loaded.plan
        labels = {f"label {name}": value for name, value in self._loaded.labels.items()}
        require_prices_for(self._ports.budgets, plan, self._loaded.backends.values())
        origin = {"skill": str(self._loaded.skill_path), "spec": str(self._loaded.spec_path)}
        self._folder.create(plan, {**origin, **labels})
        attachments = KeptAttachments(self._folder.path, self._ports.blobs)
        attachments.keep(self._loaded.attachments)
        lost = restore_if_lost(self._ports, self._folder)
        if lost is not None:
            self._watcher.note(f"Redis does not have this run any more: {restored_words(lost)}")
        submission = submit(
            self._ports,
            plan,
            meta={**origin, **labels},
            wait=time.sleep,
            leave_out=self._options.leave_out,
            attachments=attachments,
        )
        want_news(self._ports, submission, self._loaded.notify)
        before = sum(self._ports.budgets.spend(plan.run_id).calls.values())
        self._tell(submission)
        self._start_children()
        self._watch()
        self._supervisor.stop_children()
        return self._complete(before)

    def _tell(self, submission: Submission) -> None:
        if submission.what in {"resumed", "attached"}:
            self._watcher.note(f"continuing run {submission.run}")

    # --- processes --------------------------------------------------------------------------

    def _start_children(self) -> None:
        keyless = self._without_keys()
        self._backends = start_simulators(
            self._supervisor, self._store, self._loaded.backends, keyless, self._supervisor.poll
        )
        self._catalogue = self._store.root / "backends.resolved.yaml"
        self._catalogue.write_text(dump_catalogue(self._backends), encoding="utf-8")
        self._supervisor.start(children.coordinator(self._store, self._loaded.plan.run_id, keyless))
        for backend in self._backends.values():
            for number in range(1, self._options.workers + 1):
                self._start_worker(backend, number)

    def _start_worker(self, backend: Backend, number: int, *, quarantine: bool = False) -> None:
        concurrency = self._options.concurrency or backend.limits.concurrency or THREADS
        env = self._without_keys(but=backend)
        self._supervisor.start(
            children.worker(
                self._store,
                backend,
                self._catalogue,
                env,
                number=number,
                concurrency=concurrency,
                quarantine=quarantine,
            )
        )

    def _without_keys(self, but: Backend | None = None) -> dict[str, str]:
        return children.without_keys(
            self._env,
            self._loaded.backends.values(),
            but,
            besides=self._loaded.key_variables,
        )

    # --- watching ---------------------------------------------------------------------------

    def _watch(self) -> None:
        run, plan = self._loaded.plan.run_id, self._loaded.plan
        entries = self._ports.runs.log(run)
        state = folded(plan, entries)
        for entry in entries:
            self._watcher.earlier(decode_event(entry.event))
        known, began = active_seconds(entries), time.monotonic()
        seen, cursor = len(entries), ""
        quarantined: set[str] = set()
        away = False
        while state.status == "running":
            for death in self._supervisor.poll():
                self._watcher.note(f"{death.in_words()}; it is started again")
            if self._supervisor.server_is_silent:
                time.sleep(LOOK_S)  # asked now, it would keep us from looking after the rest
                continue
            try:
                for entry in self._ports.runs.log(run, after=seen):
                    event, seen = decode_event(entry.event), entry.seq
                    state = fold.apply(state, event)
                    self._watcher.event(event)
                view = read_view(self._ports.runs.view(run))
                spend = self._ports.budgets.spend(run)
                elapsed_s = known + time.monotonic() - began
                self._watcher.update(Snapshot(state, view, spend, elapsed_s, self._priced))
                for backend in set(view.quarantine) - quarantined:
                    quarantined.add(backend)
                    self._start_worker(self._backends[backend], 1, quarantine=True)
                cursor = self._ports.doorbell.wait(run, cursor, timeout_s=LOOK_S)
                away = False
            except StateUnavailable as error:
                # Nothing is lost: everybody waits, and goes on when Redis is back.
                if not away:
                    self._watcher.note(f"waiting for Redis: {error}")
                away = True
                time.sleep(LOOK_S)

    def _complete(self, calls_before: int) -> Ended:
        """Complete the folder (its coordinator may have died at the last moment); sum up."""
        run, plan = self._loaded.plan.run_id, self._loaded.plan
        whole = complete_folder(self._folder, self._ports, plan)
        if self._options.redis_url is None:
            self._ports.budgets.write_off(run)  # nobody else works on this Redis
        spend = self._ports.budgets.spend(run)
        summary = summarize(
            whole.state,
            skill=str(self._loaded.skill_path),
            spend=spend,
            cache_hits=whole.facts.cache_hits,
            seconds=round(active_seconds(whole.entries), 3),
            run_dir=str(self._folder.path),
            priced=self._priced,
            new_calls=sum(spend.calls.values()) - calls_before,
            warnings=self._loaded.warnings,
        )
        self._folder.write_summary(summary)
        return Ended(summary, whole.state)

    @property
    def _priced(self) -> bool:
        return all(backend.price is not None for backend in self._loaded.backends.values())
