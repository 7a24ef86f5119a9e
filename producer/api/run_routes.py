"""Runs: the list, a new one, one in full, and steering it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict

from producer.api.access import Asking, CallersQueue, Parts, Running, SeenRun, SteeredRun
from producer.api.failures import Refusal
from producer.api.uploads import DEFAULT_SPEC, receive_archive, submit_archive, work_folder
from producer.queue.models import (
    LABEL,
    ControlReply,
    Phase,
    Priority,
    Retuning,
    RunRow,
    RunStatus,
    Tags,
)
from skillopt.state.ports import TokenRole

_LABEL: Final = re.compile(rf"({LABEL})=(.{{0,200}})")
#: Larger figures are mistakes, and not every store counts further.
_MOST: Final = 1e15
_ARCHIVE: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The spec with the files that it refers to, and nothing else.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}

Labels = Annotated[
    list[str] | None, Query(max_length=20, description="name=value; every one must fit")
]


class Me(BaseModel):
    """What the token stands for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    role: TokenRole
    owner: str
    team: str


def run_routes() -> APIRouter:
    router = APIRouter(tags=["runs"])
    router.add_api_route("/me", me, methods=["GET"])
    router.add_api_route("/runs", list_runs, methods=["GET"])
    router.add_api_route(
        "/runs", create_run, methods=["POST"], status_code=201, openapi_extra=_ARCHIVE
    )
    router.add_api_route("/runs/{run}", run_status, methods=["GET"])
    router.add_api_route("/runs/{run}", retune, methods=["PATCH"])
    router.add_api_route("/runs/{run}/pause", pause, methods=["POST"])
    router.add_api_route("/runs/{run}/resume", resume, methods=["POST"])
    router.add_api_route("/runs/{run}/cancel", cancel, methods=["POST"])
    return router


def me(caller: Asking) -> Me:
    """Say what the token stands for."""
    return Me(name=caller.name, role=caller.role, owner=caller.owner, team=caller.team)


def list_runs(
    queue: CallersQueue,
    owner: Annotated[str | None, Query(max_length=64)] = None,
    phase: Phase | None = None,
    label: Labels = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[RunRow]:
    """List the runs that you may see, newest first."""
    return queue.runs(owner=owner, phase=phase, labels=_labels(label), limit=limit)


async def create_run(
    request: Request,
    parts: Parts,
    caller: Running,
    queue: CallersQueue,
    spec: Annotated[
        str, Query(min_length=1, max_length=300, description="The spec's path in the archive")
    ] = DEFAULT_SPEC,
    priority: Priority | None = None,
    label: Labels = None,
    set: Annotated[
        list[Annotated[str, Query(max_length=2000)]] | None,
        Query(max_length=50, description="section.key=value, over what the spec says"),
    ] = None,
) -> RunRow:
    """Submit a run. The same content again continues the run that it is."""
    labels = _labels(label)
    # What is not given is left to the spec.
    tags = Tags(labels=labels) if priority is None else Tags(priority=priority, labels=labels)
    parts.uploads.check(caller.name)
    with parts.uploads.counted(caller.name), work_folder(parts.folder, "upload") as folder:
        archive = folder / "archive.zip"
        await receive_archive(request, archive)

        def submit() -> RunRow:
            return submit_archive(
                archive,
                folder,
                queue=queue,
                caller=caller,
                spec=spec,
                tags=tags,
                overrides=set or (),
            )

        return await to_thread.run_sync(submit, limiter=parts.submitting)


def run_status(caller: Asking, queue: CallersQueue, run: SeenRun) -> RunStatus:
    """Give one run in full; where its folder lies is for admins."""
    return caller.shown(queue.status(run))


def pause(queue: CallersQueue, run: SteeredRun) -> ControlReply:
    """Let calls in flight end, and make no new ones."""
    return queue.pause(run)


def resume(queue: CallersQueue, run: SteeredRun) -> ControlReply:
    """Let a paused run go on."""
    return queue.resume(run)


def cancel(queue: CallersQueue, run: SteeredRun) -> ControlReply:
    """End a run for good."""
    return queue.cancel(run)


def retune(queue: CallersQueue, run: SteeredRun, retuning: Retuning) -> ControlReply:
    """Change what may change while a run goes on; keys that are not given stay."""
    given = retuning.given()
    if not given:
        known = ", ".join(Retuning.model_fields)
        raise Refusal(422, "bad_request", f"nothing is to change; give one of {known}")
    for key, value in given.items():
        if isinstance(value, int | float) and not abs(value) < _MOST:
            raise Refusal(422, "bad_request", f"{key}: {value!r} is too large; use null for none")
    return queue.retune(run, retuning)


def _labels(written: list[str] | None) -> dict[str, str]:
    labels = {}
    for one in written or ():
        match = _LABEL.fullmatch(one)
        if match is None:
            raise Refusal(
                422,
                "bad_request",
                f"label: {one[:300]!r} is not understood",
                fix="write name=value",
            )
        labels[match.group(1)] = match.group(2)
    return labels
