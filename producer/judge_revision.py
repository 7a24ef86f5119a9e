"""What a function does, as far as its source tells: a hash that changes whenever that may."""

from __future__ import annotations

import dis
import hashlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (str, int, float, bool, bytes, type(None))


class _Unseen(Exception):
    """Something whose change could not be noticed."""


def revision_of(function: Callable[..., Any]) -> tuple[str | None, str]:
    """Hash a function's source and all it refers to in its own module.

    Gives None and what is in the way if it depends on something that has no source, such as an
    object. Other modules count by name only.
    """
    if not isinstance(function, FunctionType):
        return None, "more than a function's source"
    try:
        parts = _Walk(function.__module__).of(function, f"function {function.__name__!r}")
    except _Unseen as unseen:
        return None, str(unseen)
    return hashlib.sha256(repr(parts).encode()).hexdigest(), ""


class _Walk:
    """Describes values by their content; each function and class of the module once."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._seen: set[int] = set()

    def of(self, value: object, name: str) -> object:
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, re.Pattern):
            return ("pattern", value.pattern, value.flags)
        if isinstance(value, ModuleType):
            return ("module", value.__name__)
        if isinstance(value, list | tuple | set | frozenset | Mapping):
            return self._collection(value, name)
        if isinstance(value, FunctionType | type | BuiltinFunctionType):
            return self._definition(value, name)
        raise _Unseen(f"{name}, an object of type {type(value).__name__!r}")

    def _collection(self, value: Any, name: str) -> object:  # noqa: ANN401 - of whatever
        if id(value) in self._seen:
            return "again"
        self._seen.add(id(value))
        if isinstance(value, Mapping):
            pairs = value.items()
            return [(self.of(key, name), self.of(part, name)) for key, part in pairs]
        parts = [self.of(part, name) for part in value]
        # The order of a set differs from process to process.
        return sorted(map(repr, parts)) if isinstance(value, set | frozenset) else parts

    def _definition(self, value: FunctionType | type | BuiltinFunctionType, name: str) -> object:
        known = (value.__module__, value.__qualname__)
        if value.__module__ != self._module or id(value) in self._seen:
            return known
        self._seen.add(id(value))
        try:
            # Of its code: that of a function that wraps another is not the other's.
            source = inspect.getsource(value.__code__ if isinstance(value, FunctionType) else value)
        except (OSError, TypeError):
            raise _Unseen(f"{name}, whose source is not known") from None
        if isinstance(value, type):
            return (*known, source, self._inside(value))
        if not isinstance(value, FunctionType):
            return (*known, source)
        # Lambdas of one line have all of them the same source.
        compiled = self._compiled(value.__code__) if value.__name__ == "<lambda>" else None
        return (*known, source, compiled, self._surroundings(value))

    def _inside(self, value: type) -> object:
        """Describe a class beyond its source: its bases, what its methods refer to, its values."""
        bases = [self.of(base, f"class {base.__name__!r}") for base in value.__bases__]
        methods = [self._surroundings(method) for method in _methods(value)]
        values = [
            (name, self.of(part, repr(name)))
            for name, part in vars(value).items()
            if isinstance(part, _PLAIN) and not name.startswith("__")
        ]
        return (bases, methods, values)

    def _compiled(self, code: CodeType) -> object:
        constants = [
            self._compiled(constant) if isinstance(constant, CodeType) else self.of(constant, "")
            for constant in code.co_consts
            if isinstance(constant, (CodeType, *_PLAIN, tuple, frozenset))
        ]
        return (code.co_code, code.co_names, constants)

    def _surroundings(self, function: FunctionType) -> object:
        """Describe what a function closes over, its defaults, and the globals it reads."""
        closed = dict(_closed_over(function))
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        read = {
            name: function.__globals__[name]
            for name in sorted(set(_globals_read(function.__code__)))
            if name in function.__globals__
        }
        return (
            [(name, self.of(value, repr(name))) for name, value in sorted(closed.items())],
            [self.of(value, "a default") for value in defaults],
            [(name, self.of(value, repr(name))) for name, value in read.items()],
        )


def _methods(value: type) -> Iterator[FunctionType]:
    for part in vars(value).values():
        inner: tuple[object, ...] = (part,)
        if isinstance(part, staticmethod | classmethod):
            inner = (part.__func__,)
        elif isinstance(part, property):
            inner = (part.fget, part.fset, part.fdel)
        yield from (one for one in inner if isinstance(one, FunctionType))


def _closed_over(function: FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # nothing was assigned to it yet


def _globals_read(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_read(constant)
