from __future__ import annotations
import keys_of_training
import keys_of_epoch_ends
import keys_of_measuring
import keys_of_optimizing
import pytest
from key_runs import LoopRow
LOOP_ROWS = (*keys_of_training.ROWS,*keys_of_optimizing.ROWS, *keys_of_epoch_ends.ROWS, *keys_of_measuring.ROWS)
@pytest.mark.parametrize("row", LOOP_ROWS, ids=lambda row: row.key)
def test_a_setting_changes_what_a_run_does(row: LoopRow) -> None:
    row.check(*row.runs())
@pytest.mark.parametrize("row", LOOP_ROWS, ids=lambda row: row.key)
def test_xx(row: LoopRow) -> None:
    runs=row.runs()
    for run in runs:
        with pytest.raises(AssertionError):
            row.check(*[run]*len(runs))
