from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from embedded_processes import Tree, is_running


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    tree = Tree(tmp_path)
    yield tree
    if tree.file.exists():
        for pid in tree.pids():
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def run_owner() -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Start a Python program as an owner; ended (by its id) after the test."""
    owners: list[subprocess.Popen[bytes]] = []

    def start(program: str, *arguments: str) -> subprocess.Popen[bytes]:
        owner = subprocess.Popen(
            [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, cwd=Path.cwd()
        )
        owners.append(owner)
        return owner

    yield start
    for owner in owners:
        owner.kill()
        owner.wait()
        assert owner.stdout is not None
        owner.stdout.close()
