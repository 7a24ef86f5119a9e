"""What the keys change that say what is trained, on which tasks and by which models."""

from __future__ import annotations

from typing import Any

from config_workspace import ids, sizes
from key_runs import asked
from key_specs import LOCAL, MEMORY, OTHER_SKILL, OWN_TEMPLATE, SpecRow, task
from scripted_run import Models, ScriptedRun

from skillopt.config.load import LoadedSpec
from skillopt.domain.events import Measured
from skillopt.domain.item import ExactJudge, Item
from skillopt.domain.jobs import OptimizeSpec, RolloutSpec
from skillopt.loop.jobs import JobFactory

COOLER = {"temperature": 0.5}
#: Several analysts in a step, so that there is something to merge.
MERGING = {"gradient.minibatch_size": 2}
OTHERS = {"tasks": "others.jsonl", "fields": {"task": "question"}}


def names(one: LoadedSpec, other: LoadedSpec) -> None:
    assert one.plan.run_id.startswith("first-")
    assert other.plan.run_id.startswith("second-")
    assert one.plan.identity == other.plan.identity, "a name does not change what comes out"


def skills(one: LoadedSpec, other: LoadedSpec) -> None:
    assert one.plan.skill != other.plan.skill == OTHER_SKILL
    assert other.skill_path.name == "OTHER.md"
    assert _passed_at_first(other) - _passed_at_first(one), "it knows a word"


def memories(none: LoadedSpec, written: LoadedSpec) -> None:
    assert none.plan.memory is None
    assert written.plan.memory == MEMORY
    assert {job.memory is None for job in _rollouts(none)} == {True}
    assert {job.memory is None for job in _rollouts(written)} == {False}
    assert _passed_at_first(written) - _passed_at_first(none), "it knows a word"


def prompts(packaged: LoadedSpec, own: LoadedSpec) -> None:
    changed = {
        name for name, text in packaged.plan.templates.items() if own.plan.templates[name] != text
    }
    assert changed == {"reflect_failure"}
    begin = OWN_TEMPLATE.partition("{{")[0]
    for loaded, is_own in ((packaged, False), (own, True)):
        shown = asked(_run(loaded), "reflect_failure")
        assert shown
        assert all(text.startswith(begin) == is_own for text in shown)


def tasks(twelve: LoadedSpec, six: LoadedSpec) -> None:
    for loaded, number in ((twelve, 12), (six, 6)):
        assert [item.prompt.task for item in _items(loaded)] == [
            task(n)["task"] for n in range(number)
        ]


def ratios(usual: LoadedSpec, even: LoadedSpec) -> None:
    assert sizes(usual) == (6, 3, 3)
    assert sizes(even) == (4, 4, 4)


def seeds(one: LoadedSpec, other: LoadedSpec) -> None:
    assert sizes(one) == sizes(other)
    assert set(ids(one.plan.splits.test)) != set(ids(other.plan.splits.test))


def environments(known: LoadedSpec | str, other: LoadedSpec | str) -> None:
    assert isinstance(known, LoadedSpec)
    assert {job.env for job in _rollouts(known)} == {"tasks"}
    assert isinstance(other, str)
    assert "env: 'browser'" in other
    assert "write `env: tasks`" in other


def targets(sim: LoadedSpec, local: LoadedSpec) -> None:
    for loaded, name in ((sim, "sim"), (local, "local")):
        use = loaded.plan.backends["target"]
        assert use.backend == name
        assert {job.backend for job in _rollouts(loaded)} == {use.fingerprint}


def optimizers(none: LoadedSpec, local: LoadedSpec) -> None:
    for loaded, name in ((none, "sim"), (local, "local")):
        use = loaded.plan.backends["optimizer"]
        assert use.backend == name
        specs = (job.spec for job in _run(loaded).performed.values())
        prints = {spec.backend for spec in specs if isinstance(spec, OptimizeSpec)}
        assert prints == {use.fingerprint}
        assert loaded.plan.backends["target"].backend == "sim"


def judges_of_models(none: LoadedSpec | str, unknown: LoadedSpec | str) -> None:
    assert isinstance(none, LoadedSpec)
    assert isinstance(unknown, str)
    assert "model.judge: no backend is called 'nobody'" in unknown


def target_params(own: LoadedSpec, cooler: LoadedSpec) -> None:
    for loaded, temperature in ((own, None), (cooler, 0.5)):
        jobs = _rollouts(loaded)
        assert {_temperature(job.params) for job in jobs} == {temperature}
        assert {job.backend for job in jobs} == {loaded.plan.backends["target"].fingerprint}
        assert {_temperature(job.params) for job in _asked(loaded)} == {None}


def optimizer_params(own: LoadedSpec, cooler: LoadedSpec) -> None:
    for loaded, temperature in ((own, None), (cooler, 0.5)):
        assert {_temperature(job.params) for job in _asked(loaded)} == {temperature}
        assert {_temperature(job.params) for job in _rollouts(loaded)} == {None}


def optimizer_stages(none: LoadedSpec, merging: LoadedSpec) -> None:
    for loaded, temperature in ((none, None), (merging, 0.5)):
        found = {(job.stage == "merge", _temperature(job.params)) for job in _asked(loaded)}
        assert found == {(True, temperature), (False, None)}


