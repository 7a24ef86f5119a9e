"""An attempt by an agent program: the whole task is one call, its files lie in a workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skillopt.backends.cli.contract import Assignment
from skillopt.backends.cli.workspace import WorkspaceFile
from skillopt.domain.item import TaskPrompt
from skillopt.domain.jobs import RolloutSpec
from skillopt.domain.messages import Message
from skillopt.domain.skill_folder import read_manifest
from skillopt.envs.tasks import AttemptResult
from skillopt.gateway.gateway import JobCalls
from workers.container import Container
from workers.tasks.attachments import load_attachments


def attempt_by_agent(
    container: Container,
    calls: JobCalls,
    spec: RolloutSpec,
    prompt: TaskPrompt,
    skill: str,
    put: Callable[[str], Sequence[Message]],
) -> AttemptResult:
    """Hand a task to the agent; `put` makes its messages from what stands for the skill.

    Raises TaskError if the agent could never do the task as it is put.
    """
    attached = load_attachments(container, prompt)
    reply = calls.attempt(
        Assignment(
            messages=put,
            skill=skill,
            skill_files=_skill_files(container, spec),
            files=tuple(WorkspaceFile(path, content) for path, content in attached.items()),
            tools=prompt.tools,
            sample=spec.sample,
        )
    )
    return AttemptResult(reply.text, reply.finish_reason, reply.tools_called, reply.messages)


def _skill_files(container: Container, spec: RolloutSpec) -> tuple[WorkspaceFile, ...]:
    """Read what lies beside SKILL.md."""
    if spec.layout is None:
        return ()
    listed = read_manifest(container.inputs.load([spec.skill])[spec.skill])
    contents = container.inputs.load(list(dict.fromkeys(listed.beside.values())))
    return tuple(
        WorkspaceFile(path, contents[sha256], executable=path in listed.executable)
        for path, sha256 in listed.beside.items()
    )
