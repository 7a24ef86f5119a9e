"""What a program tells of its version, and what it is told when it is asked."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from skillopt.errors import ConfigError
from skillopt.programs.folder import open_folder
from skillopt.programs.version import ask_version


def program(folder: Path, body: str) -> str:
    path = folder / "agent"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.326 (Claude Code)", "2.1.326"),
        ("codex-cli 0.169.0", "0.169.0"),
        ("GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.", "1.0.102"),
        ("agent 3.0.0-beta.2", "3.0.0-beta.2"),
        ("WARNING: cannot write /tmp/x-1.2.3/y\nagent 4.5", "4.5"),
    ],
)
def test_the_number_is_taken_from_what_is_printed(tmp_path, said, version):
    command = program(tmp_path, f"print({said!r})")
    assert ask_version(command, os.environ, tmp_path / "r") == version


def test_the_program_is_asked_in_an_empty_home_without_the_callers_environment(tmp_path):
    report = tmp_path / "report"
    body = f"json.dump([sys.argv, dict(os.environ), os.listdir('.')], open({str(report)!r}, 'w'))"
    command = program(tmp_path, f"{body}\nprint('1.2.3')")
    environ = {**os.environ, "MY_SECRET": "planted"}
    assert ask_version(command, environ, tmp_path / "r") == "1.2.3"
    argv, env, listed = json.loads(report.read_text())
    assert argv[1:] == ["--version"] and listed == []
    assert "MY_SECRET" not in env and env["HOME"] != os.environ.get("HOME")
    assert env["XDG_CACHE_HOME"] == str(tmp_path / "r" / "cache")
    assert not Path(env["HOME"]).exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("print('hello')", "it prints no version"),
        ("print('1.2.3'); sys.exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ],
)
def test_a_program_that_tells_no_version_is_refused_with_what_it_did(tmp_path, body, words):
    with pytest.raises(ConfigError, match=rf"agent --version` does not tell a version \({words}"):
        ask_version(program(tmp_path, body), os.environ, tmp_path / "r")


def test_a_program_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"'no-such' is not found here; install it"):
        ask_version("no-such", {"PATH": str(tmp_path)}, tmp_path / "r")


def test_a_folder_that_others_can_read_is_not_used(tmp_path):
    (tmp_path / "r").mkdir(mode=0o755)
    with pytest.raises(ConfigError, match="is open to others"):
        open_folder(tmp_path / "r")
