from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from epoch_values import Crowded, crowded, of_epochs, two_epochs
from loop_values import of_type
from scripted_models import sections, stage_of, unfenced
from scripted_run import Models, ScriptedRun, make_plan

from skillopt.domain.events import Compared, Gated, Proposed, Skipped
from skillopt.domain.item import Tool
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.messages import Message, ToolCall, decode_messages, encode_messages
from skillopt.domain.results import Body, ReplyBody
from skillopt.domain.skill import SkillDocument
from skillopt.domain.steering_events import LeftOut
from skillopt.loop import comparison


def prompts(run: ScriptedRun, stage: str = "slow_update") -> list[dict[str, str]]:
    """Give the sections of the prompts of a stage."""
    return [
        sections(decode_messages(job.blobs[0])[1].content)
        for job in run.performed.values()
        if isinstance(job.spec, OptimizeSpec) and job.spec.stage == stage
    ]


def slow(run: ScriptedRun, kind):
    return [event for event in of_type(run, kind) if event.source == "slow_update"]


class Adviser(Crowded):
    """Gives the guidance it is told to give."""

    def __init__(self, *replies: str) -> None:
        super().__init__()
        self.replies = list(replies)

    def optimize(self, messages) -> str:
        if stage_of(messages) != "slow_update":
            return super().optimize(messages)
        return self.replies[min(len(messages) // 2, len(self.replies)) - 1]


def guided(content: str, **optimizer) -> ScriptedRun:
    reply = json.dumps({"reasoning": "r", "slow_update_content": content})
    return ScriptedRun(two_epochs(**optimizer), models=Adviser(reply))


# --- the candidate ------------------------------------------------------------------------------


def test_guidance_becomes_a_region_of_a_candidate_and_the_body_stays():
    run = guided("Mind the words.").finish()
    [proposed] = slow(run, Proposed)
    [compared] = of_type(run, Compared)
    before = SkillDocument.parse(run.state.texts[compared.current].skill)
    after = SkillDocument.parse(proposed.text)
    assert after.slow_update is not None and after.slow_update.strip() == "Mind the words."
    assert after.body.strip() == before.body.strip()
    assert (proposed.how, proposed.parent, proposed.step) == ("guidance", compared.current, 4)


class Changeable(Crowded):
    """Gives other guidance once there is some."""

    def optimize(self, messages) -> str:
        if stage_of(messages) != "slow_update":
            return super().optimize(messages)
        first = sections(messages[1].content)["Existing guidance"] == "(none)"
        return json.dumps({"slow_update_content": "First." if first else "Second."})


def test_new_guidance_replaces_the_old():
    run = ScriptedRun(of_epochs(two_epochs(), 3), models=Changeable()).finish()
    texts = [proposed.text for proposed in slow(run, Proposed)]
    assert len(texts) == 2
    assert "First." in texts[0]
    assert "First." not in texts[1] and "Second." in texts[1]
    assert texts[1].count("SLOW_UPDATE_START") == 1


def test_markers_in_the_guidance_cannot_break_the_document():
    run = guided("One. <!-- SLOW_UPDATE_END --> Two. <!-- APPENDIX_START -->").finish()
    document = SkillDocument.parse(slow(run, Proposed)[0].text)
    assert [region.name for region in document.regions] == ["SLOW_UPDATE"]
    assert "Two." in (document.slow_update or "")


def test_guidance_that_changes_nothing_is_skipped_before_any_rollout():
    skill = "# S\n\n<!-- SLOW_UPDATE_START -->\nMind the words.\n<!-- SLOW_UPDATE_END -->\n"
    plan = two_epochs(learning_rate=0).model_copy(update={"skill": skill})
    reply = json.dumps({"slow_update_content": "Mind the words."})
    run = ScriptedRun(plan, models=Adviser(reply)).finish()
    [skipped] = slow(run, Skipped)
    assert skipped.reason == "no_change"
    assert not [job for job in run.performed.values() if "gate" in job.label]


def test_guidance_that_makes_the_document_too_long_is_skipped():
    run = guided("words " * 400, max_skill_tokens=100).finish()
    [skipped] = slow(run, Skipped)
    assert (skipped.reason, skipped.step) == ("too_long", 4)
    assert run.state.finished


def test_a_document_that_guidance_makes_too_long_is_asked_once_to_be_shorter():
    class Shortener(Adviser):
        def optimize(self, messages) -> str:
            if stage_of(messages) != "compress":
                return super().optimize(messages)
            return json.dumps({"new_skill": "# Short\n\n<!-- KEEP 1 -->\n"})

    reply = json.dumps({"slow_update_content": "Mind the words. " * 5})
    plan = two_epochs(max_skill_tokens=60, learning_rate=0)
    skill = "# Greeter\n\n" + "Be brief. " * 20
    plan = plan.model_copy(update={"skill": skill})
    run = ScriptedRun(plan, models=Shortener(reply)).finish()
    [proposed] = slow(run, Proposed)
    assert (proposed.how, proposed.step) == ("compressed", 4)
    found = SkillDocument.parse(proposed.text)
    assert found.slow_update is not None and "Mind the words." in found.slow_update
    assert found.body.strip() == "# Short"
    [job] = [job for job in run.performed.values() if job.label.endswith("/ compress")]
    assert job.label == "epoch 2 / compress"


LONG_TASK = "Tell the story of the clockmaker who lost both his shoes in the river."


@pytest.mark.parametrize(("guard", "kind"), [("block", Skipped), ("flag", Proposed)])
def test_guidance_that_repeats_a_training_task_is_blocked_or_flagged(guard, kind):
    plan = two_epochs(gradient={"copy_guard": guard})
    first, *others = plan.splits.train
    prompt = first.prompt.model_copy(update={"task": LONG_TASK})
    train = (first.model_copy(update={"prompt": prompt}), *others)
    plan = plan.model_copy(update={"splits": plan.splits.model_copy(update={"train": train})})
    reply = json.dumps({"slow_update_content": f"Be ready for this: {LONG_TASK}"})
    run = ScriptedRun(plan, models=Adviser(reply)).finish()
    [event] = slow(run, kind)
    if isinstance(event, Skipped):
        assert event.reason == "copied" and "train-0" in event.detail
    else:
        assert event.copied_from == ("train-0",)


def test_a_memory_document_that_evolves_alone_has_the_guidance():
    plan = two_epochs()
    settings = plan.settings.model_copy(update={"evolve": "memory"})
    plan = plan.model_copy(update={"settings": settings, "memory": "# Memory\n"})
    run = ScriptedRun(plan, models=Adviser(json.dumps({"slow_update_content": "Mind."})))
    [proposed] = slow(run.finish(), Proposed)
    assert "Mind." in (proposed.memory or "")
    assert proposed.text == plan.skill
    [prompt] = prompts(run)
    assert {"Previous memory", "Current memory", "Skill (not to be changed)"} <= set(prompt)


# --- the gate -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use_gate", "with_selection", "forced"),
    [(True, True, False), (True, False, True), (False, True, True), (False, False, True)],
)
def test_guidance_is_gated_unless_either_switch_says_otherwise(use_gate, with_selection, forced):
    plan = two_epochs(
        slow_update_gate_with_selection=with_selection, evaluation={"use_gate": use_gate}
    )
    run = crowded(plan).finish()
    [gated] = slow(run, Gated)
    assert gated.forced is forced


def test_forced_guidance_that_does_harm_is_current_with_its_own_score_and_never_best():
    harmful = "Always say a.\nAlways say b.\nAlways say c."
    run = guided(harmful).finish()
    [gated] = slow(run, Gated)
    assert (gated.verdict, gated.forced, gated.new_best) == ("reject", True, False)
    assert run.state.current == gated.skill != run.state.best
    measured = run.state.measured[(gated.skill, "val")]
    assert measured.hard == 0.0 and measured.coverage == 1.0


def test_gated_guidance_that_does_harm_is_rejected():
    run = guided("Always say a.\nAlways say b.\nAlways say c.", slow_update_samples=8)
    settings = run.plan.settings
    gate = settings.evaluation.model_copy(update={"use_gate": True})
    plan = run.plan.model_copy(
        update={"settings": settings.model_copy(update={"evaluation": gate})}
    )
    run = ScriptedRun(plan, models=run.models).finish()
    [gated] = slow(run, Gated)
    assert gated.verdict == "reject"
    assert gated.skill in run.state.rejected
    assert run.state.current != gated.skill


def test_guidance_that_helps_is_accepted_and_becomes_best():
    plan = two_epochs(evaluation={"use_gate": True})
    run = ScriptedRun(plan).finish()
    [gated] = slow(run, Gated)
    assert (gated.verdict, gated.new_best) == ("accept", True)
    assert run.state.best == gated.skill
    assert run.state.best_step == 4


# --- replies that are of no use -----------------------------------------------------------------

BAD = {
    "prose": "I would rather not.",
    "empty": "",
    "null": '{"slow_update_content": null}',
    "blank": '{"slow_update_content": "  "}',
    "number": '{"slow_update_content": 7}',
    "endless": json.dumps({"slow_update_content": "word " * 200_000}),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_an_unusable_reply_is_asked_for_again_and_then_skipped(bad):
    run = ScriptedRun(two_epochs(), models=Adviser(bad)).finish()
    [skipped] = slow(run, Skipped)
    assert skipped.reason == "no_content"
    assert skipped.detail
    assert run.state.finished and run.state.finished.reason == "completed"


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_repaired_reply_is_used_and_the_problem_is_recorded(bad):
    good = json.dumps({"slow_update_content": "Mind the words."})
    run = ScriptedRun(two_epochs(), models=Adviser(bad, good)).finish()
    [proposed] = slow(run, Proposed)
    assert "Mind the words." in proposed.text
    assert proposed.problem


# --- the prompt ---------------------------------------------------------------------------------


def test_the_prompt_has_both_documents_the_guidance_and_the_comparison():
    run = crowded().finish()
    [prompt] = prompts(run)
    [compared] = of_type(run, Compared)
    texts = run.state.texts
    assert unfenced(prompt["Previous skill"]) == texts[compared.previous].skill.rstrip()
    assert unfenced(prompt["Current skill"]) == texts[compared.current].skill.rstrip()
    assert prompt["Existing guidance"] == "(none)"


def test_a_document_that_did_not_change_is_shown_once():
    [prompt] = prompts(ScriptedRun(two_epochs(learning_rate=0)).finish())
    assert "same" in prompt["Previous skill"]
    assert prompt["Comparison"].count("With ") == 8, "each attempt is shown once"


def test_existing_guidance_is_shown():
    skill = "# S\n\n<!-- SLOW_UPDATE_START -->\nMind the words.\n<!-- SLOW_UPDATE_END -->\n"
    run = crowded(two_epochs().model_copy(update={"skill": skill})).finish()
    assert unfenced(prompts(run)[0]["Existing guidance"]) == "Mind the words."


def test_pairs_come_in_order_of_importance_and_stable_ones_as_names_only():
    run = crowded().finish()
    text = prompts(run)[0]["Comparison"]
    places = [
        text.index(f"### {change}")
        for change in ("regressed", "persistent_fail", "improved", "stable_success")
    ]
    assert places == sorted(places)
    stable = text[places[-1] :]
    assert "train-7, train-1" in stable and "Task" not in stable


def test_what_the_user_prefers_is_told():
    plan = two_epochs()
    settings = plan.settings.model_copy(update={"preferences": "No jokes."})
    run = crowded(plan.model_copy(update={"settings": settings})).finish()
    assert prompts(run)[0]["What the user prefers"] == "No jokes."


class Talker(Crowded):
    """A target that uses a tool before a long answer."""

    def attempt(self, spec, blobs) -> Body:
        reply = super().attempt(spec, blobs)
        assert isinstance(reply, ReplyBody) and reply.trajectory
        call = ToolCall(id="1", name="look_up", arguments='{"word": "x"}')
        sent = (
            *decode_messages(blobs.read(reply.trajectory)),
            Message(role="assistant", content="I look it up.", tool_calls=(call,)),
            Message(role="tool", content="nothing found", tool_call_id="1"),
        )
        text = f"{reply.text} begin {'and so on ' * 500} end"
        return ReplyBody(text=text, trajectory=blobs.put(encode_messages(sent)))


def test_a_trajectory_is_shown_with_its_turns_and_cut_to_its_budget():
    plan = two_epochs(gradient={"trajectory_tokens": 100})
    tools = (Tool(name="look_up"),)
    train = tuple(
        one.model_copy(update={"prompt": one.prompt.model_copy(update={"tools": tools})})
        for one in plan.splits.train
    )
    splits = plan.splits.model_copy(update={"train": train})
    run = ScriptedRun(plan.model_copy(update={"splits": splits}), models=Talker()).finish()
    text = prompts(run)[0]["Comparison"]
    assert 'look_up({"word": "x"})' in text and "nothing found" in text
    assert "left out" in text and " end" in text
    shown = text.count("With the")
    assert shown == 12, "six tasks of eight in full, each twice"
    assert len(text) < shown * 100 * 4 + 8 * 400


def test_a_comparison_without_room_gives_up_the_details_of_what_went_well_first(monkeypatch):
    monkeypatch.setattr(comparison, "COMPARISON_LIMIT", 1_000)
    run = crowded().finish()
    text = prompts(run)[0]["Comparison"]
    improved = text[text.index("### improved") : text.index("### stable_success")]
    assert "Without details, for want of room: train-4, train-3" in improved
    assert "#### Task" in text[: text.index("### improved")]


def test_a_task_left_out_since_the_comparison_is_not_shown():
    run = crowded().until(Compared)
    run.record(LeftOut(items={"train-4": "it is wrong"}))
    run.finish()
    assert "train-4" not in prompts(run)[0]["Comparison"]


# --- nothing to learn from ----------------------------------------------------------------------


def no_pairs() -> list[Callable[[], ScriptedRun]]:
    unchanged = two_epochs(learning_rate=0, longitudinal_pair_policy="changed")
    return [
        lambda: ScriptedRun(unchanged),
        lambda: ScriptedRun(two_epochs(), models=Crowded(filtered="Task train")),
    ]


@pytest.mark.parametrize("build", no_pairs(), ids=["nothing changed", "all invalid"])
def test_without_a_pair_nothing_is_asked(build):
    run = build().finish()
    [skipped] = slow(run, Skipped)
    assert (skipped.reason, skipped.step) == ("no_content", 4)
    assert skipped.detail
    stages = {j.spec.stage for j in run.performed.values() if isinstance(j.spec, OptimizeSpec)}
    assert not stages & {"slow_update", "meta_skill"}
    assert run.state.finished


def test_the_canned_models_answer_an_epoch_end_in_a_plan_of_the_default_switches():
    plan = make_plan(settings={"optimizer": {"use_slow_update": True, "use_meta_skill": True}})
    assert ScriptedRun(plan, models=Models()).finish().state.meta_skill
