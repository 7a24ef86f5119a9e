"""A job that kills its workers, on a fleet of real processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.poison import run_poison

#: The chaos seed disturbs a run in every way too, in less time.
pytestmark = pytest.mark.slow


def test_a_poison_job_dies_for_all_to_see_and_none_of_its_neighbours_with_it(
    tmp_path: Path,
) -> None:
    poisoned = run_poison(tmp_path)
    assert not poisoned.problems, poisoned.text()
    assert len(poisoned.dead) == 1
