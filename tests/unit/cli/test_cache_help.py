"""The commands below `skillopt cache` explain themselves like all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from producer.cli.main import run_command


@pytest.mark.parametrize("name", ["stats", "show", "explain", "clear"])
def test_every_cache_command_teaches_with_an_example(capsys, name):
    assert run_command(["cache", name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"skillopt cache {name}" in out
    for word in ("Example", "--json", "--redis", "--store"):
        assert word in out


def test_the_group_lists_its_commands(capsys):
    assert run_command(["cache", "--help"]) == 0
    out = capsys.readouterr().out
    for name in ("stats", "show", "explain", "clear", "Example"):
        assert name in out


def test_a_store_that_is_not_there_is_said_and_not_made(capsys, tmp_path: Path):
    missing = tmp_path / "none"
    assert run_command(["cache", "stats", "--store", str(missing)]) == 2
    assert "--store" in capsys.readouterr().err
    assert not missing.exists()
