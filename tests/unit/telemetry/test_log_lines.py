"""Log lines as JSON: named fields only, and what each line is about."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator

import pytest

from skillopt.errors import ConfigError
from skillopt.telemetry.log_lines import (
    JsonLines,
    SubjectFilter,
    TextLines,
    log_about,
    log_format,
    note_subjects,
)


class Written:
    def __init__(self) -> None:
        self.stream = io.StringIO()
        handler = logging.StreamHandler(self.stream)
        handler.setFormatter(JsonLines())
        handler.addFilter(SubjectFilter())
        self.log = logging.Logger("a.part")
        self.log.addHandler(handler)

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def written() -> Iterator[Written]:
    return Written()


def test_a_line_says_what_happened_and_to_whom(written: Written) -> None:
    with log_about(backend="sim"):
        note_subjects(run="r1", job="j1")
        note_subjects(attempt=2)
        written.log.warning("given %s", "back", extra={"event": "given_back"})
    [line] = written.lines()
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "warning",
        "logger": "a.part",
        "message": "given back",
        "event": "given_back",
        "run": "r1",
        "job": "j1",
        "backend": "sim",
        "attempt": 2,
    }


def test_what_a_block_was_about_ends_with_it(written: Written) -> None:
    with log_about(backend="sim"):
        note_subjects(run="r1")
        with log_about(job="j1"):
            note_subjects(attempt=1)
        written.log.error("inside")
    written.log.error("outside")
    inside, outside = written.lines()
    assert (inside["backend"], inside["run"]) == ("sim", "r1")
    assert "job" not in inside
    assert "attempt" not in inside
    assert not {"run", "job", "backend", "attempt"} & set(outside)


def test_outside_of_a_block_nothing_is_noted(written: Written) -> None:
    note_subjects(run="r1")
    written.log.error("nothing")
    assert "run" not in written.lines()[0]


def test_what_the_caller_names_wins(written: Written) -> None:
    with log_about(job="mine"):
        written.log.error("about another", extra={"job": "theirs"})
    assert written.lines()[0]["job"] == "theirs"


def test_threads_do_not_mix_their_subjects(written: Written) -> None:
    def work(run: str) -> None:
        with log_about(run=run):
            written.log.error("%s", run)

    threads = [threading.Thread(target=work, args=[f"r{n}"]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(line["run"], line["message"]) for line in written.lines()} == {
        (f"r{n}", f"r{n}") for n in range(8)
    }


def test_a_value_that_is_not_ours_stays_out(written: Written) -> None:
    written.log.error("called", extra={"prompt": "a secret prompt", "run": object()})
    [line] = written.lines()
    assert "secret" not in json.dumps(line)
    assert "run" not in line


def test_an_exception_and_line_ends_stay_on_one_line(written: Written) -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        written.log.exception("it\nfailed")
    [line] = written.lines()
    assert line["message"] == "it\nfailed"
    assert "ValueError: two\nlines" in line["exception"]


def test_people_read_what_a_line_is_about_at_its_end() -> None:
    record = logging.LogRecord("a.part", logging.INFO, "", 1, "request", None, None)
    record.__dict__.update(method="GET", path="/api/v1/runs", status=200, caller="", prompt="x")
    assert (
        TextLines()
        .format(record)
        .endswith(" INFO a.part: request (method=GET path=/api/v1/runs status=200)")
    )
    plain = logging.LogRecord("a.part", logging.INFO, "", 1, "nothing", None, None)
    assert TextLines().format(plain).endswith(" INFO a.part: nothing")


def test_an_unknown_format_is_named() -> None:
    assert (log_format("json"), log_format("text")) == ("json", "text")
    with pytest.raises(ConfigError, match="'xml'"):
        log_format("xml")
