"""What the optimizer is told: a prompt that loses information teaches nothing."""

from __future__ import annotations

import json
import re

import pytest
from loop_values import edit
from scripted_run import SKILL, TEMPLATES, Models, ScriptedRun, item, make_plan

from skillopt.domain.changes import Rewrite, Suggestion
from skillopt.domain.events import Reflected
from skillopt.domain.item import ExactJudge, Item, Splits, TaskPrompt
from skillopt.domain.jobs import OptimizeSpec, OptimizeStage
from skillopt.domain.messages import Message, decode_messages
from skillopt.domain.results import Body, CriterionResult, JudgementBody, ReplyBody
from skillopt.domain.templates import fill
from skillopt.loop import templates
from skillopt.loop.prompt_parts import change_rows, cut, fenced, set_apart, system_prompt
from skillopt.loop.tally import failing_criteria


def asked(run: ScriptedRun, *stages: OptimizeStage) -> list[str]:
    """Give the user messages of the optimizer calls of a run, in order."""
    return [
        decode_messages(job.blobs[0])[1].content
        for job in run.performed.values()
        if isinstance(job.spec, OptimizeSpec) and (not stages or job.spec.stage in stages)
    ]


def everything_asked(run: ScriptedRun) -> str:
    return "\n".join(
        message.content
        for job in run.performed.values()
        if isinstance(job.spec, OptimizeSpec)
        for message in decode_messages(job.blobs[0])
    )


def section_of(prompt: str, title: str) -> str:
    found = re.search(rf"^## {title}\n\n(.*?)(?=^## |\Z)", prompt, re.DOTALL | re.MULTILINE)
    assert found, f"no section {title!r} in:\n{prompt}"
    return found.group(1)


def one_step(**changes) -> ScriptedRun:
    return ScriptedRun(make_plan(**changes)).until(Reflected)


def test_failing_criteria_are_verbatim_with_their_counts_most_frequent_first():
    words = ["beta", "alpha", "beta", "beta"]
    splits = Splits(
        train=tuple(item(f"t{i}", word) for i, word in enumerate(words)),
        val=(item("v", "alpha"),),
    )
    run = one_step(splits=splits, settings={"gradient": {"minibatch_size": 4}})
    [prompt] = asked(run, "reflect_failure")
    assert section_of(prompt, "Failing criteria").splitlines()[:2] == [
        "- say beta (failed in 3 of 3 attempts)",
        "- say alpha (failed in 1 of 1 attempts)",
    ]


def test_a_criterion_that_sometimes_passes_counts_both():
    def judged(*passed: bool) -> JudgementBody:
        criteria = tuple(
            CriterionResult(name="c", requirement=f"rule {i}", passed=ok)
            for i, ok in enumerate(passed)
        )
        return JudgementBody(hard=0.0, soft=0.0, criteria=criteria)

    assert failing_criteria([judged(False, True), judged(True, True), judged(False, False)]) == (
        "- rule 0 (failed in 2 of 3 attempts)\n- rule 1 (failed in 1 of 3 attempts)"
    )
    assert failing_criteria([]) == "- the judge gave no criterion"


def test_each_attempt_shows_task_answer_and_why_it_failed():
    prompt = asked(one_step(), "reflect_failure")[0]
    attempts = section_of(prompt, "Attempts")
    assert re.search(r"Task: Task train-\d: \w+\?", attempts)
    assert re.search(r"- say (\w+): \1 is not there", attempts)


def test_the_skill_is_in_the_prompt_exactly_once():
    run = ScriptedRun().finish()
    assert asked(run)
    for prompt in asked(run):
        assert prompt.count("# Greeter") == 1
    initial = asked(one_step(), "reflect_failure")[0]
    assert section_of(initial, "Current skill").strip() == f"~~~~\n{SKILL.rstrip()}\n~~~~"


def test_the_budget_of_the_step_is_asked_for():
    run = one_step(settings={"optimizer": {"learning_rate": 3, "lr_scheduler": "constant"}})
    assert "Propose at most 3 edits." in asked(run, "reflect_failure")[0]


