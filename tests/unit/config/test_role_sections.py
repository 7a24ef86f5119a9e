"""Roles written as sections: which parameters a role and its stages change of their backend."""

from __future__ import annotations

import json

import pytest
from config_workspace import record

from producer.view.check_page import check_object, check_page
from skillopt.config.difference import describe_changes
from skillopt.config.load import load_aa_plan, load_eval_plan
from skillopt.domain.backend import Params
from skillopt.domain.jobs import OPTIMIZE_STAGES

BACKENDS = """
backends:
  gpt:
    kind: openai_compatible
    base_url: http://127.0.0.1:9/v1
    model: m
    params:
      temperature: 0.7
      max_output_tokens: 4096
      extra_body: {top_k: 5, top_p: 0.9}
      extra_headers: {X-Team: blue}
  claude: {kind: anthropic_messages, model: c}
  responses: {kind: openai_responses, model: r}
"""
RUBRIC = {"kind": "rubric", "rubric": "It is polite."}


def plan_of(workspace, model, more="", **options):
    workspace.spec(BACKENDS + more, model=model)
    return workspace.load(**options).plan


def use_of(workspace, model, role="optimizer", **options):
    return plan_of(workspace, model, **options).backends[role]


# --- what a role changes ------------------------------------------------------------------------


def test_a_role_changes_its_backend_key_by_key(workspace):
    use = use_of(workspace, "{target: gpt, optimizer: {use: gpt, params: {temperature: 0.2}}}")
    assert use.params is not None
    assert use.params.temperature == 0.2
    assert use.params.max_output_tokens == 4096, "what it does not name stays"
    assert use.params.extra_body == {"top_k": 5, "top_p": 0.9}


def test_the_fingerprint_of_a_role_is_that_of_its_backend_with_its_parameters(workspace):
    workspace.spec(BACKENDS, model="{target: gpt, optimizer: {use: gpt, params: {seed: 3}}}")
    loaded = workspace.load()
    backend, uses = loaded.backends["gpt"], loaded.plan.backends
    assert uses["target"].fingerprint == backend.fingerprint
    assert uses["optimizer"].fingerprint == backend.using(uses["optimizer"].params).fingerprint
    assert uses["optimizer"].fingerprint != backend.fingerprint


def test_null_takes_a_parameter_away(workspace):
    params = "{temperature: null, extra_body: {top_k: null}, extra_headers: null}"
    use = use_of(workspace, f"{{target: gpt, optimizer: {{use: gpt, params: {params}}}}}")
    assert use.params == Params(max_output_tokens=4096, extra_body={"top_p": 0.9})


def test_mappings_are_changed_by_their_own_keys_and_headers_have_no_case(workspace):
    params = "{extra_body: {top_k: 9, new: {a: null}}, extra_headers: {x-team: red, X-New: n}}"
    use = use_of(workspace, f"{{target: {{use: gpt, params: {params}}}}}", "target")
    assert use.params is not None
    assert use.params.extra_body == {"top_k": 9, "top_p": 0.9, "new": {"a": None}}
    assert use.params.extra_headers == {"x-team": "red", "X-New": "n"}


@pytest.mark.parametrize("model", ["{target: gpt}", "{target: {use: gpt}}"])
def test_a_role_that_changes_nothing_says_no_parameters(workspace, model):
    use = use_of(workspace, model, "target")
    assert (use.params, use.job_params, use.stages) == (None, None, {})
    assert use.effective.temperature == 0.7


def test_a_value_that_is_the_backends_own_makes_no_other_run(workspace):
    plain = plan_of(workspace, "{target: gpt}")
    same = plan_of(workspace, "{target: {use: gpt, params: {temperature: 0.7}}}")
    assert same.identity == plain.identity
    assert same.backends["target"].params is None


def test_another_role_takes_the_backend_but_not_what_the_target_changes_of_it(workspace):
    model = "{target: {use: gpt, params: {temperature: 0}}, optimizer: {params: {seed: 1}}}"
    uses = plan_of(workspace, model).backends
    assert uses["optimizer"].backend == "gpt"
    assert (uses["optimizer"].effective.temperature, uses["optimizer"].effective.seed) == (0.7, 1)
    assert plan_of(workspace, "{target: {use: gpt, params: {seed: 2}}}").backends[
        "optimizer"
    ].params is None  # fmt: skip


def test_a_limit_that_is_taken_away_from_the_messages_api_becomes_its_usual_one(workspace):
    model = "{target: {use: claude, params: {max_output_tokens: 100}}}"
    assert use_of(workspace, model, "target").effective.max_output_tokens == 100
    model = "{target: {use: claude, params: {max_output_tokens: null, temperature: 1}}}"
    assert use_of(workspace, model, "target").effective.max_output_tokens == 4096


