"""Packs a spec with the files that it refers to, and nothing else, for a server elsewhere.

Catalogues of backends, stores and keys stay here: whatever lies beside the spec goes along only if
the spec needs it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from producer.archives import pack
from skillopt.config.layers import EXTENDS, apply_overrides, load_layers
from skillopt.config.load import run_name
from skillopt.config.origins import unusable_path
from skillopt.config.schema import ParsedSpec, parse_spec
from skillopt.config.skill_file import read_skill_source
from skillopt.config.tasks import TaskSource, load_tasks
from skillopt.config.yaml_source import read_document
from skillopt.errors import ConfigError


@dataclass(frozen=True)
class Packed:
    """An archive, and where the spec is in it."""

    archive: Path
    spec: str
    #: Of the run: it may follow from the folder that the spec lies in here.
    name: str
    files: tuple[str, ...]


def pack_spec(spec: Path, archive: Path, overrides: Sequence[str] = ()) -> Packed:
    """Write a spec with its files into a new archive; raises InputError with what is wrong.

    They keep their places to each other, below the nearest folder that holds them all.
    """
    try:
        layers = list(_layers(spec))
        parsed = parse_spec(apply_overrides(load_layers(spec), overrides))
        found = [*layers, *_documents(parsed), *_tasks(parsed)]
    except OSError as error:
        raise ConfigError(unusable_path(error)) from error
    # Not resolved: a file goes by the name that the spec gives it, also where that is a link.
    places = {Path(os.path.abspath(path)): None for path in found}  # noqa: PTH100
    top = Path(os.path.commonpath([path.parent for path in places]))
    names = {path.relative_to(top).as_posix(): path for path in places}
    pack(archive, sorted(names.items()))
    own = Path(os.path.abspath(spec)).relative_to(top).as_posix()  # noqa: PTH100
    return Packed(archive, own, run_name(parsed, spec), tuple(sorted(names)))


def _layers(spec: Path) -> Iterator[Path]:
    """Give the spec and what it extends; a chain without end is refused when it is loaded."""
    path, seen = spec, set[Path]()
    while path.resolve() not in seen:
        seen.add(path.resolve())
        yield path
        base = read_document(path, what="a spec file").data.get(EXTENDS)
        if not isinstance(base, str):
            return
        path = path.parent / base
        if not path.is_file():
            return


def _documents(parsed: ParsedSpec) -> Iterator[Path]:
    spec, document = parsed.spec, parsed.document
    where = document.origin(("skill",))
    named = where.path(spec.skill)
    source = read_skill_source(named, where)
    yield source.path
    for file in source.files or ():
        yield named / file.path
    if spec.memory is not None:
        yield document.origin(("memory",)).path(spec.memory)
    if spec.prompts is not None:
        folder = document.origin(("prompts",)).path(spec.prompts)
        yield from (p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))


def _tasks(parsed: ParsedSpec) -> tuple[Path, ...]:
    spec, document = parsed.spec, parsed.document
    where = document.origin(("tasks",))
    loaded = load_tasks(
        TaskSource(
            path=where.path(spec.tasks),
            where=where,
            ratio=spec.split.ratio,
            where_ratio=document.origin(("split", "ratio")),
            seed=spec.split.seed,
            fields=spec.fields,
            where_fields=document.origin(("fields",)),
            judge=spec.judge,
            needed=(),
        )
    )
    return loaded.files
