"""What `optimizer` changes at the end of an epoch."""

from __future__ import annotations

from key_runs import LoopRow, asked, final_text, first, seen, stages
from scripted_run import ScriptedRun
from setting_models import EMPTY_ADVICE, Forgetful, WithoutAdvice

from skillopt.domain.events import Compared, Gated, MetaLearned, Proposed
from skillopt.domain.skill import SkillDocument

#: Every step is adopted, so that the documents of two epochs differ.
SLOW_UPDATE = {"optimizer.use_slow_update": True, "evaluation.use_gate": False}
TAUGHT = "What editing has taught so far"


def guidance(without: ScriptedRun, with_guidance: ScriptedRun) -> None:
    assert not seen(without, Compared)
    assert "slow_update" not in stages(without)
    proposed = [one for one in seen(with_guidance, Proposed) if one.source == "slow_update"]
    assert [(one.step, one.how) for one in proposed] == [(4, "guidance")]
    assert SkillDocument.parse(proposed[0].text).slow_update
    assert [gate.source for gate in seen(with_guidance, Gated)][-1] == "slow_update"


def compared_tasks(three: ScriptedRun, twenty: ScriptedRun) -> None:
    assert len(first(three, Compared).sampled) == len(first(three, Compared).pairs) == 3
    assert len(first(twenty, Compared).sampled) == len(twenty.plan.splits.train)


def gate_of_guidance(gated: ScriptedRun, forced: ScriptedRun) -> None:
    for run, is_forced in ((gated, False), (forced, True)):
        gate = seen(run, Gated)[-1]
        assert (gate.source, gate.verdict, gate.forced) == ("slow_update", "reject", is_forced)
        assert (EMPTY_ADVICE in final_text(run)) == is_forced
        assert (run.state.current == gate.skill) == is_forced
        assert run.state.best != gate.skill, "only an accepting gate makes a best document"


def pair_policies(mixed: ScriptedRun, changed: ScriptedRun, unchanged: ScriptedRun) -> None:
    pairs = [
        {pair.item: pair.change for pair in first(run, Compared).pairs}
        for run in (mixed, changed, unchanged)
    ]
    assert set(pairs[1].values()) == {"improved", "regressed"}
    assert pairs[2]
    assert set(pairs[2].values()) <= {"persistent_fail", "stable_success"}
    assert pairs[0] == {**pairs[1], **pairs[2]}
    assert len(pairs[0]) == len(mixed.plan.splits.train)


def memory_of_the_optimizer(without: ScriptedRun, learns: ScriptedRun) -> None:
    assert "meta_skill" not in stages(without)
    assert not any(TAUGHT in text for text in asked(without))
    lesson = first(learns, MetaLearned)
    assert (lesson.epoch, lesson.status) == (2, "ok")
    later = asked(learns, "reflect_failure")[-1]
    assert TAUGHT in later
    assert lesson.content in later
    told = {documents.skill for documents in learns.state.texts.values()}
    assert not any(lesson.content in text for text in told), "the target never sees it"


ROWS = (
    LoopRow("optimizer.use_slow_update", (False, True), guidance),
    LoopRow(
        "optimizer.slow_update_samples", (3, 20), compared_tasks, SLOW_UPDATE, models=Forgetful()
    ),
    LoopRow(
        "optimizer.slow_update_gate_with_selection",
        (True, False),
        gate_of_guidance,
        {"optimizer.use_slow_update": True},
        models=WithoutAdvice(),
    ),
    LoopRow(
        "optimizer.longitudinal_pair_policy",
        ("mixed", "changed", "unchanged"),
        pair_policies,
        {**SLOW_UPDATE, "optimizer.learning_rate": 1},
        models=Forgetful(),
    ),
    LoopRow(
        "optimizer.use_meta_skill",
        (False, True),
        memory_of_the_optimizer,
        {"train.num_epochs": 3, "optimizer.learning_rate": 1},
        models=Forgetful(),
    ),
)
