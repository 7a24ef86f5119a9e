"""Lets these tests use the doubles that the unit tests have, also when they run alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

for _folder in ("producer", "config"):
    sys.path.append(str(Path(__file__).parents[1] / "unit" / _folder))

from config_workspace import Workspace  # noqa: E402 - it lies in the folder added above


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "spec")
