"""Plans with every mode and switch of the loop, in any combination."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from scripted_run import SKILL, item, make_plan

from skillopt.domain.item import Splits
from skillopt.domain.plan import RunPlan
from skillopt.domain.skill_folder import SkillFile

#: A word that stands in every test task and nowhere else.
SECRET = "zebra"
#: A sentence that stands once in the skill a run begins with.
MARK = "Be brief. Café."

WORDS = ("alpha", "beta", "gamma", "delta", "other", "extra")
FOLDED = (SkillFile.of("references/words.md", b"alpha\n"),)

_flag = st.booleans()
_train = st.fixed_dictionaries(
    {
        "num_epochs": st.sampled_from([1, 2, 2, 3]),
        "batch_size": st.integers(2, 4),
        "accumulation": st.integers(1, 2),
        "samples": st.integers(1, 2),
        "seed": st.integers(0, 20),
    }
)
_gradient = st.fixed_dictionaries(
    {
        "minibatch_size": st.integers(1, 3),
        "merge_batch_size": st.integers(2, 3),
        "failure_only": _flag,
        "contrastive": _flag,
        "history_tokens": st.sampled_from([50, 2_000]),
        "copy_guard": st.sampled_from(["off", "flag", "block"]),
    }
)
_optimizer = st.fixed_dictionaries(
    {
        "learning_rate": st.integers(1, 3),
        "min_learning_rate": st.integers(0, 1),
        "lr_scheduler": st.sampled_from(["constant", "linear", "cosine"]),
        "lr_control_mode": st.sampled_from(["fixed", "autonomous", "none"]),
        "skill_update_mode": st.sampled_from(
            ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]
        ),
        "max_skill_tokens": st.sampled_from([None, None, 30, 80]),
        "use_slow_update": _flag,
        "slow_update_samples": st.integers(1, 8),
        "slow_update_gate_with_selection": _flag,
        "longitudinal_pair_policy": st.sampled_from(["mixed", "changed", "unchanged"]),
        "use_meta_skill": _flag,
        "use_skill_aware_reflection": _flag,
        "skill_aware_appendix_source": st.sampled_from(["both", "failure_only"]),
        "skill_aware_consolidate_threshold": st.integers(0, 1),
    }
)
_evaluation = st.fixed_dictionaries(
    {
        "gate_metric": st.sampled_from(["hard", "soft", "mixed"]),
        "samples": st.integers(1, 2),
        "use_gate": st.sampled_from([True, True, False]),
        "significance": st.sampled_from([None, None, None, 0.4]),
        "no_regression": st.sampled_from([(), ("val-alpha",), ("all",)]),
        "early_decision": _flag,
        "eval_test": _flag,
    }
)
_stop = st.fixed_dictionaries({"patience": st.sampled_from([None, None, None, 3])})


@st.composite
def plans(draw: st.DrawFn) -> RunPlan:
    settings: dict[str, Any] = {
        "train": draw(_train),
        "gradient": draw(_gradient),
        "optimizer": draw(_optimizer),
        "evaluation": draw(_evaluation),
        "stop": draw(_stop),
        "evolve": draw(st.sampled_from(["skill", "skill", "memory", "both"])),
        "preferences": draw(st.sampled_from(["", "Short rules, please."])),
    }
    if settings["evolve"] == "both":  # a rewrite is of one document
        settings["optimizer"]["skill_update_mode"] = "patch"
    has_memory = settings["evolve"] != "skill" or draw(_flag)
    return make_plan(
        skill=SKILL,
        memory="# Memory\n" if has_memory else None,
        files=draw(st.sampled_from([None, FOLDED])),
        settings=settings,
        splits=splits(),
    )


def splits() -> Splits:
    tests = [item(f"test-{word}", word) for word in ("alpha", SECRET)]
    marked = [
        one.model_copy(
            update={"prompt": one.prompt.model_copy(update={"task": f"{one.prompt.task} {SECRET}"})}
        )
        for one in tests
    ]
    return Splits(
        train=tuple(item(f"train-{i}", word) for i, word in enumerate((*WORDS, "alpha"))),
        val=tuple(item(f"val-{word}", word) for word in (*WORDS[:5], "unknown")),
        test=tuple(marked),
    )


#: Everything there is, in each of the three ways to change a document.
EVERYTHING: dict[str, dict[str, Any]] = {
    "edits": {
        "skill_update_mode": "patch",
        "lr_control_mode": "autonomous",
        "longitudinal_pair_policy": "changed",
    },
    "suggestions": {
        "skill_update_mode": "rewrite_from_suggestions",
        "slow_update_gate_with_selection": False,
    },
    "rewrites": {
        "skill_update_mode": "full_rewrite_minibatch",
        "max_skill_tokens": 27,
        "longitudinal_pair_policy": "unchanged",
    },
}


def everything(name: str) -> RunPlan:
    """Give a plan that uses every mechanism; run it with models of a wide spread."""
    return make_plan(
        splits=splits(),
        settings={
            "train": {"num_epochs": 3, "batch_size": 4, "samples": 2},
            "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
            "optimizer": {
                "learning_rate": 2,
                "lr_scheduler": "constant",
                "use_slow_update": True,
                "use_meta_skill": True,
                "use_skill_aware_reflection": True,
                "skill_aware_consolidate_threshold": 1,
                **EVERYTHING[name],
            },
            "evaluation": {"samples": 2, "early_decision": True},
        },
    )