def test_a_variable_may_stand_in_a_parameter_as_in_the_catalogue(workspace):
    model = '{target: {use: gpt, params: {extra_headers: {X-Team: "${TEAM}"}}}}'
    use = use_of(workspace, model, "target", environ={"TEAM": "red"})
    assert use.effective.extra_headers == {"X-Team": "red"}


# --- stages -------------------------------------------------------------------------------------


def test_a_stage_goes_over_its_group_and_its_group_over_the_role(workspace):
    stages = "{reflect: {temperature: 0.4, seed: 1}, reflect_success: {seed: 2}, merge: {seed: 3}}"
    optimizer = f"{{use: gpt, params: {{temperature: 0.2}}, stages: {stages}}}"
    use = use_of(workspace, f"{{target: gpt, optimizer: {optimizer}}}")
    found = {
        stage: (use.at(stage).effective.temperature, use.at(stage).effective.seed)
        for stage in OPTIMIZE_STAGES
    }
    reflecting = {
        "reflect_failure": (0.4, 1), "reflect_success": (0.4, 2), "reflect_contrast": (0.4, 1),
    }  # fmt: skip
    rest = dict.fromkeys(OPTIMIZE_STAGES, (0.2, None))
    assert found == rest | reflecting | {"merge": (0.2, 3)}
    assert len({use.at(stage).fingerprint for stage in OPTIMIZE_STAGES}) == 4


def test_a_stage_may_return_to_the_backends_own_parameters(workspace):
    optimizer = "{use: gpt, params: {temperature: 0}, stages: {rank: {temperature: 0.7}}}"
    workspace.spec(BACKENDS, model=f"{{target: gpt, optimizer: {optimizer}}}")
    loaded = workspace.load()
    at = loaded.plan.backends["optimizer"].at("rank")
    assert at.job_params is None
    assert at.fingerprint == loaded.backends["gpt"].fingerprint
    assert at.effective.temperature == 0.7


def test_a_stage_that_the_run_never_comes_to_is_warned_of(workspace):
    stages = "{learning_rate: {seed: 1}, merge: {seed: 1}, compress: {seed: 1}}"
    workspace.spec(
        BACKENDS + "optimizer: {max_skill_tokens: 900}\n",
        model=f"{{target: gpt, optimizer: {{stages: {stages}}}}}",
    )
    [warning] = [line for line in workspace.load().warnings if "stages" in line]
    assert warning.endswith(
        "spec.yaml:3: model.optimizer.stages.learning_rate is not used: "
        "optimizer.lr_control_mode is not autonomous"
    )


# --- layers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["gpt", "{use: gpt, params: {seed: 7}}"])
def test_the_command_line_changes_a_parameter_of_a_role(workspace, below):
    use = use_of(
        workspace,
        f"{{target: sim, optimizer: {below}}}",
        overrides=["model.optimizer.params.temperature=0"],
    )
    assert (use.backend, use.effective.temperature) == ("gpt", 0)
    assert use.effective.seed == (7 if "seed" in below else None)


def test_the_command_line_may_be_the_first_to_speak_of_a_role(workspace):
    use = use_of(workspace, "{target: gpt}", overrides=["model.optimizer.stages.merge.seed=4"])
    assert (use.backend, use.at("merge").effective.seed, use.effective.seed) == ("gpt", 4, None)


def test_a_file_changes_parameters_of_a_role_that_the_file_it_extends_names(workspace):
    workspace.write("base.yaml", BACKENDS + "model: {target: gpt, optimizer: gpt}\n")
    workspace.spec("extends: base.yaml\n", model="{optimizer: {params: {temperature: 0}}}")
    loaded = workspace.load()
    assert loaded.plan.backends["optimizer"].backend == "gpt"
    assert loaded.plan.backends["optimizer"].effective.temperature == 0
    assert loaded.explained["model.optimizer"].value == "gpt"


