"""Words that are not keys here but have a known meaning: other tools' spellings, later features."""

from __future__ import annotations

from skillopt.domain.item import SPLITS, SplitName

#: Key names of other tools -> what to write instead.
FOREIGN_KEYS = {
    "_base_": "write `extends: other.yaml`",
    "edit_budget": "write optimizer.learning_rate (edits per step)",
    "max_edits": "write optimizer.learning_rate (edits per step)",
    "min_edit_budget": "write optimizer.min_learning_rate",
    "sel_env_num": "use all of val, or cap every split with --limit N",
    "test_env_num": "use all of test, or cap every split with --limit N",
    "limit": "use the option --limit N",
    "out_root": "use the option --store DIR",
    "use_gate": "remove it; every change is gated on val",
    "slow_update_gate_with_selection": "remove it; every change is gated on val",
    "train_size": "remove it; the number of train tasks is counted",
    "steps_per_epoch": "remove it; it follows from train.batch_size and train.accumulation",
    "analyst_workers": "use the options --workers N and --concurrency N",
    "workers": "use the options --workers N and --concurrency N",
    "skill_init": "write `skill: SKILL.md`",
    "data_path": "write `tasks: FILE`",
    "split_dir": "write `tasks: FOLDER`",
    "split_mode": "remove it; the layout of `tasks` decides",
    "split_ratio": "write split.ratio",
    "split_seed": "write split.seed",
    "valid_seen": "the split is called val",
    "selection": "the split is called val",
    "valid_unseen": "the split is called test",
    "reasoning_effort": "write it into the params of a backend in the catalogue",
    "optimizer_backend": "write model.optimizer, the name of a backend in the catalogue",
    "target_backend": "write model.target, the name of a backend in the catalogue",
}

#: Keys that would write a secret into a file.
SECRET_KEYS = frozenset({"api_key", "key", "token", "secret", "password"})

#: Keys of features that this version does not have.
LATER_KEYS = {
    "candidates": "remove it; each step has one candidate",
    "targets": "name one backend with model.target",
    "evolve": "remove it; the skill evolves",
    "rpm": "remove it; limits.concurrency bounds the calls in flight",
    "tpm": "remove it; limits.concurrency bounds the calls in flight",
}

_SPLIT_SPELLINGS: dict[str, SplitName] = {
    "valid_seen": "val",
    "selection": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "valid_unseen": "test",
    "held-out": "test",
    "held_out": "test",
    "holdout": "test",
    "training": "train",
}


def foreign_split(name: str) -> SplitName | None:
    """Our name for a split that other tools call `name`."""
    return _SPLIT_SPELLINGS.get(name.lower())


def split_named(name: object) -> SplitName | None:
    """The split of exactly this name."""
    return next((split for split in SPLITS if split == name), None)


def unknown_split(name: object) -> str:
    """Say what is wrong with a split name, and which to write."""
    ours = foreign_split(name) if isinstance(name, str) else None
    if ours:
        return f"the split {name!r} is called {ours!r} here"
    return f"the split {name!r} is not known; give train, val or test"
