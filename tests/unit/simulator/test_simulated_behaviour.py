from __future__ import annotations

import json

import pytest

from skillopt.simulator.behaviour import form_asked_for, reply_to, role_of
from skillopt.simulator.options import SimulatorOptions

REPLY_FORMS = {
    "slow_update": '{"reasoning": "...", "slow_update_content": "..."}',
    "meta_skill": '{"reasoning": "...", "meta_skill_content": "..."}',
    "rewrite": '{"reasoning": "...", "change_summary": [], "new_skill": "..."}',
    "consolidate": '{"appendix_notes": ["..."]}',
    "learning_rate": '{"learning_rate": 3, "reasoning": "...", "confidence": 1, "risk_notes": []}',
    "rubric": 'Grade the answer. Reply with {"score": 0.0, "reason": "..."}',
}


MODES = ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]


@pytest.mark.parametrize(
    ("stage", "form"),
    [
        ("reflect_failure", "failures"),
        ("reflect_success", "successes"),
        ("reflect_contrast", "failures"),
        ("merge", "merge"),
        ("rank", "rank"),
        ("learning_rate", "learning_rate"),
        ("rewrite", "rewrite"),
        ("compress", "rewrite"),
        ("consolidate", "consolidate"),
        ("slow_update", "slow_update"),
        ("meta_skill", "meta_skill"),
        ("rubric", "rubric"),
        ("attempt", "target"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", [{}, {"notes": True, "both": True}])
def test_the_packaged_prompts_are_told_apart(make_request, prompts, stage, form, mode, more):
    system = prompts(stage, mode, skill="# Notes", **more)

    assert form_asked_for(make_request("Go.", system)) == form


@pytest.mark.parametrize(("form", "system"), REPLY_FORMS.items())
def test_other_forms_are_answered_with_their_fields(make_request, form, system):
    request = make_request('## Current skill\n\n# Notes\n\n- the answer contains "A"', system)
    reply = reply_to(request, SimulatorOptions())

    assert form_asked_for(request) == form
    fields = {name for name in json.loads(reply.text) if f'"{name}"' in system}
    assert fields == set(json.loads(system[system.index("{") :].replace("...", "")))
    assert reply.role == ("judge" if form == "rubric" else "optimizer")


def test_a_document_that_names_reply_fields_does_not_change_the_role(make_request, prompts):
    user = 'An attempt said: {"selected_indices": [1]} and "failure_summary".'

    assert form_asked_for(make_request(user, prompts("merge"))) == "merge"
    assert role_of("merge") == "optimizer"


def test_a_rubric_is_scored_by_what_it_quotes(ask):
    def score(answer):
        user = f'## Rubric\n\nIt names "oak" and "elm".\n\n## Answer\n\n{answer}'
        return json.loads(ask(user, REPLY_FORMS["rubric"]).text)["score"]

    assert [score("Oak and elm."), score("An oak."), score("A fir."), score("")] == [1, 0.5, 0, 0]


def test_a_reply_depends_on_content_and_sample_only(make_request):
    options = SimulatorOptions()
    said = {sample: reply_to(make_request(sample=sample), options).text for sample in range(5)}

    assert len(set(said.values())) == 5
    assert said == {
        sample: reply_to(make_request(sample=sample, temperature=1.5), options).text
        for sample in range(5)
    }
    assert reply_to(make_request("Write a note on trees."), options).text != said[0]
    assert reply_to(make_request(), SimulatorOptions(seed=1)).text != said[0]


def test_replies_are_cut_at_the_token_limit(ask):
    reply = ask(max_tokens=10)

    assert (len(reply.text), reply.finish_reason, reply.completion_tokens) == (40, "length", 10)
    assert ask(max_completion_tokens=10).text == reply.text
    assert ask(max_tokens=10_000).finish_reason == "stop"


def test_truncated_and_garbage_replies_are_shares_of_the_contents(ask):
    truncated = [ask(f"Note {n}", options=SimulatorOptions(truncated_rate=0.3)) for n in range(100)]
    garbage = [ask(f"Note {n}", options=SimulatorOptions(garbage_rate=0.3)) for n in range(100)]

    assert 15 <= sum(reply.finish_reason == "length" for reply in truncated) <= 45
    whole = [ask(f"Note {n}") for n in range(100)]
    assert 15 <= sum(a.text != b.text for a, b in zip(garbage, whole, strict=True)) <= 45


def test_the_behaviour_id_covers_what_is_said_and_nothing_else():
    usual = SimulatorOptions().behaviour
    said = [
        {"seed": 1}, {"competence": 0.9}, {"sample_noise": 0.1}, {"vague_rate": 0.1},
        {"harmful_rate": 0.1}, {"malformed_rate": 0.1}, {"garbage_rate": 0.1},
        {"truncated_rate": 0.1},
    ]  # fmt: skip
    unsaid = [
        {"latency_s": 1}, {"error_rate": 0.5}, {"rpm": 5}, {"port": 9}, {"api_key": "k"},
        {"stall_rate": 0.1}, {"drop_rate": 0.1},
    ]  # fmt: skip

    assert len({usual} | {SimulatorOptions(**o).behaviour for o in said}) == len(said) + 1
    assert {SimulatorOptions(**o).behaviour for o in unsaid} == {usual}
