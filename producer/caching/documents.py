"""Which documents a person means: by file, folder, hash, or run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from producer.known_runs import KnownRun, KnownRuns
from skillopt.config.origins import Origin
from skillopt.config.skill_file import read_skill_source
from skillopt.domain.fingerprint import sha256_hex, short, text_hash
from skillopt.domain.run import RunState
from skillopt.domain.skill_folder import manifest
from skillopt.errors import InputError
from skillopt.state.ports import State

MIN_PREFIX = 4
_HASH = re.compile(rf"[0-9a-f]{{{MIN_PREFIX},64}}")
_LISTED = 8


@dataclass(frozen=True)
class Document:
    """A document by its hash, and what it is to the person who asked."""

    hash: str
    what: str


def documents_meant(reference: str, state: State, runs: KnownRuns) -> list[Document]:
    """Give the documents that `reference` means: a file or skill folder, a hash or its beginning,
    or a run, which means all documents that it tried.

    Raises InputError if nothing or more than one hash is meant.
    """
    path = Path(reference)
    if (path / "plan.json").is_file():
        return _of_run(runs, runs.find(path.resolve().name))
    if path.is_file() or (path / "SKILL.md").is_file():
        return [Document(_hash_of(path), f"{path}")]
    if _HASH.fullmatch(reference.lower()) and (found := state.cache.skills(reference.lower())):
        return [_the_only(reference, found)]
    if runs.infos:
        try:
            return _of_run(runs, runs.find(reference))
        except InputError as error:
            raise InputError(
                f"{reference!r} is no file or skill folder, no document with results begins with "
                f"it, and: {error}"
            ) from error
    raise InputError(
        f"{reference!r} is no file or skill folder, and no document with results begins with it; "
        f"give a path, {MIN_PREFIX} or more digits of a hash (see `skillopt cache stats`), or a run"
    )


def _hash_of(path: Path) -> str:
    source = read_skill_source(path, Origin("the command line"))
    if source.files is None:
        return text_hash(source.text)
    return sha256_hex(manifest(source.text, source.files))


def _the_only(reference: str, found: list[str]) -> Document:
    if len(found) > 1:
        listed = ", ".join(map(short, found[:_LISTED]))
        raise InputError(f"{reference!r} begins {len(found)} documents: {listed}; give more digits")
    return Document(found[0], "")


def _of_run(runs: KnownRuns, known: KnownRun) -> list[Document]:
    """Give every document of a run, the initial one first."""
    state = runs.state_of(known)
    hashes = {
        known.plan.skill_hash(documents.skill): _role(state, key)
        for key, documents in reversed(state.texts.items())
    }
    return [Document(skill, what) for skill, what in reversed(hashes.items())]


def _role(state: RunState, key: str) -> str:
    roles = ["initial"] if key == state.plan.initial_key else []
    for step in state.steps:
        if step.proposed and step.proposed.skill == key:
            roles.append(f"candidate of step {step.started.step}")
    for end in state.epoch_ends.values():
        if end.proposed and end.proposed.skill == key:
            roles.append(f"slow update of epoch {end.compared.epoch}")
    if key == state.best:
        roles.append("best")
    return ", ".join(roles)