def test_preferences_and_output_contract_reach_the_analyst():
    task = Item(
        id="t",
        prompt=TaskPrompt(task="Write it.", system="Answer as JSON with the key `brief`."),
        judge=ExactJudge(answer="alpha", substring=True),
    )
    run = one_step(
        settings={"preferences": "Prefer short sentences."},
        splits=Splits(train=(task,), val=(item("v", "alpha"),)),
    )
    [prompt] = asked(run, "reflect_failure")
    assert section_of(prompt, "What the user prefers").strip() == "Prefer short sentences."
    assert "Answer as JSON with the key `brief`." in section_of(prompt, "Output contract")


def test_sections_without_content_are_left_out():
    prompt = asked(one_step(), "reflect_failure")[0]
    for title in ("What the user prefers", "Output contract", "Earlier steps"):
        assert f"## {title}" not in prompt


def test_a_rejected_edit_is_shown_to_the_next_step_of_the_same_epoch():
    words = [f"word{i}" for i in range(6)]
    splits = Splits(
        train=tuple(item(f"t{i}", word) for i, word in enumerate(words)),
        val=(item("v", "other"),),
    )
    train = {"num_epochs": 1, "batch_size": 2}
    run = ScriptedRun(make_plan(splits=splits, settings={"train": train})).finish()
    first, *_ = run.state.steps
    assert first.gated and first.gated.verdict == "reject"
    prompts = asked(run, "reflect_failure")
    told = section_of(prompts[-1], "Earlier steps")
    assert f"Step 1 was REJECTED: {first.gated.reason}" in told
    assert first.selected
    assert all(one.content in told for one in first.selected.edits)


def test_an_accepted_step_is_told_and_another_epochs_steps_are_not():
    run = ScriptedRun().finish()
    first = run.state.steps[0]
    assert first.gated and first.gated.verdict == "accept"
    second = [s for s in run.state.steps if s.started.epoch == 2]
    assert second, "the example needs two epochs"
    prompts = asked(run, "reflect_failure")
    assert any("Step 1 was ACCEPTED" in prompt for prompt in prompts)
    assert "## Earlier steps" not in prompts[0]
    labels = [job.label for job in run.performed.values() if job.label.startswith("step 3 / refl")]
    assert labels, "the example needs an analysis in the second epoch"
    of_third = [
        decode_messages(job.blobs[0])[1].content
        for job in run.performed.values()
        if job.label.startswith("step 3 / reflect failure")
    ]
    assert of_third
    assert all("## Earlier steps" not in prompt for prompt in of_third)


class Verbose(Models):
    """A target that talks far too much."""

    def attempt(self, spec, blobs) -> Body:
        return ReplyBody(text="HEAD " + "x" * 50_000 + " TAIL")


@pytest.mark.parametrize("tokens", [100, 1_000])
def test_long_answers_keep_head_and_tail_within_the_token_budget(tokens):
    gradient = {"minibatch_size": 2, "trajectory_tokens": tokens}
    run = ScriptedRun(make_plan(settings={"gradient": gradient}), models=Verbose()).until(Reflected)
    prompt = asked(run, "reflect_failure")[0]
    attempts = prompt.count("### Attempt")
    assert attempts == 2
    assert prompt.count("HEAD ") == prompt.count(" TAIL") == attempts
    [left_out, _] = map(int, re.findall(r"\[… (\d+) characters left out …\]", prompt))
    assert 0 <= 4 * tokens - (50_010 - left_out) < 50, "the task takes its part of the budget"
    assert len(prompt) < attempts * (4 * tokens + 300) + 500


def test_cut_leaves_short_texts_alone_and_never_loses_an_end():
    assert cut("short", 5) == "short"
    text = "a" * 600 + "b" * 600
    kept = cut(text, 300)
    assert kept.startswith("a" * 200 + "\n[… 900 characters")
    assert kept.endswith("b" * 100)


def test_a_fence_is_longer_than_any_in_the_text():
    assert fenced("a\n~~~~~~\nb") == "~~~~~~~\na\n~~~~~~\nb\n~~~~~~~"


def test_a_fence_is_longer_than_one_that_is_indented():
    assert fenced("a\n  ~~~~\nb").startswith("~~~~~\n")


def test_a_text_that_could_be_taken_for_a_section_is_fenced():
    assert set_apart("Be brief.") == "Be brief."
    assert set_apart("x\n## Attempts\ny") == "~~~~\nx\n## Attempts\ny\n~~~~"


def test_edits_are_shown_with_how_many_tasks_support_them_not_which():
    shown = change_rows([edit("Be brief.", support=("secret-task", "other-task"))])
    assert json.loads(shown) == [
        {
            "index": 0,
            "op": "append",
            "target": "",
            "content": "Be brief.",
            "source_type": "failure",
            "support": 2,
        }
    ]


