"""Reflect: which attempts an analyst sees, what it is asked for, and what is kept of its reply."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from scripted_models import Models, sections, unfenced
from scripted_run import TEMPLATES, ScriptedRun, item, make_plan

from skillopt.domain.changes import Rewrite, Suggestion
from skillopt.domain.edits import Edit
from skillopt.domain.events import Reflected, StepStarted
from skillopt.domain.item import ExactJudge, Item, Splits, TaskPrompt, Tool
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.messages import Message, ToolCall, decode_messages, encode_messages
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.reports import GroupReport
from skillopt.domain.results import Body, ReplyBody
from skillopt.domain.spec import Gradient
from skillopt.loop.evaluate import Attempt
from skillopt.loop.reflect import groups_of

SKILL_WITH_PARTS = (
    "---\nname: greeter\ndescription: greets\n---\n# Greeter\n\nBe brief.\n\n"
    "<!-- APPENDIX_START -->\n- Mind the tone.\n<!-- APPENDIX_END -->\n"
)


@dataclass
class Canned(Models):
    """Every analyst says this, first and when asked again."""

    reply: str = ""
    again: str | None = None
    heard: list[tuple[str, str]] = field(default_factory=list)

    def optimize(self, messages: tuple[Message, ...]) -> str:
        self.heard.append((messages[0].content, messages[1].content))
        return self.reply if len(messages) == 2 or self.again is None else self.again


def one_train(text: str = "Task t: alpha?", word: str = "alpha", **prompt: Any) -> Splits:
    task = Item(
        id="t",
        prompt=TaskPrompt(task=text, **prompt),
        judge=ExactJudge(answer=word, substring=True),
    )
    return Splits(train=(task,), val=(item("v", "other"),))


def reported(said: str, again: str | None = None, **changes: Any) -> GroupReport:
    """Give what came of a single group whose analyst says this."""
    changes.setdefault("splits", one_train())
    run = ScriptedRun(make_plan(**changes), models=Canned(reply=said, again=again))
    [group] = run.until(Reflected).events[-1].groups
    return group


def heard(**changes: Any) -> tuple[str, dict[str, str]]:
    """Give the instructions and the sections that a single analyst gets."""
    changes.setdefault("splits", one_train())
    models = Canned(
        reply='{"patch": {"edits": [], "revise_suggestions": [], "skill_candidates": []}}'
    )
    ScriptedRun(make_plan(**changes), models=models).until(Reflected)
    system, user = models.heard[0]
    return system, sections(user)


def patch(*edits: object, **more: object) -> str:
    return json.dumps({"patch": {"reasoning": "r", "edits": list(edits)}, **more})


def append(content: str, **more: str) -> dict[str, str]:
    return {"op": "append", "target": "", "content": content, **more}


# --- groups -------------------------------------------------------------------------------------


def scored(name: str, sample: int, hard: float) -> Attempt:
    line = LedgerLine(outcome="scored", digest="d", hard=hard, soft=hard)
    return Attempt(item(name, "w"), sample, f"{name}-{sample}", "j", line, line)


def members(attempts: list[Attempt], **settings: Any) -> dict[str, list[str]]:
    groups = groups_of(0, attempts, Gradient(**settings))
    return {group.kind: [attempt.rollout for attempt in group.attempts] for group in groups}


MIXED = [
    scored("a", 0, 1.0),
    scored("a", 1, 0.0),
    scored("b", 0, 0.5),
    scored("b", 1, 0.0),
    scored("c", 0, 1.0),
    scored("c", 1, 1.0),
]


def test_a_task_that_passes_and_fails_is_in_the_contrast_group_only():
    assert members(MIXED) == {
        "failure": ["b-0", "b-1"],
        "success": ["c-0", "c-1"],
        "contrast": ["a-0", "a-1"],
    }


def test_without_contrast_every_attempt_is_with_its_like():
    assert members(MIXED, contrastive=False) == {
        "failure": ["a-1", "b-0", "b-1"],
        "success": ["a-0", "c-0", "c-1"],
    }


def test_failure_only_leaves_out_successes_but_no_contrast():
    assert members(MIXED, failure_only=True) == {
        "failure": ["b-0", "b-1"],
        "contrast": ["a-0", "a-1"],
    }


def test_half_a_success_is_a_failure():
    assert members([scored("a", 0, 0.999)]) == {"failure": ["a-0"]}
    assert members([scored("a", 0, 0.999), scored("a", 1, 1.0)]) == {"contrast": ["a-0", "a-1"]}


def test_attempts_without_a_score_are_shown_to_nobody():
    invalid = LedgerLine(outcome="invalid", digest="d")
    attempts = [
        Attempt(item("a", "w"), 0, "a-0", reply_line=invalid),
        Attempt(item("b", "w"), 0, "b-0"),
        Attempt(item("c", "w"), 0, "c-0", left_out=True),
    ]
    assert members(attempts) == {}


# --- what an analyst is asked for ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        ({"learning_rate": 3, "lr_scheduler": "constant"}, "Propose at most 3 edits."),
        ({"learning_rate": 1, "lr_scheduler": "constant"}, "Propose at most 1 edit."),
        (
            {"learning_rate": 2, "skill_update_mode": "rewrite_from_suggestions"},
            "Propose at most 2 suggestions.",
        ),
        (
            {"skill_update_mode": "full_rewrite_minibatch"},
            "Propose one complete replacement of the document.",
        ),
        (
            {"lr_control_mode": "none"},
            "There is no limit: propose all the edits that the attempts call for.",
        ),
    ],
)
def test_the_scheduled_number_of_changes_is_asked_for(optimizer, words):
    _, told = heard(settings={"optimizer": optimizer})
    assert told["Edits wanted"] == words


def test_notes_of_the_appendix_are_part_of_the_skill_that_is_shown():
    _, told = heard(skill=SKILL_WITH_PARTS)
    assert unfenced(told["Current skill"]) == SKILL_WITH_PARTS.rstrip()


def test_who_writes_a_whole_document_sees_its_protected_parts_apart():
    optimizer = {"skill_update_mode": "full_rewrite_minibatch"}
    _, told = heard(skill=SKILL_WITH_PARTS, settings={"optimizer": optimizer})
    outline = unfenced(told["Current skill"])
    assert outline.count("<!-- KEEP ") == 2
    assert "Be brief." in outline
    assert "Mind the tone." not in outline
    assert "- Mind the tone." in told["Parts that stay as they are"]
    assert "name: greeter" in told["Parts that stay as they are"]


@pytest.mark.parametrize(
    ("evolve", "memory", "titles"),
    [
        ("skill", None, ["Current skill"]),
        ("skill", "Lesson.\n", ["Current skill", "Memory (not to be changed)"]),
        ("memory", "Lesson.\n", ["Skill (not to be changed)", "Current memory"]),
        ("memory", "", ["Skill (not to be changed)", "Current memory"]),
        ("both", "Lesson.\n", ["Current skill", "Current memory"]),
    ],
)
def test_the_documents_are_titled_by_what_may_change(evolve, memory, titles):
    system, told = heard(memory=memory, settings={"evolve": evolve})
    assert [title for title in told if "skill" in title.lower() or "emory" in title] == titles
    assert (TEMPLATES["two_documents"].strip() in system) == (evolve == "both")


def test_the_meta_skill_is_shown_once_there_is_one():
    run = ScriptedRun(make_plan(splits=one_train())).until(StepStarted)
    run.state = replace(run.state, meta_skill="Short rules are followed.")
    run.models = Canned(reply=patch())
    run.until(Reflected)
    [(_, user)] = run.models.heard
    assert sections(user)["What editing has taught so far"] == "Short rules are followed."
    _, told = heard()
    assert "What editing has taught so far" not in told


def test_a_task_of_several_lines_cannot_pass_for_a_section():
    _, told = heard(splits=one_train("Do this:\n## Current skill\n\nand that"))
    assert "## Current skill" in told["Attempts"]


def test_more_output_contracts_than_are_shown_are_counted():
    tasks = tuple(
        Item(
            id=f"t{n}",
            prompt=TaskPrompt(task="Write.", system=f"Contract {n}: {{skill_section}}"),
            judge=ExactJudge(answer="alpha"),
        )
        for n in range(4)
    )
    _, told = heard(
        splits=Splits(train=tasks, val=(item("v", "alpha"),)),
        settings={"gradient": {"minibatch_size": 8}},
    )
    contract = told["Output contract"]
    assert contract.count("Contract ") == 2
    assert "2 more differ from these." in contract


# --- conversations ------------------------------------------------------------------------------


@dataclass
class WithTools(Canned):
    """A target that calls a tool before it answers; `stored` is what is kept of that."""

    last_answer_stored: bool = True
    trajectory: bool = True
    called: tuple[str, ...] = ("lookup",)

    def attempt(self, spec, blobs) -> Body:
        skill = blobs.read(spec.skill).decode()
        call = ToolCall(id="1", name="lookup", arguments='{"q": "x"}')
        told = [
            Message(role="system", content=f"System says: {skill}"),
            Message(role="user", content="Task t: alpha?"),
            Message(role="assistant", content="", tool_calls=(call,)),
            Message(role="tool", content="found nothing", tool_call_id="1"),
        ]
        if self.last_answer_stored:
            told.append(Message(role="assistant", content="I do not know."))
        blob = blobs.put(encode_messages(tuple(told))) if self.trajectory else None
        return ReplyBody(text="I do not know.", tools_called=self.called, trajectory=blob)


def shown_attempt(**models: Any) -> str:
    plan = make_plan(splits=one_train(tools=(Tool(name="lookup"),)))
    run = ScriptedRun(plan, models=WithTools(reply=patch(), **models)).until(Reflected)
    [(_, user)] = run.models.heard
    return sections(user)["Attempts"]


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("called", [("lookup",), ()])
def test_an_attempt_that_called_tools_is_shown_with_its_conversation(stored, called):
    shown = shown_attempt(last_answer_stored=stored, called=called)
    talk = unfenced(shown[shown.index("Conversation:") :])
    assert talk.splitlines() == [
        'assistant calls lookup({"q": "x"})',
        "lookup answers: found nothing",
        "assistant: I do not know.",
    ]
    assert "System says" not in shown, "the skill is shown once"


def test_an_attempt_without_a_trajectory_is_shown_by_its_answer():
    shown = shown_attempt(trajectory=False)
    assert unfenced(shown[shown.index("Answer:") :]) == "I do not know."
    assert "Tools called: lookup" in shown


def test_a_long_conversation_keeps_both_ends():
    call = ToolCall(id="1", name="lookup")

    class Talkative(WithTools):
        def attempt(self, spec, blobs) -> Body:
            told = [Message(role="assistant", content="BEGINNING", tool_calls=(call,))]
            told += [Message(role="tool", content="y" * 9_000, tool_call_id="1")]
            blob = blobs.put(encode_messages((*told, Message(role="assistant", content="THE END"))))
            return ReplyBody(text="THE END", tools_called=("lookup",), trajectory=blob)

    plan = make_plan(
        splits=one_train(tools=(Tool(name="lookup"),)),
        settings={"gradient": {"trajectory_tokens": 200}},
    )
    run = ScriptedRun(plan, models=Talkative(reply=patch())).until(Reflected)
    [(_, user)] = run.models.heard
    shown = sections(user)["Attempts"]
    assert "BEGINNING" in shown
    assert "THE END" in shown
    assert len(shown) < 200 * 4 + 300


# --- contrasts ----------------------------------------------------------------------------------


class Wavering(Canned):
    """Passes the first sample of every task and fails the others."""

    def attempt(self, spec, blobs) -> Body:
        text = "well: alpha" if spec.sample == 0 else f"badly {spec.sample}"
        return ReplyBody(text=text)


def test_a_contrast_shows_a_passing_attempt_beside_a_failing_one():
    models = Wavering(reply=patch(append("- Say the word."), append("- And well.")))
    plan = make_plan(splits=one_train(), settings={"train": {"samples": 3}})
    run = ScriptedRun(plan, models=models).until(Reflected)
    [(system, user)] = models.heard
    told = sections(user)
    assert system.startswith("Find what differs.")
    assert told["Failing criteria"] == "- say alpha (failed in 2 of 3 attempts)"
    assert "Attempts" not in told
    lines = told["Contrasts"].splitlines()
    assert lines[:3] == [
        "### Task 1",
        "Task: Task t: alpha?",
        "It passed in 1 of 3 attempts.",
    ]
    passed, failed = told["Contrasts"].split("Passed:")[1].split("Failed:")
    assert unfenced(passed) == "well: alpha"
    assert unfenced(failed) == "badly 1"
    assert "- say alpha: alpha is not there" in failed
    [group] = run.events[-1].groups
    assert (group.kind, group.items) == ("contrast", ("t",))
    assert {edit.source_type for edit in group.edits} == {"failure"}
    [job] = [j for j in run.performed.values() if isinstance(j.spec, OptimizeSpec)]
    assert job.spec.stage == "reflect_contrast"


# --- what is kept -------------------------------------------------------------------------------


def test_provenance_is_ours_and_only_the_budget_is_kept():
    rows = [append(f"rule {n}", support="nonsense", source_type="success") for n in range(5)]
    group = reported(patch(*rows, batch_size="many"))
    assert [edit.content for edit in group.edits] == ["rule 0", "rule 1"]
    assert {(edit.support, edit.source_type) for edit in group.edits} == {(("t",), "failure")}
    assert (group.status, group.problem) == ("ok", "")


def test_without_a_limit_every_change_is_kept():
    rows = [append(f"rule {n}") for n in range(20)]
    group = reported(patch(*rows), settings={"optimizer": {"lr_control_mode": "none"}})
    assert len(group.edits) == 20


@pytest.mark.parametrize(
    ("mode", "row", "kind"),
    [
        ("patch", ("edits", append("x")), Edit),
        ("rewrite_from_suggestions", ("revise_suggestions", {"instruction": "x"}), Suggestion),
        ("full_rewrite_minibatch", ("skill_candidates", {"new_skill": "x"}), Rewrite),
    ],
)
def test_each_mode_reports_its_own_kind_of_change_and_notes(mode, row, kind):
    key, value = row
    said = json.dumps({"patch": {key: [value]}, "appendix_notes": ["Mind it."]})
    optimizer = {"skill_update_mode": mode, "use_skill_aware_reflection": True}
    group = reported(said, settings={"optimizer": optimizer})
    [change] = group.edits
    assert isinstance(change, kind)
    assert change.support == ("t",)
    assert group.notes == ("Mind it.",)


def test_edits_go_to_the_document_that_evolves_unless_they_say_otherwise():
    rows = [append("a"), append("b", document="skill")]
    group = reported(patch(*rows), memory="Lesson.\n", settings={"evolve": "memory"})
    assert [edit.document for edit in group.edits] == ["memory", "skill"]


def test_what_was_wrong_in_a_usable_reply_is_recorded():
    group = reported(patch(append("good"), {"op": "shout"}, None))
    assert [edit.content for edit in group.edits] == ["good"]
    assert "patch.edits[1] has the op 'shout'" in group.problem
    assert "patch.edits[2] is null" in group.problem


def test_edits_that_only_the_repair_lost_are_kept():
    cut_off = patch(append("first"), append("second")).partition("second")[0]
    group = reported(cut_off, again=patch({"op": "sing"}))
    assert [edit.content for edit in group.edits] == ["first"]
    assert group.problem.endswith("; whole edits kept of it: 1")


def test_a_repair_that_has_nothing_to_propose_stands():
    group = reported("I propose nothing.", again=patch())
    assert (group.status, group.edits) == ("repaired", ())


def test_of_many_samples_of_a_task_an_analyst_sees_a_few():
    many = [scored("a", sample, 0.0) for sample in range(5)]
    assert members([*many, scored("b", 0, 0.0)]) == {"failure": ["a-0", "a-1", "b-0"]}


def test_edits_of_a_reply_that_stays_broken_are_not_lost():
    cut_off = patch(append("first"), append("second")).partition("second")[0]
    group = reported(cut_off, again="Sorry, no.")
    assert group.status == "repaired"
    assert [edit.content for edit in group.edits] == ["first"]
    assert "cut off" in group.problem
    assert "asked again: the reply holds no JSON object" in group.problem
    assert group.problem.endswith("; whole edits kept of it: 1")


def test_a_group_whose_analyst_says_nothing_usable_is_dropped_and_says_why():
    group = reported("The weather is fine.")
    assert (group.status, group.edits) == ("dropped", ())
    assert "no JSON object" in group.problem


# --- skill-aware reflection ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "source", "kind", "wanted"),
    [
        (False, "both", "failure", False),
        (True, "both", "failure", True),
        (True, "failure_only", "failure", True),
        (True, "both", "success", True),
        (True, "failure_only", "success", False),
    ],
)
def test_notes_are_asked_for_and_kept_where_they_are_wanted(use, source, kind, wanted):
    optimizer = {"use_skill_aware_reflection": use, "skill_aware_appendix_source": source}
    models = Canned(reply=patch(appendix_notes=["Mind it."]))
    skill = "Always say alpha.\n" if kind == "success" else "Be brief.\n"
    plan = make_plan(skill=skill, splits=one_train(), settings={"optimizer": optimizer})
    run = ScriptedRun(plan, models=models).until(Reflected)
    [group] = run.events[-1].groups
    assert group.kind == kind
    assert (TEMPLATES["skill_aware"].strip() in models.heard[0][0]) == wanted
    assert group.notes == (("Mind it.",) if wanted else ())
    assert ("not asked for" in group.problem) != wanted


# --- copy guard ---------------------------------------------------------------------------------

SECRET = "The lighthouse keeper of Skagen polished seventeen brass lanterns before the storm."


def guarded(guard: str, said: str, **optimizer: Any) -> GroupReport:
    task = Item(id="s", prompt=TaskPrompt(task=SECRET), judge=ExactJudge(answer="brass tacks"))
    settings = {"gradient": {"copy_guard": guard}, "optimizer": {"learning_rate": 2, **optimizer}}
    return reported(
        said, splits=Splits(train=(task,), val=(item("v", "alpha"),)), settings=settings
    )


COPY = append(f"- {SECRET}")


def test_an_edit_that_repeats_a_task_is_flagged_by_default_and_left_alone_when_off():
    [edit] = guarded("flag", patch(COPY)).edits
    assert edit.copied_from == ("s",)
    [edit] = guarded("off", patch(COPY)).edits
    assert edit.copied_from == ()
    assert Gradient().copy_guard == "flag"


def test_a_blocked_edit_is_recorded_and_takes_nobodys_place():
    group = guarded("block", patch(COPY, append("a"), append("b"), append("c")))
    assert [edit.content for edit in group.edits] == ["a", "b"]
    [blocked] = group.blocked
    assert (blocked.content, blocked.copied_from) == (f"- {SECRET}", ("s",))


@pytest.mark.parametrize("guard", ["flag", "block"])
def test_suggestions_are_guarded_by_what_they_ask_for(guard):
    said = json.dumps({"patch": {"revise_suggestions": [{"instruction": f"Write: {SECRET}"}]}})
    group = guarded(guard, said, skill_update_mode="rewrite_from_suggestions")
    assert len(group.edits) == (guard == "flag")
    assert len(group.blocked) == (guard == "block")
    assert "a suggestion repeats the text of 's'" in group.problem


@pytest.mark.parametrize("guard", ["flag", "block"])
def test_notes_are_guarded_too(guard):
    said = patch(appendix_notes=[SECRET, "Mind the tone."])
    group = guarded(guard, said, use_skill_aware_reflection=True)
    assert group.notes == ((SECRET, "Mind the tone.") if guard == "flag" else ("Mind the tone.",))
    assert "a note repeats the text of 's'" in group.problem
    assert group.problem.endswith("and is left out") == (guard == "block")


def test_a_whole_document_is_not_judged_here():
    said = json.dumps({"patch": {"skill_candidates": [{"new_skill": SECRET}]}})
    group = guarded("block", said, skill_update_mode="full_rewrite_minibatch")
    assert len(group.edits) == 1
    assert group.blocked == ()


def test_prompts_of_analysts_decode_and_hold_no_open_slot():
    run = ScriptedRun(make_plan(settings={"optimizer": {"use_skill_aware_reflection": True}}))
    run.until(Reflected)
    for job in run.performed.values():
        if isinstance(job.spec, OptimizeSpec):
            assert "{{" not in "".join(m.content for m in decode_messages(job.blobs[0]))
