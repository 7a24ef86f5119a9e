"""In what two attempts differ, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from producer.known_runs import KnownRun
from skillopt.domain.fingerprint import short
from skillopt.domain.jobs import RolloutSpec

#: Every field of an attempt that can make it another one. `params` are part of the backend's
#: fingerprint and never differ alone.
Field = Literal[
    "skill", "layout", "memory", "prompt", "template", "backend", "env", "sample", "salt"
]
FIELDS: tuple[Field, ...] = get_args(Field)

#: What a field is called in a summary of many attempts.
NAMES: dict[Field, str] = {
    "skill": "another document",
    "layout": "a skill folder against a file",
    "memory": "another memory document",
    "prompt": "another task text",
    "template": "another prompt template",
    "backend": "another backend or other parameters",
    "env": "another environment",
    "sample": "another sample",
    "salt": "a result of one run alone",
}


@dataclass(frozen=True)
class Difference:
    field: Field
    words: str


def differing(here: RolloutSpec, there: RolloutSpec) -> tuple[Field, ...]:
    return tuple(name for name in FIELDS if getattr(here, name) != getattr(there, name))


def in_words(
    here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]
) -> tuple[Difference, ...]:
    """Say how `there`, a stored attempt, differs from `here`; `known` runs name backends."""
    return tuple(
        Difference(name, _WORDS[name](here, there, known)) for name in differing(here, there)
    )


def _skill(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    return f"the document differs: {short(here.skill)} here, {short(there.skill)} there"


def _layout(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    kinds = [f"a {spec.layout or 'file'}" for spec in (here, there)]
    return f"the skill is {kinds[0]} here, {kinds[1]} there"


def _memory(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    shown = [short(spec.memory) if spec.memory else "none" for spec in (here, there)]
    return f"the memory document differs: {shown[0]} here, {shown[1]} there"


def _prompt(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    return f"the task's text differs: {short(here.prompt)} here, {short(there.prompt)} there"


def _template(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    return (
        "the prompt template `attempt` differs: "
        f"{short(here.template)} here, {short(there.template)} there"
    )


def _backend(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    ours, theirs = (_named(spec.backend, known) for spec in (here, there))
    why = "another backend"
    if ours[0] == theirs[0] and ours[0] is not None:
        why = "the same name, so its model, revision or parameters have changed"
    params = _parameters(here, there)
    return f"the backend's fingerprint differs: {ours[1]} here, {theirs[1]} there ({params or why})"


def _parameters(here: RolloutSpec, there: RolloutSpec) -> str:
    """Name the parameters that differ, if both attempts list theirs."""
    if here.params is None or there.params is None:
        return ""
    ours, theirs = here.params, there.params
    changed = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    return ", ".join(
        f"{name} {ours.get(name, 'not given')!r} here, {theirs.get(name, 'not given')!r} there"
        for name in changed
    )


def _named(fingerprint: str, known: Sequence[KnownRun]) -> tuple[str | None, str]:
    names = (run.backends.get(fingerprint) for run in known)
    name = next((name for name in names if name is not None), None)
    return name, f"{name!r} {short(fingerprint)}" if name else short(fingerprint)


def _env(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    return f"the environment differs: {here.env!r} here, {there.env!r} there"


def _sample(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    return f"it is sample {here.sample} here, sample {there.sample} there"


def _salt(here: RolloutSpec, there: RolloutSpec, known: Sequence[KnownRun]) -> str:
    if here.salt is not None:
        return "this run shares with no other (cache: refresh or off)"
    return f"that result belongs to run {there.salt} alone (cache: refresh or off)"


_WORDS: dict[Field, Callable[[RolloutSpec, RolloutSpec, Sequence[KnownRun]], str]] = {
    "skill": _skill,
    "layout": _layout,
    "memory": _memory,
    "prompt": _prompt,
    "template": _template,
    "backend": _backend,
    "env": _env,
    "sample": _sample,
    "salt": _salt,
}
