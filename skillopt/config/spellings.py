"""Words that are not keys here but have a known meaning: other tools' spellings, later features."""

from __future__ import annotations

from skillopt.domain.item import SPLITS, SplitName

_SPEED = "use the options --workers N and --concurrency N"
_NO_DENSITY = "remove it; words such as MUST or NEVER earn a document nothing here"
_PARAMS = "into the params of a backend in the catalogue, or of a role: model.optimizer.params"
_OUTPUT_TOKENS = f"write max_output_tokens {_PARAMS}"
_EFFORT = f"write reasoning_effort {_PARAMS}"

#: Key names of other tools -> what to write instead, or why there is nothing to write.
FOREIGN_KEYS = {
    "_base_": "write `extends: other.yaml`",
    "edit_budget": "write optimizer.learning_rate (edits per step)",
    "max_edits": "write optimizer.learning_rate (edits per step)",
    "min_edit_budget": "write optimizer.min_learning_rate",
    "meta_learning_rate": "remove it; the meta skill has no rate",
    "slow_update": "write optimizer.use_slow_update",
    "meta_skill": "write optimizer.use_meta_skill",
    "skill_aware": "write optimizer.use_skill_aware_reflection",
    "pair_policy": "write optimizer.longitudinal_pair_policy",
    "use_semantic_density": _NO_DENSITY,
    "semantic_density_weight": _NO_DENSITY,
    "leading_words": _NO_DENSITY,
    "gate_no_regression": "write evaluation.no_regression, a list of val tasks",
    "repeats": "write evaluation.samples",
    "sel_env_num": "write evaluation.val_limit (null is all)",
    "test_env_num": "write evaluation.test_limit (null is all)",
    "limit": "use the option --limit N, or evaluation.val_limit and evaluation.test_limit",
    "out_root": "use the option --store DIR",
    "train_size": "remove it; the number of train tasks is counted",
    "steps_per_epoch": "remove it; it follows from train.batch_size and train.accumulation",
    "analyst_workers": _SPEED,
    "workers": _SPEED,
    "skill_init": "write `skill: SKILL.md`",
    "data_path": "write `tasks: FILE`",
    "split_dir": "write `tasks: FOLDER`",
    "split_mode": "remove it; the layout of `tasks` decides",
    "split_output_dir": "remove it; a run keeps its splits in its own folder",
    "split_ratio": "write split.ratio",
    "split_seed": "write split.seed",
    "valid_seen": "the split is called val",
    "selection": "the split is called val",
    "valid_unseen": "the split is called test",
    "exec_timeout": "write timeout_s into a backend of the catalogue",
    "max_completion_tokens": _OUTPUT_TOKENS,
    "rewrite_max_completion_tokens": "write model.optimizer.stages.rewrite.max_output_tokens",
    "reasoning_effort": _EFFORT,
    "rewrite_reasoning_effort": "write model.optimizer.stages.rewrite.reasoning_effort",
    "optimizer_backend": "write model.optimizer, the name of a backend in the catalogue",
    "target_backend": "write model.target, the name of a backend in the catalogue",
}

#: Values of other tools by our key -> what to write instead.
FOREIGN_VALUES: dict[str, dict[str, str]] = {
    "optimizer.lr_scheduler": {
        "autonomous": "write optimizer.lr_control_mode: autonomous",
        "none": "write optimizer.lr_control_mode: none",
    },
    "optimizer.lr_control_mode": {
        "manual": "write fixed",
        "scheduler": "write fixed",
        "scheduled": "write fixed",
        "auto": "write autonomous",
        "optimizer": "write autonomous",
        "off": "write none",
        "no_lr": "write none",
    },
    "optimizer.skill_update_mode": {
        "edit": "write patch",
        "edits": "write patch",
        "rewrite": "write rewrite_from_suggestions",
        "full_rewrite": "write full_rewrite_minibatch",
    },
}

#: Keys that would write a secret into a file.
SECRET_KEYS = frozenset({"api_key", "key", "token", "secret", "password"})

#: Keys of features that this version does not have.
LATER_KEYS = {
    "candidates": "remove it; each step has one candidate",
    "targets": "name one backend with model.target",
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
    ours = None
    if isinstance(name, str):
        ours = foreign_split(name) or split_named(name.strip().lower())
    if ours:
        return f"the split {name!r} is called {ours!r} here"
    return f"the split {name!r} is not known; give train, val or test"
