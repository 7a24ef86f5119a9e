"""The documents of a run on disk: every state that was tried, and the best one so far."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from producer.folder.durable import write_durably
from producer.folder.whole_skill import write_skill_folder
from skillopt.domain.documents import Documents
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState


def write_documents(folder: Path, state: RunState) -> None:
    """Write what a run's folder is due of its documents; files that are right stay untouched.

    A state has one name in `skills/` and `memories/`: the step that brought it (a slow update
    bears the last step of its epoch) and the short form of its key.
    """
    for step, key in _states(state):
        documents, name = state.texts[key], f"{step:04d}-{short(key)}.md"
        write_durably(folder / "skills" / name, documents.skill.encode())
        if documents.memory is not None:
            write_durably(folder / "memories" / name, documents.memory.encode())
    _write_best(folder, state, state.texts[state.best])


def _states(state: RunState) -> Iterator[tuple[int, str]]:
    yield 0, state.plan.initial_key
    candidates = [step.proposed for step in state.steps]
    candidates += [end.proposed for end in state.epoch_ends.values()]
    for proposed in candidates:
        if proposed:
            yield proposed.step, proposed.skill


def _write_best(folder: Path, state: RunState, best: Documents) -> None:
    write_durably(folder / "best_skill.md", best.skill.encode())
    if best.memory is not None:
        write_durably(folder / "best_memory.md", best.memory.encode())
    if state.plan.files is not None:
        write_skill_folder(folder / "best_skill", best.skill, state.plan.files)
