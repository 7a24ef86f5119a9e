"""What a run has done: curve, gates, documents, records, events, and all of it to take along."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.background import BackgroundTask

from producer.api.access import CallersQueue, Parts, SeenRun
from producer.api.headers import REPORT_POLICY
from producer.api.parts import ApiParts
from producer.api.uploads import work_folder
from producer.archives import pack
from producer.queue.models import CurveRow, DiffPage, EventRow, GatePage
from producer.queue.port import Queue
from producer.run_folder import RunFolder

#: Of numbers that JavaScript still holds exactly.
MOST_EVENTS = 2**53 - 1
MOST_RECORDS = 500


def reading_routes() -> APIRouter:
    router = APIRouter(tags=["results"])
    router.add_api_route("/runs/{run}/curve", curve, methods=["GET"])
    router.add_api_route("/runs/{run}/gates", gates, methods=["GET"])
    router.add_api_route("/runs/{run}/diff", diff, methods=["GET"])
    router.add_api_route("/runs/{run}/blame", blame, methods=["GET"])
    router.add_api_route("/runs/{run}/records", records, methods=["GET"])
    router.add_api_route("/runs/{run}/events", events, methods=["GET"])
    router.add_api_route(
        "/runs/{run}/export",
        export,
        methods=["GET"],
        response_class=FileResponse,
        responses={200: {"content": {"application/zip": {}}}},
    )
    router.add_api_route(
        "/runs/{run}/report",
        report,
        methods=["GET"],
        response_class=Response,  # whose errors are JSON, as those of every route
        responses={200: {"content": {"text/html": {}}}},
    )
    return router


def curve(queue: CallersQueue, run: SeenRun) -> list[CurveRow]:
    """Give the scores by step and end of epoch."""
    return queue.curve(run)


def gates(queue: CallersQueue, run: SeenRun) -> list[GatePage]:
    """Give every gate with its reasons and its differences by task."""
    return queue.gates(run)


def diff(
    queue: CallersQueue, run: SeenRun, label: Annotated[str, Query(max_length=100)] = "best"
) -> DiffPage:
    """Give what changed in the document up to a step, or to the best one."""
    return queue.diff(run, label)


def blame(queue: CallersQueue, run: SeenRun) -> list[dict[str, Any]]:
    """Say of every line of the best document which step and evidence brought it."""
    return queue.blame(run)


def records(
    queue: CallersQueue,
    run: SeenRun,
    step: Annotated[int | None, Query(ge=0, le=1_000_000)] = None,
    task: Annotated[str | None, Query(max_length=500)] = None,
    call: Annotated[str | None, Query(max_length=200)] = None,
    kind: Literal["rollout", "optimizer"] | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST_RECORDS)] = 50,
) -> list[dict[str, Any]]:
    """Give records of attempts and optimizer calls in full, as `skillopt show --json` does."""
    asked = limit if kind is None else MOST_RECORDS
    found = queue.records(run, step=step, task=task, call=call, limit=asked)
    return [one for one in found if kind is None or one.get("kind") == kind][:limit]


def events(
    queue: CallersQueue,
    run: SeenRun,
    after: Annotated[int, Query(ge=0, le=MOST_EVENTS)] = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> list[EventRow]:
    """Give the run's log after an event."""
    return queue.events(run, after=after, limit=limit)


async def export(
    parts: Parts, queue: CallersQueue, run: SeenRun, records: bool = True
) -> FileResponse:
    """Give the run's folder as a zip archive, with or without the records of all calls."""
    folder = Path(tempfile.mkdtemp(prefix="export-", dir=parts.folder.resolve()))
    try:
        archive = await to_thread.run_sync(
            _exported, queue, run, folder, records, limiter=parts.heavy
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return FileResponse(
        archive,
        media_type="application/zip",
        filename=f"{run}.zip",
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )


def _exported(queue: Queue, run: str, folder: Path, records: bool) -> Path:
    files, archive = folder / "run", folder / "run.zip"
    queue.export(run, files, records=records)
    inside = sorted(path for path in files.rglob("*") if path.is_file())
    pack(archive, ((path.relative_to(files).as_posix(), path) for path in inside))
    shutil.rmtree(files)
    return archive


async def report(parts: Parts, queue: CallersQueue, run: SeenRun) -> HTMLResponse:
    """Give the run's report: one HTML file that needs nothing else."""
    page = await to_thread.run_sync(_reported, parts, queue, run, limiter=parts.heavy)
    return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})


def _reported(parts: ApiParts, queue: Queue, run: str) -> str:
    folder = queue.status(run).run_dir
    if folder is not None and Path(folder).is_dir():
        return parts.report(RunFolder(Path(folder)))
    with work_folder(parts.folder, "report") as made:
        queue.export(run, made / run)
        return parts.report(RunFolder(made / run))
