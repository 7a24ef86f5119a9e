"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_command import SIMULATOR, FleetCommand, spec_text, until

MakeCommand = Callable[..., FleetCommand]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[MakeCommand]:
    """Make commands in folders of their own; whatever they leave running fails the test."""
    made: list[FleetCommand] = []

    def make(name: str = "run", *arguments: str, **simulator: Any) -> FleetCommand:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "spec.yaml").write_text(spec_text(**{**SIMULATOR, **simulator}))
        made.append(FleetCommand(folder, arguments))
        return made[-1]

    yield make
    for one in made:
        one.end()
    for one in made:
        until(lambda one=one: not one.every_process(), f"the end of {one.every_process()}", 30)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> FleetCommand:
    """A run that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "spec.yaml").write_text(spec_text(**{**SIMULATOR, "latency_s": 0}))
    reference = FleetCommand(folder)
    assert reference.run() == 0, reference.err()
    return reference
