"""Task files as they are: .jsonl, .json and .csv to records that know their line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillopt.config.json_source import decode, decode_at
from skillopt.config.origins import Origin, Problems
from skillopt.config.text_file import read_text
from skillopt.errors import TaskError

_SPACE = " \t\r\n"


@dataclass(frozen=True)
class Record:
    """One record, not yet understood."""

    where: Origin
    values: dict[str, Any]
    #: All values are texts (a table's cells); lists and objects in them are JSON.
    is_row: bool = False


def read_records(path: Path) -> list[Record]:
    """Read all records of a task file; raises TaskError naming file and line."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise TaskError(
            f"{path}: the ending {path.suffix!r} is not known; give a .jsonl, .json or .csv file"
        )
    text = read_text(path, what="a task file", error=TaskError)
    if not text.strip():
        raise TaskError(f"{path}: is empty; write one task record per line")
    problems = Problems()
    records = reader(text, str(path), problems)
    problems.raise_any(TaskError)
    if not records:
        raise TaskError(f"{path}: holds no task record; add at least one")
    folder = path.parent
    return [replace(one, where=replace(one.where, folder=folder)) for one in records]


def _read_jsonl(text: str, file: str, problems: Problems) -> list[Record]:
    records: list[Record] = []
    if _is_one_list(text):
        problems.add(
            Origin(file, 1),
            "holds one JSON list; name the file .json, or write one record per line",
        )
        return records
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = Origin(file, number)
        try:
            value = decode(line)
        except ValueError as error:
            problems.add(where, f"{_json_fault(error)}; write one JSON object per line")
            continue
        _add_record(records, where, value, problems)
    return records


def _is_one_list(text: str) -> bool:
    if text.lstrip()[:1] != "[":
        return False
    try:
        decode(text)
    except ValueError:
        return False
    return True


def _read_json(text: str, file: str, problems: Problems) -> list[Record]:
    """Read a list of objects one by one, to know the line each begins on."""
    records: list[Record] = []
    place = _skip(text, 0)
    if text[place] != "[":
        problems.add(
            Origin(file, text.count("\n", 0, place) + 1),
            "is not a list of task records; write [ … ] around them, or one record per line "
            "into a .jsonl file",
        )
        return records
    place, counted, line = _skip(text, place + 1), 0, 1
    try:
        while not text.startswith("]", place):
            line, counted = line + text.count("\n", counted, place), place
            where = Origin(file, line)
            value, place = decode_at(text, place)
            _add_record(records, where, value, problems)
            place = _skip(text, place)
            if text.startswith(",", place):
                comma, place = place, _skip(text, place + 1)
                if text.startswith("]", place):
                    raise json.JSONDecodeError("a record is missing after ','", text, comma)
            elif not text.startswith("]", place):
                raise json.JSONDecodeError("expected ',' or ']' here", text, place)
        if _skip(text, place + 1) < len(text):
            raise json.JSONDecodeError("there is text after the list", text, place + 1)
    except json.JSONDecodeError as error:
        problems.add(Origin(file, error.lineno), f"{_json_fault(error)}; repair it")
    except ValueError as error:
        problems.add(where, f"{_json_fault(error)}; repair it")
    return records


def _read_csv(text: str, file: str, problems: Problems) -> list[Record]:
    records: list[Record] = []
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    start = 1
    try:
        header = [name.strip() for name in next((row for row in rows if any(row)), [])]
        if not header:
            return records
        top = Origin(file, rows.line_num)
        separator = next((mark for mark in ";\t|" if mark in header[0]), None)
        if len(header) == 1 and separator:
            problems.add(
                top, f"the columns are separated by {separator!r}; separate them by commas"
            )
            return records
        for name in header:
            if not name or header.count(name) > 1:
                problems.add(top, f"the column name {name!r} is empty or given twice; rename it")
        start = rows.line_num + 1
        for row in rows:
            where, start = Origin(file, start), rows.line_num + 1
            if not any(row):
                continue
            if len(row) != len(header):
                problems.add(
                    where,
                    f"has {len(row)} cells, but the header has {len(header)}; put cells with "
                    "commas in quotes",
                )
                continue
            values = {name: cell for name, cell in zip(header, row, strict=True) if cell.strip()}
            records.append(Record(where, values, is_row=True))
    except csv.Error as error:
        problems.add(
            Origin(file, start),
            f"not valid CSV: {error}; check the quotes, or use a .jsonl file",
        )
    return records


_READERS: dict[str, Callable[[str, str, Problems], list[Record]]] = {
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".csv": _read_csv,
}
SUFFIXES = tuple(_READERS)


def _add_record(
    records: list[Record],
    where: Origin,
    value: Any,  # noqa: ANN401 - any JSON value
    problems: Problems,
) -> None:
    if isinstance(value, dict):
        records.append(Record(where, value))
    else:
        problems.add(where, f"{value!r} is not a task record; write a JSON object {{…}}")


def _json_fault(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON at column {error.colno}: {error.msg}"
    return f"not valid JSON: {error}"


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place
