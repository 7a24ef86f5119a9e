"""`producer.optimize`: a run from a Python program, to its end, on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from producer.judge_function import JudgeFunction, NamedFunction, name_function
from producer.judge_server import serve
from producer.published import published_revision
from producer.run_folder import RunFolder
from producer.run_result import RunResult, events_in
from producer.session import SessionOptions, Watcher, finished_before, run_to_end
from producer.view.live import Snapshot
from skillopt.config.catalogue import require_credentials
from skillopt.config.given import GivenRun, load_given
from skillopt.domain.events import Event
from skillopt.domain.item import FunctionJudge
from skillopt.errors import InputError
from skillopt.judges.function import SOCKET_VARIABLE
from skillopt.state.urls import state_url

STORE = Path(".skillopt")
Records = Iterable[Mapping[str, Any]]
Judge = JudgeFunction | Mapping[str, Any]


def optimize(  # noqa: PLR0913 - keyword-only; each is one part of a run
    *,
    skill: str | Path,
    train: Records,
    val: Records,
    test: Records = (),
    model: str | Mapping[str, Any],
    judge: Judge | None = None,
    judge_version: str | None = None,
    backends: Mapping[str, Any] | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    memory: str | Path | None = None,
    prompts: Path | None = None,
    name: str = "optimize",
    store: Path | None = None,
    workers: int = 1,
    concurrency: int | None = None,
    redis_url: str | None = None,
    cache: str | None = None,
    on_event: Callable[[Event], None] | None = None,
    on_progress: Callable[[Snapshot], None] | None = None,
) -> RunResult:
    """Train a skill here until the run finishes or pauses; the same call continues it.

    A run that is finished is answered from the store, without a call. Nothing is printed, and
    nothing stays running, whatever ends the call. Raises InputError before anything is spent.

    - `skill`, `memory`: a document's text, or its Path (a skill may be a folder).
    - `train`, `val`, `test`: task records, as task files hold them; test may be left out. The
      paths of their attachments start from the working directory and stay inside it.
    - `model`: the backend that does the tasks, or `{"target": ..., "optimizer": ...}`, each a name
      or as in a spec file: `{"use": ..., "params": {"temperature": 0}}`.
    - `judge`: for records without one: as a record holds it, or a function of the record and the
      reply, called by several threads at once, that returns a Score, a bool or a number. Only the
      workers of this call can ask it: on a shared Redis, let no others serve the same backend.
    - `judge_version`: says what the function does where its source does not.
    - `backends`: definitions by name, or the Path of a catalogue.
    - `settings`: sections and keys of a spec file, like `{"train": {"num_epochs": 1}}`.
    - `prompts`, `name`, `cache`: as in a spec file.
    - `store`, `workers`, `concurrency`, `redis_url`: as the options of `skillopt run`; the store
      is `.skillopt` in the working directory.
    - `on_event`: called once with each event, in order, from the beginning of the run.
    - `on_progress`: called now and then while the run works. What a callback raises ends the call,
      and is the only way to do so from another thread than the main one, which heeds Ctrl-C.
    """
    function, asked = _judge_of(judge, judge_version)
    given = GivenRun(skill, model, train, val, test, asked, backends, settings or {})
    given = replace(given, memory=memory, prompts=prompts, name=name, cache=cache)
    command = f"producer.optimize(name={name!r})"
    options = SessionOptions(Path(store or STORE), command, redis_url, workers, concurrency)
    return _run(given, function, options, _watcher(on_event, on_progress))


def _judge_of(
    judge: Judge | None, version: str | None
) -> tuple[NamedFunction | None, Mapping[str, Any] | FunctionJudge | None]:
    """Give the function, if it is one, and the judge as a run knows it."""
    if judge is None or isinstance(judge, Mapping):
        if version is not None:
            raise InputError(f"judge_version: {version!r} needs a function as judge; give one")
        return None, judge
    if not callable(judge):
        raise InputError(f"judge: {judge!r} is no judge; give a function, or a dict with its kind")
    function = name_function(judge, version)
    return function, function.judge


def _watcher(
    on_event: Callable[[Event], None] | None, on_progress: Callable[[Snapshot], None] | None
) -> Watcher:
    for name, callback in (("on_event", on_event), ("on_progress", on_progress)):
        if callback is not None and not callable(callback):
            raise InputError(f"{name}: {callback!r} cannot be called; give a function")
    tell = on_event or _ignore
    return Watcher(event=tell, update=on_progress or _ignore, note=_ignore, earlier=tell)


def _ignore(_: object) -> None:
    """Nobody asked to be told."""


def _run(
    given: GivenRun, function: NamedFunction | None, options: SessionOptions, watcher: Watcher
) -> RunResult:
    _refuse_unusable(options)
    loaded = load_given(given, environ=os.environ, publish_revision=published_revision)
    require_credentials(loaded.backends.values(), os.environ)
    folder = RunFolder(options.store / "runs" / loaded.plan.run_id)
    ended = finished_before(loaded, options.store)
    if ended is not None:
        for event in events_in(folder):
            watcher.event(event)
    else:
        with _judge_served(function) as extra_env:
            ended = run_to_end(loaded, replace(options, extra_env=extra_env), watcher)
    return RunResult.of(ended, folder)


def _refuse_unusable(options: SessionOptions) -> None:
    for name, count in (("workers", options.workers), ("concurrency", options.concurrency)):
        if count is not None and (type(count) is not int or count < 1):
            raise InputError(f"{name}: {count!r} does not fit; give a whole number of at least 1")
    if options.redis_url is not None:
        state_url(options.redis_url)


@contextmanager
def _judge_served(function: NamedFunction | None) -> Iterator[Mapping[str, str]]:
    """Serve the function, if there is one; gives what workers need to find it."""
    if function is None:
        yield {}
        return
    with serve(function) as socket:
        yield {SOCKET_VARIABLE: str(socket)}
