"""Every key of a spec file changes something that can be seen, in the way that it says.

One row for each key: values of it, and what a whole run, or a loaded plan, looks like with each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import keys_of_budgets
import keys_of_epoch_ends
import keys_of_inputs
import keys_of_measuring
import keys_of_optimizing
import keys_of_training
import pytest
from key_runs import LoopRow
from key_specs import SpecRow, furnish, load
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from skillopt.config.schema import SpecFile
from skillopt.domain.spec import Budget, Settings
from skillopt.domain.usage import ROLES

LOOP_ROWS: tuple[LoopRow, ...] = (
    *keys_of_training.ROWS,
    *keys_of_optimizing.ROWS,
    *keys_of_epoch_ends.ROWS,
    *keys_of_measuring.ROWS,
)
SPEC_ROWS: tuple[SpecRow, ...] = (*keys_of_inputs.ROWS, *keys_of_budgets.ROWS)
ROWS: tuple[LoopRow | SpecRow, ...] = (*LOOP_ROWS, *SPEC_ROWS)

loop_rows = pytest.mark.parametrize("row", LOOP_ROWS, ids=lambda row: row.key)
spec_rows = pytest.mark.parametrize("row", SPEC_ROWS, ids=lambda row: row.key)


def leaves(model: type[BaseModel], before: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Give every key of a model that is no section, dotted, with what it may hold."""
    for name, field in model.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from leaves(section, f"{before}{name}.")
        else:
            yield f"{before}{name}", field


KEYS = dict(leaves(SpecFile))
#: What a role has that is written as a section instead of a name.
KEYS |= {f"model.{role}.params": FieldInfo(annotation=dict) for role in ROLES}
KEYS["model.optimizer.stages"] = FieldInfo(annotation=dict)


# --- the table ----------------------------------------------------------------------------------


def test_every_key_has_one_row() -> None:
    assert sorted(row.key for row in ROWS) == sorted(KEYS)


def test_every_setting_of_the_loop_can_be_written() -> None:
    assert {key for key, _ in leaves(Settings)} <= KEYS.keys()
    assert {f"budget.{key}" for key, _ in leaves(Budget)} <= KEYS.keys()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_row_tries_every_word_that_its_key_may_have(row: LoopRow | SpecRow) -> None:
    words = get_args(KEYS[row.key].annotation)
    if get_origin(KEYS[row.key].annotation) is Literal:
        assert set(words) <= set(row.values)
    assert len(row.values) > 1


# --- what the keys do ---------------------------------------------------------------------------


@loop_rows
def test_a_setting_changes_what_a_run_does(row: LoopRow) -> None:
    row.check(*row.runs())


@loop_rows
def test_a_row_notices_a_run_with_another_value_than_it_should_have(row: LoopRow) -> None:
    runs = row.runs()
    for place, other in permutations(range(len(runs)), 2):
        with pytest.raises(AssertionError):
            row.check(*runs[:place], runs[other], *runs[place + 1 :])


@loop_rows
def test_a_setting_that_is_written_reaches_the_plan(row: LoopRow, tmp_path: Path) -> None:
    workspace = furnish(tmp_path)
    val_task = load(workspace, {}).plan.splits.val[0].id
    identities = set()
    for value in row.values:
        written = _writable(row.key, value, val_task)
        plan = load(workspace, {**row.around, row.key: written}).plan
        found: Any = plan.settings
        for name in row.key.split("."):
            found = getattr(found, name)
        assert found == (tuple(written) if isinstance(written, list) else written)
        identities.add(plan.identity)
    assert len(identities) == len(row.values), "each value makes another run"


def _writable(key: str, value: Any, val_task: str) -> Any:
    """Give a value as a spec has it: a list, and only tasks that are there."""
    return [val_task for _ in value] if key == "evaluation.no_regression" else value


@spec_rows
def test_a_key_changes_what_is_loaded(row: SpecRow, tmp_path: Path) -> None:
    row.check(*row.loaded(tmp_path))


@spec_rows
def test_a_row_notices_what_is_loaded_with_another_value(row: SpecRow, tmp_path: Path) -> None:
    found = row.loaded(tmp_path)
    for place, other in permutations(range(len(found)), 2):
        with pytest.raises(AssertionError):
            row.check(*found[:place], found[other], *found[place + 1 :])
