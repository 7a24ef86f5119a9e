"""Standard streams that are closed, full or left by their reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from producer.cli import main

ROOT = Path(main.__file__).parents[2]
START = "from producer.cli.main import entry; entry()"
SPEC = "configs/example/spec.yaml"


def run_in_shell(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", START, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code"), [(["check", SPEC], 0), (["check", "no.yaml"], 2), (["--help"], 0)]
)
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_process_without_a_stream_still_ends_with_its_code(redirection, arguments, code):
    done = run_in_shell(redirection, *arguments)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_standard_output_is_one_message_on_the_other_stream(more):
    done = run_in_shell(">/dev/full", "check", SPEC, *more)
    assert done.returncode == 4
    assert done.stderr == "skillopt: the operating system refused: No space left on device\n"


@pytest.mark.parametrize("arguments", [["check", SPEC], ["run", "--help"]])
def test_a_reader_that_has_left_is_not_an_error_of_its_own(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-c", START, *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            cwd=ROOT,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
