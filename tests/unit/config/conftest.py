from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from config_workspace import Workspace

from skillopt.errors import InputError


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def faults(workspace: Workspace) -> Callable[..., list[str]]:
    """Load, expect it to fail, and give the messages with the folder's own path taken out."""

    def load(**options: object) -> list[str]:
        with pytest.raises(InputError) as caught:
            workspace.load(**options)
        return str(caught.value).replace(f"{workspace.folder}/", "").splitlines()

    return load