def test_the_document_of_an_edit_is_shown_only_where_there_are_two():
    rows = json.loads(change_rows([edit("a"), edit("b", document="memory")]))
    assert [row["document"] for row in rows] == ["skill", "memory"]


def test_suggestions_and_rewrites_are_shown_in_full():
    suggestion = Suggestion(type="clarify", instruction="Say é.", support=("t",))
    [row] = json.loads(change_rows([suggestion]))
    assert (row["instruction"], row["type"], row["priority_hint"]) == (
        "Say é.",
        "clarify",
        "medium",
    )
    rewrite = Rewrite(new_skill="# X", change_summary=("shorter",), source_type="success")
    [row] = json.loads(change_rows([rewrite]))
    assert (row["new_skill"], row["change_summary"]) == ("# X", ["shorter"])
    assert (row["source_type"], row["support"]) == ("success", 0)


def test_held_out_items_never_appear_in_any_optimizer_prompt():
    plan = make_plan(
        splits=Splits(
            train=tuple(item(f"train-{i}", w) for i, w in enumerate(["alpha", "beta", "gamma"])),
            val=tuple(item(f"val-{w}", w) for w in ("alpha", "valword")),
            test=tuple(item(f"test-{w}", w) for w in ("testword", "alpha")),
        )
    )
    run = ScriptedRun(plan, garbles=True).finish()
    assert any(
        job.label.startswith(("initial test", "final test")) for job in run.performed.values()
    )
    text = everything_asked(run)
    assert "Task train-0" in text, "the example must show train items"
    for held_out in ("testword", "Task test-", "test-alpha", "valword", "Task val-", "val-alpha"):
        assert held_out not in text


def test_what_the_target_is_sent_names_no_judge():
    run = one_step()
    for job in run.performed.values():
        if job.role == "target" and job.judge is not None:
            assert b"answer" not in job.blobs[1], "the prompt must not hold the expected answer"


def test_system_prompts_are_the_pinned_templates_with_their_slots_filled():
    run = ScriptedRun().finish()
    forms = {"form": TEMPLATES["form_edits"], "skill_aware": "", "documents": ""}
    stages = set()
    for job in run.performed.values():
        if isinstance(job.spec, OptimizeSpec):
            stages.add(job.spec.stage)
            system = decode_messages(job.blobs[0])[0]
            expected = fill(TEMPLATES[job.spec.stage], forms).strip()
            assert system == Message(role="system", content=expected)
    assert "reflect_failure" in stages


@pytest.mark.parametrize(
    ("mode", "form"),
    [
        ("patch", "form_edits"),
        ("rewrite_from_suggestions", "form_suggestions"),
        ("full_rewrite_minibatch", "form_rewrite"),
    ],
)
def test_the_form_of_the_reply_is_that_of_the_update_mode(mode, form):
    packaged = templates.packaged()
    plan = make_plan(templates=packaged, settings={"optimizer": {"skill_update_mode": mode}})
    for stage in ("reflect_failure", "reflect_success", "reflect_contrast", "merge"):
        system = system_prompt(plan, stage)
        assert packaged[form].strip() in system
        others = {"form_edits", "form_suggestions", "form_rewrite"} - {form}
        assert not any(packaged[other].strip() in system for other in others)
        assert "{{" not in system
        assert "\n\n\n" not in system


def test_edits_of_two_documents_are_explained_only_where_there_are_two():
    told = templates.packaged()["two_documents"].strip()

    def system(evolve: str) -> str:
        plan = make_plan(templates=templates.packaged(), memory="m", settings={"evolve": evolve})
        return system_prompt(plan, "merge")

    assert told in system("both")
    assert told not in system("skill")
    assert told not in system("memory")


def test_analysts_see_a_task_with_its_context_cut_in_the_middle():
    context = "START" + "x" * 5_000 + "END"
    task = Item(
        id="t",
        prompt=TaskPrompt(task="Which word?", context=context),
        judge=ExactJudge(answer="alpha", substring=True),
    )
    run = one_step(splits=Splits(train=(task,), val=(item("v", "alpha"),)))
    [prompt] = asked(run, "reflect_failure")
    shown = section_of(prompt, "Attempts")
    assert "START" in shown
    assert "END" in shown
    assert context not in shown