def test_a_name_replaces_a_whole_role_with_its_parameters(workspace):
    section = "{use: gpt, params: {temperature: 0}}"
    use = use_of(
        workspace, f"{{target: sim, optimizer: {section}}}", overrides=["model.optimizer=gpt"]
    )
    assert (use.backend, use.params) == ("gpt", None)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("{target: {params: {seed: 1}}}", "model.target.use is missing; name a backend of the "),
        ("{target: {use: 5}}", "model.target.use: 5 is not the name of a backend; name a backend"),
        ("{target: {use: gpt, usse: gpt}}",
         "model.target.usse is not a known key; did you mean 'use'?"),
        ("{target: {use: gpt, stages: {merge: {}}}}",
         "model.target.stages is not known: only the optimizer has stages; remove it"),
        ("{target: {use: gpt, params: 3}}", "model.target.params: 3 is not a section; write it "),
        ("{target: {use: gpt, params: {temperatur: 0}}}",
         "model.target.params.temperatur is not a known key; did you mean 'temperature'?"),
        ("{target: {use: gpt, params: {temperatur: null}}}",
         "model.target.params.temperatur is not a known key; did you mean 'temperature'?"),
        ("{target: {use: gpt, params: {temperature: 3}}}",
         "model.target.params.temperature: 3 is too large; give a number of at least 0 and at"),
        ("{target: {use: gpt, params: {max_output_tokens: many}}}",
         "model.target.params.max_output_tokens: 'many' is not an integer; give a whole number"),
        ("{target: {use: gpt, params: {reasoning_effort: hihg}}}",
         "model.target.params.reasoning_effort: 'hihg' is not one of none, minimal, low, medium, "
         "high, xhigh; did you mean 'high'?"),
        ("{target: {use: gpt, params: {max_completion_tokens: 9}}}",
         "model.target.params.max_completion_tokens is a key of another tool; write "
         "max_output_tokens into"),
        ("{target: {use: gpt, params: {extra_headers: {Authorization: x}}}}",
         "model.target.params.extra_headers.Authorization would store a secret; remove it"),
        ("{target: {use: gpt, params: {extra_body: {api_key: x}}}}",
         "model.target.params.extra_body.api_key would store a secret; remove it"),
        ('{target: {use: gpt, params: {extra_headers: {X-A: "${MY_TOKEN}"}}}}',
         "model.target.params.extra_headers.X-A: ${MY_TOKEN} looks like a secret"),
        ("{target: {use: gpt, params: {extra_body: {messages: []}}}}",
         "model.target.params.extra_body.messages is set by skillopt for each call; remove it"),
        ("{target: {use: responses, params: {seed: 1}}}",
         "model.target.params.seed: 1 cannot be sent, the Responses API has no seed; remove it"),
        ("{target: {use: claude, params: {temperature: 1.5}}}",
         "model.target.params.temperature: 1.5 is too large; the Messages API takes 0 to 1"),
        ("{target: gpt, optimizer: {stages: {merg: {seed: 1}}}}",
         "model.optimizer.stages.merg is not a stage; did you mean 'merge'?"),
        ("{target: gpt, optimizer: {stages: {merge: 1}}}",
         "model.optimizer.stages.merge: 1 is not a section; write it like `{temperature: 0}`"),
        ("{target: gpt, optimizer: {stages: {reflect: {sed: 1}}}}",
         "model.optimizer.stages.reflect.sed is not a known key; did you mean 'seed'?"),
        ("{target: gpt, optimizer: {use: claude, stages: {rank: {reasoning_effort: low}}}}",
         "model.optimizer.stages.rank.reasoning_effort: 'low' cannot be sent under this name"),
        ("{target: gpt, judge: {use: gpt, params: {top_p: 1}}}",
         "model.judge.params.top_p is not a known key"),
    ],
)  # fmt: skip
def test_a_fault_in_a_role_names_file_line_key_value_and_fix(workspace, faults, model, fault):
    workspace.spec(BACKENDS, model=model)
    [found] = faults()
    assert found.startswith(f"spec.yaml:3: {fault}")


def test_a_fault_of_the_command_line_is_told_as_its_own(workspace, faults):
    workspace.spec(BACKENDS, model="{target: gpt}")
    [found] = faults(overrides=["model.target.params.temperature=hot"])
    assert found.startswith("--set: model.target.params.temperature: 'hot' is not a number")


def test_an_agent_program_takes_no_parameters(workspace, faults):
    agent = "{kind: claude_cli, model: sonnet, version: 2.1.0}"
    workspace.spec(
        BACKENDS + f"  agent: {agent}\n", model="{target: {use: agent, params: {temperature: 0}}}"
    )
    [found] = faults()
    assert found == (
        "spec.yaml:3: model.target.params.temperature: 0 cannot be given to backend 'agent': an "
        "agent program takes no parameters; remove it, and give `effort` to the backend or use "
        "another one"
    )


# --- what people are told -----------------------------------------------------------------------


def test_every_changed_parameter_is_explained_with_its_line(workspace):
    workspace.write(
        "spec.yaml",
        "skill: SKILL.md\ntasks: tasks.jsonl\nmodel:\n  target: gpt\n  optimizer:\n"
        "    params:\n      seed: null\n    stages:\n      merge: {temperature: 0}\n" + BACKENDS,
    )
    explained = workspace.load(overrides=["model.target.params.seed=2"]).explained
    spec = workspace.folder / "spec.yaml"
    shown = {
        key: (one.value, one.origin) for key, one in explained.items() if key.startswith("model.")
    }
    assert shown == {
        "model.target": ("gpt", f"{spec}:4"),
        "model.target.params.seed": (2, "--set"),
        "model.optimizer": ("gpt", "default (model.target)"),
        "model.optimizer.params.seed": (None, f"{spec}:7"),
        "model.optimizer.stages.merge.temperature": (0, f"{spec}:9"),
        "model.judge": (None, "default"),
    }


