"""How an assignment reaches the agent: the skill by prompt, as a file, or as the program's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillopt.backends.cli.broker import describe_commands, write_commands
from skillopt.backends.cli.contract import Assignment
from skillopt.backends.cli.invocation import AgentProgram, Request
from skillopt.backends.cli.options import CliOptions
from skillopt.backends.cli.workspace import Workspace, WorkspaceFile
from skillopt.domain.agent import SKILL_FOLDER, TAKEN_NAMES, TASK_FILE
from skillopt.domain.messages import Message
from skillopt.domain.skill_folder import SKILL_FILE
from skillopt.errors import TaskError

_DEFAULT_NAME = "skill"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_NAME_LINE = re.compile(r"^name:\s*[\"']?([a-z0-9]+(?:-[a-z0-9]+)*)[\"']?\s*$", re.MULTILINE)
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_ROLES = {"user": "User", "assistant": "Assistant", "tool": "Result of a tool"}


@dataclass(frozen=True)
class Laid:
    """An assignment in its workspace."""

    request: Request
    #: What was put to the agent, as it enters the trajectory.
    messages: tuple[Message, ...]


def lay_out(
    assignment: Assignment, options: CliOptions, program: AgentProgram, workspace: Workspace
) -> Laid:
    """Write the files of an assignment, and compose the request that refers to them."""
    name = _deliver_skill(assignment, options, program, workspace)
    messages = list(assignment.messages(_stand_in(assignment.skill, options, name)))
    system, user = split(messages)
    workspace.put(workspace.work, [WorkspaceFile(TASK_FILE, user.encode())])
    written = workspace.put(workspace.work, assignment.files)
    write_commands(workspace.work, workspace.socket, assignment.tools)
    notes = [describe_commands(assignment.tools), _describe_files(assignment)]
    if options.skill_delivery == "prompt":
        notes.insert(0, _describe_skill_files(assignment))
    system = "\n\n".join(filter(None, [system, *notes]))
    by_file = options.skill_delivery == "file"
    request = Request(
        system=system,
        user=user,
        needs_shell=by_file or bool(assignment.tools or assignment.files or assignment.skill_files),
        native_skill=name if options.skill_delivery == "native" else None,
        images=tuple(path for path in written if path.suffix.lower() in _IMAGES),
        sample=assignment.sample,
    )
    shown = (Message(role="system", content=system), Message(role="user", content=user))
    return Laid(request, shown if system else shown[1:])


def require_room(assignment: Assignment) -> None:
    """Refuse files that would lie where something of ours, or another file, does."""
    taken: set[str] = set()
    for file in sorted(assignment.files, key=lambda file: file.path):
        parts = file.path.split("/")
        folders = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        if parts[0].casefold() in TAKEN_NAMES:
            raise TaskError(
                f"{file.path!r} is in the workspace already: {', '.join(sorted(TAKEN_NAMES))} "
                "belong to every task; rename the file"
            )
        if file.path in taken or folders & taken:
            raise TaskError(f"{file.path!r} is given twice, or below a file; rename one of the two")
        taken.add(file.path)


def as_request(messages: Sequence[Message], schema: dict[str, Any] | None, sample: int) -> Request:
    """A conversation without files: what optimizer and judge ask."""
    system, user = split(messages)
    return Request(system=system, user=user, schema=schema, sample=sample)


def split(messages: Sequence[Message]) -> tuple[str, str]:
    """System prompt and the rest as one text; a longer conversation names who speaks."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if len(rest) == 1:
        return system, rest[0].content
    spoken = [f"## {_ROLES[message.role]}\n\n{message.content}" for message in rest]
    return system, "\n\n".join(spoken)


def _deliver_skill(
    assignment: Assignment, options: CliOptions, program: AgentProgram, workspace: Workspace
) -> str:
    name = _skill_name(assignment.skill)
    if options.skill_delivery == "native":
        folder = program.skill_folder(workspace) / name
        text = _with_front_matter(assignment.skill, name)
    else:
        folder, text = workspace.work / SKILL_FOLDER, assignment.skill
    if options.skill_delivery != "prompt":
        folder.mkdir(mode=0o700, parents=True)
        (folder / SKILL_FILE).write_text(text, encoding="utf-8")
    workspace.put(folder, assignment.skill_files)
    return name


def _stand_in(skill: str, options: CliOptions, name: str) -> str:
    if options.skill_delivery == "prompt":
        return skill
    if options.skill_delivery == "native":
        return f"Use the skill `{name}` for this task: load it before you start, and follow it."
    return (
        f"The skill is the file `{SKILL_FOLDER}/{SKILL_FILE}` in the working folder. Read all of "
        "it before you start, and follow it."
    )


def _skill_name(skill: str) -> str:
    front = _FRONT_MATTER.match(skill)
    named = _NAME_LINE.search(front.group(1)) if front else None
    return named.group(1) if named and len(named.group(1)) <= 64 else _DEFAULT_NAME


def _with_front_matter(skill: str, name: str) -> str:
    """Programs find a skill by its front matter; a document without one gets the least."""
    if _FRONT_MATTER.match(skill):
        return skill
    return f"---\nname: {name}\ndescription: How to do the task at hand.\n---\n\n{skill}"


def _describe_skill_files(assignment: Assignment) -> str:
    if not assignment.skill_files:
        return ""
    listed = "\n".join(f"- `{SKILL_FOLDER}/{file.path}`" for file in assignment.skill_files)
    return f"## Files of the skill, in the working folder\n\n{listed}"


def _describe_files(assignment: Assignment) -> str:
    if not assignment.files:
        return ""
    listed = "\n".join(f"- `{file.path}`" for file in assignment.files)
    return f"## Files in the working folder\n\n{listed}"
