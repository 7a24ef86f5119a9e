"""One seed of faults, of every kind, on a fleet of real processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.disturb import run_seed
from harness.schedule import Kind

SEED = 1
#: Of the 19 faults of a seed; one that never finds anything to strike is no failure of the fleet.
FEWEST = 15


@pytest.mark.timeout(150)
def test_a_fleet_that_is_disturbed_in_every_way_ends_as_if_it_were_not(tmp_path: Path) -> None:
    report = run_seed(SEED, tmp_path)
    assert report.passed, report.text()
    assert len(report.faults) >= FEWEST, report.text()
    assert set(report.faults) | set(report.missed) == set(Kind)
    assert report.commits > 400