def test_check_says_what_a_role_and_its_stages_change(workspace):
    optimizer = "{params: {temperature: 0}, stages: {rank: {seed: 1}}}"
    workspace.spec(BACKENDS, model=f"{{target: sim, optimizer: {optimizer}}}")
    loaded = workspace.load()
    table = check_page(loaded)[0]
    rows = dict(zip(table.columns[0].cells, map(str, table.columns[1].cells), strict=True))
    assert "with temperature 0.0; rank with temperature 0.0, seed 1" in rows["optimizer"]
    assert "with" not in rows["target"]
    told = check_object(loaded)["backends"]["optimizer"]
    use = loaded.plan.backends["optimizer"]
    assert told["fingerprint"] == use.fingerprint
    assert told["params"] == {"temperature": 0.0}
    assert told["stages"]["rank"]["params"] == {"temperature": 0.0, "seed": 1}


def test_a_changed_parameter_makes_another_run_and_is_named(workspace):
    def plan(optimizer):
        return plan_of(workspace, f"{{target: gpt, optimizer: {optimizer}}}")

    first = plan("gpt")
    cooler = plan("{use: gpt, params: {temperature: 0, extra_body: {top_k: 1}}}")
    merging = plan("{use: gpt, stages: {merge: {max_output_tokens: 9}}}")
    assert len({first.identity, cooler.identity, merging.identity}) == 3
    assert describe_changes(first, cooler) == [
        "model.optimizer.params.temperature: 0.7 -> 0.0",
        "model.optimizer.params.extra_body.top_k: 5 -> 1",
    ]
    assert describe_changes(first, merging) == [
        "model.optimizer.stages.merge.max_output_tokens: 4096 -> 9"
    ]
    assert describe_changes(merging, first) == [
        "model.optimizer.stages.merge.max_output_tokens: 9 -> 4096"
    ]


# --- the judge ----------------------------------------------------------------------------------


def rubric_tasks(workspace):
    workspace.write_records("tasks.jsonl", [record(n, judge=RUBRIC) for n in range(12)])


def test_the_judge_plays_a_role_only_if_a_task_asks_a_model(workspace):
    model = "{target: sim, judge: {use: gpt, params: {temperature: 0}}}"
    assert "judge" not in plan_of(workspace, model).backends
    rubric_tasks(workspace)
    loaded_plan = plan_of(workspace, model)
    assert loaded_plan.backends["judge"].backend == "gpt"
    assert loaded_plan.backends["judge"].effective.temperature == 0


def test_a_judge_that_is_not_named_is_the_optimizers_backend_and_check_says_so(workspace):
    rubric_tasks(workspace)
    workspace.spec(BACKENDS, model="{target: sim, optimizer: {use: gpt, params: {seed: 1}}}")
    loaded = workspace.load()
    use = loaded.plan.backends["judge"]
    assert (use.backend, use.params) == ("gpt", None)
    assert loaded.explained["model.judge"].origin == "default (model.optimizer)"
    table = check_page(loaded)[0]
    rows = dict(zip(table.columns[0].cells, map(str, table.columns[1].cells), strict=True))
    assert rows["judge"].endswith("as the optimizer: model.judge is not set")


@pytest.mark.parametrize("load", [load_eval_plan, load_aa_plan])
def test_a_measurement_has_the_target_with_its_parameters_and_the_judge(workspace, load):
    rubric_tasks(workspace)
    spec = workspace.spec(BACKENDS, model="{target: {use: sim, params: {seed: 3}}, judge: gpt}")
    plan = load(spec, environ={}, publish_revision=lambda backend: "published-1").plan
    assert set(plan.backends) == {"target", "judge"}
    assert plan.backends["target"].job_params == {
        "seed": 3, "extra_body": {}, "extra_headers": {},
    }  # fmt: skip


def test_a_plan_with_roles_survives_being_stored(workspace):
    optimizer = "{use: gpt, params: {seed: 1}, stages: {merge: {seed: 2}}}"
    plan = plan_of(workspace, f"{{target: gpt, optimizer: {optimizer}}}")
    again = type(plan).model_validate_json(plan.model_dump_json())
    assert again == plan
    assert again.identity == plan.identity
    json.loads(plan.model_dump_json())
