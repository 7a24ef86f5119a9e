"""Events of each program, as recorded, in the project's terms."""

from __future__ import annotations

import json

import pytest

from skillopt.backends.cli.claude import Claude
from skillopt.backends.cli.codex import Codex
from skillopt.backends.cli.copilot import Copilot
from skillopt.backends.cli.trace import STEP_LIMIT
from skillopt.domain.usage import Usage


def lines(*events):
    return "\n".join(json.dumps(event) for event in events)


def said(text, **more):
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}], **more}}


CLAUDE_TOOL = {
    "type": "assistant",
    "message": {
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        ]
    },
    "parent_tool_use_id": None,
}
CLAUDE_RESULT = {
    "type": "user",
    "message": {
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "a.txt", "is_error": False}
        ]
    },
}
CLAUDE_END = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "It is a.txt",
    "num_turns": 2,
    "usage": {
        "input_tokens": 22,
        "output_tokens": 10,
        "cache_read_input_tokens": 6,
        "cache_creation_input_tokens": 2,
    },
}


def test_claude_steps_are_numbered_and_a_result_joins_its_call(workspace):
    trace = Claude().trace(
        lines({"type": "system"}, CLAUDE_TOOL, CLAUDE_RESULT, said("It is a.txt"), CLAUDE_END),
        workspace,
    )
    assert [(step.number, step.kind) for step in trace.steps] == [
        (1, "said"),
        (2, "tool"),
        (3, "said"),
    ]
    assert trace.steps[1].rendered() == 'Step 2: uses Bash\n{"command": "ls"}\ngives\na.txt'
    assert (trace.answer, trace.usage) == ("It is a.txt", Usage(30, 10, 6))


def test_claude_words_of_subagents_and_of_the_program_are_no_steps(workspace):
    inner = {**said("inner"), "parent_tool_use_id": "t9"}
    own = said("Not logged in", model="<synthetic>")
    assert Claude().trace(lines(inner, own, CLAUDE_END), workspace).steps == ()


def test_claude_structured_output_is_the_answer(workspace):
    end = {**CLAUDE_END, "result": "", "structured_output": {"score": 1}}
    assert Claude().trace(lines(end), workspace).answer == '{"score": 1}'


def test_claude_refusals_and_cut_answers_say_so(workspace):
    refused = Claude().trace(lines({**CLAUDE_END, "stop_reason": "refusal"}), workspace)
    cut = Claude().trace(lines({**CLAUDE_END, "stop_reason": "max_tokens"}), workspace)
    assert (refused.finish_reason, cut.finish_reason) == ("refusal", "length")


def codex_item(kind, **more):
    return {"type": "item.completed", "item": {"id": f"i-{kind}", "type": kind, **more}}


CODEX_END = {
    "type": "turn.completed",
    "usage": {"input_tokens": 22, "cached_input_tokens": 6, "output_tokens": 10},
}


def test_codex_commands_are_steps_and_the_last_message_is_the_answer(workspace):
    ran = codex_item(
        "command_execution", command="ls", aggregated_output="nope\n", exit_code=2, status="failed"
    )
    trace = Codex().trace(
        lines(
            {"type": "thread.started"},
            codex_item("agent_message", text="I look."),
            ran,
            codex_item("file_change", changes=[{"path": "a"}], status="completed"),
            codex_item("agent_message", text="Nothing."),
            CODEX_END,
        ),
        workspace,
    )
    assert [step.tool for step in trace.steps] == ["", "shell", "file_change", ""]
    assert trace.steps[1].failed and "(exit code 2)" in trace.steps[1].result
    assert (trace.answer, trace.usage) == ("Nothing.", Usage(22, 10, 6))


def test_a_codex_warning_is_neither_a_failure_nor_a_step(workspace):
    warned = codex_item("error", message="Model metadata for `mock` not found.")
    trace = Codex().trace(
        lines(warned, codex_item("agent_message", text="4"), CODEX_END), workspace
    )
    assert (trace.failure, trace.answer, len(trace.steps)) == (None, "4", 1)


def test_a_codex_turn_that_did_not_complete_has_no_answer(workspace):
    trace = Codex().trace(lines(codex_item("agent_message", text="half")), workspace)
    assert trace.answer is None


def test_copilot_tools_are_steps_and_a_denied_one_has_failed(workspace):
    start = {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "env"}}
    denied = {"toolCallId": "c1", "success": False, "error": {"message": "no", "code": "denied"}}
    trace = Copilot().trace(
        lines(
            {"type": "assistant.message", "data": {"content": "", "toolRequests": [{}]}},
            {"type": "tool.execution_start", "data": start},
            {"type": "tool.execution_complete", "data": denied},
            {"type": "tool.execution_start", "data": {**start, "toolCallId": "c2"}},
            {
                "type": "tool.execution_complete",
                "data": {"toolCallId": "c2", "success": True, "result": {"content": "A=1"}},
            },
            {"type": "assistant.message", "data": {"content": "done"}},
            {"type": "result", "exitCode": 0},
        ),
        workspace,
    )
    assert [(step.tool, step.failed, step.result) for step in trace.steps] == [
        ("bash", True, "no"),
        ("bash", False, "A=1"),
        ("", False, ""),
    ]
    assert trace.answer == "done"


def test_copilot_tokens_come_from_its_usage_file(workspace):
    used = {"inputTokens": 22, "outputTokens": 10, "cacheReadTokens": 4}
    metrics = {"m": {"requests": {"count": 2}, "usage": used}, "n": {"usage": {"inputTokens": 1}}}
    (workspace.control / "usage.json").write_text(json.dumps({"modelMetrics": metrics}))
    trace = Copilot().trace(lines({"type": "result", "exitCode": 0}), workspace)
    assert trace.usage == Usage(23, 10, 4)


@pytest.mark.parametrize("content", [None, "", "[]", '{"modelMetrics": {}}', '{"modelMetrics": 3}'])
def test_without_a_usable_usage_file_the_usage_is_an_estimate(workspace, content):
    if content is not None:
        (workspace.control / "usage.json").write_text(content)
    assert Copilot().trace("", workspace).usage.estimated


@pytest.mark.parametrize("program", [Claude(), Codex(), Copilot()])
@pytest.mark.parametrize(
    "stdout",
    [
        '[1, 2]\nnull\n3\n"x"\n{not json\n' + "[" * 100_000,
        '{"type": "result", "usage": 3, "is_error": false, "subtype": "success"}',
        '{"type": "assistant", "message": {"content": [3, null, {"type": "text"}]}}',
        '{"type": "item.completed", "item": 3}\n{"type": "turn.completed", "usage": []}',
        '{"type": "tool.execution_complete", "data": {"toolCallId": null, "result": [1]}}',
        '{"type": "session.error"}\n{"type": "turn.failed"}',
    ],
)
def test_output_of_any_form_is_read_without_raising(workspace, program, stdout):
    program.trace(stdout, workspace)


def test_long_texts_of_a_step_lose_their_middle(workspace):
    trace = Claude().trace(lines(said("a" * 5000 + "b" * 5000), CLAUDE_END), workspace)
    text = trace.steps[0].text
    assert len(text) < STEP_LIMIT + 50
    assert text.startswith("aaa") and text.endswith("bbb") and "[… cut …]" in text
