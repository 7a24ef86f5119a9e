from __future__ import annotations

import pytest

from skillopt.backends.cli.workspace import Workspace


@pytest.fixture
def workspace(tmp_path):
    made = Workspace.create(tmp_path / "r")
    yield made
    made.remove()