def judge_params(own: LoadedSpec, cooler: LoadedSpec) -> None:
    for loaded, temperature in ((own, None), (cooler, 0.5)):
        use = loaded.plan.backends["judge"]
        assert (use.backend, use.effective.temperature) == ("sim", temperature)
        factory = JobFactory(loaded.plan, "run")
        judgement = factory.judge(loaded.plan.splits.val[0], "reply")
        assert judgement.backend == use.fingerprint
        assert _temperature(judgement.params) == temperature


def judges(whole: LoadedSpec, part: LoadedSpec) -> None:
    for loaded, substring in ((whole, False), (part, True)):
        for item in _items(loaded):
            number = int(item.id.removeprefix("t-"))
            answer = task(number)["answers"]
            assert item.judge == ExactJudge(answer=str(answer), substring=substring)


def columns(none: LoadedSpec | str, mapped: LoadedSpec | str) -> None:
    assert isinstance(none, str)
    assert "no 'task'" in none
    assert isinstance(mapped, LoadedSpec)
    assert [item.prompt.task for item in _items(mapped)] == [task(n)["question"] for n in range(12)]


def own_backends(none: LoadedSpec | str, defined: LoadedSpec | str) -> None:
    assert isinstance(none, str)
    assert "no backend is called 'local'" in none
    assert isinstance(defined, LoadedSpec)
    backend = defined.backends["local"]
    assert (backend.model, backend.base_url) == (LOCAL["model"], LOCAL["base_url"])


def label_words(none: LoadedSpec, team: LoadedSpec) -> None:
    assert none.labels == {}
    assert team.labels == {"team": "blue"}
    assert none.plan.run_id == team.plan.run_id, "a label does not make another run"


def val_limit(all_of_them: LoadedSpec, two: LoadedSpec) -> None:
    assert (sizes(all_of_them), sizes(two)) == ((6, 3, 3), (6, 2, 3))
    assert two.plan.splits.val == all_of_them.plan.splits.val[:2]


def test_limit(all_of_them: LoadedSpec, one: LoadedSpec) -> None:
    assert (sizes(all_of_them), sizes(one)) == ((6, 3, 3), (6, 3, 1))
    assert one.plan.splits.test == all_of_them.plan.splits.test[:1]


def _items(loaded: LoadedSpec) -> list[Item]:
    splits = loaded.plan.splits
    return sorted(
        (*splits.train, *splits.val, *splits.test), key=lambda item: int(item.id.split("-")[1])
    )


def _run(loaded: LoadedSpec) -> ScriptedRun:
    return ScriptedRun(loaded.plan, models=Models()).finish()


def _rollouts(loaded: LoadedSpec) -> list[RolloutSpec]:
    specs = (job.spec for job in _run(loaded).performed.values())
    return [spec for spec in specs if isinstance(spec, RolloutSpec)]


def _asked(loaded: LoadedSpec) -> list[OptimizeSpec]:
    specs = (job.spec for job in _run(loaded).performed.values())
    return [spec for spec in specs if isinstance(spec, OptimizeSpec)]


def _temperature(params: dict[str, Any] | None) -> Any:
    return (params or {}).get("temperature")


def _passed_at_first(loaded: LoadedSpec) -> set[str]:
    """Give the val and test tasks that the documents of the spec pass as they are."""
    run = _run(loaded)
    first = [
        event.measurement
        for event in run.events
        if isinstance(event, Measured) and event.measurement.skill == run.plan.initial_key
    ]
    return {item for one in first for item, score in one.items.items() if score.hard == 1.0}


ROWS = (
    SpecRow("name", ("first", "second"), names),
    SpecRow("skill", ("SKILL.md", "OTHER.md"), skills),
    SpecRow("memory", (None, "MEMORY.md"), memories),
    SpecRow("prompts", (None, "own-prompts"), prompts),
    SpecRow("tasks", ("tasks.jsonl", "six.jsonl"), tasks),
    SpecRow("split.ratio", (None, "1:1:1"), ratios),
    SpecRow("split.seed", (42, 43), seeds),
    SpecRow("env", ("tasks", "browser"), environments),
    SpecRow("model.target", ("sim", "local"), targets, {"backends": {"local": LOCAL}}),
    SpecRow("model.optimizer", (None, "local"), optimizers, {"backends": {"local": LOCAL}}),
    SpecRow("model.judge", (None, "nobody"), judges_of_models),
    SpecRow("model.target.params", ({}, COOLER), target_params),
    SpecRow("model.optimizer.params", ({}, COOLER), optimizer_params),
    SpecRow("model.optimizer.stages", ({}, {"merge": COOLER}), optimizer_stages, MERGING),
    SpecRow(
        "model.judge.params",
        ({}, COOLER),
        judge_params,
        {**OTHERS, "judge": {"kind": "rubric", "rubric": "It is polite."}},
    ),
    SpecRow(
        "judge",
        ({"kind": "exact"}, {"kind": "exact", "substring": True}),
        judges,
        OTHERS,
    ),
    SpecRow(
        "fields",
        ({}, {"task": "question"}),
        columns,
        {"tasks": "others.jsonl", "judge": {"kind": "exact"}},
    ),
    SpecRow("backends", ({}, {"local": LOCAL}), own_backends, {"model.target": "local"}),
    SpecRow("labels", ({}, {"team": "blue"}), label_words),
    SpecRow("evaluation.val_limit", (None, 2), val_limit),
    SpecRow("evaluation.test_limit", (None, 1), test_limit),
)
