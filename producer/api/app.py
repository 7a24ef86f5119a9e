"""Puts the HTTP API together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyio import CapacityLimiter
from fastapi import APIRouter, FastAPI, Security
from fastapi.security import HTTPBearer

from producer.api.authentication import HEALTH_PATH, Authentication
from producer.api.bodies import BodyLimits
from producer.api.failures import RESPONSES, install_failure_handlers
from producer.api.fleet_routes import fleet_routes
from producer.api.headers import SecurityHeaders
from producer.api.journal import Journal
from producer.api.pages import install_pages
from producer.api.parts import ApiParts, SharedQueue
from producer.api.reading_routes import reading_routes
from producer.api.run_routes import run_routes
from producer.api.settings import ApiSettings
from producer.api.simultaneous import Simultaneous
from producer.api.stream_route import stream_routes
from producer.api.uploads import sweep
from producer.cli.environment import own_version
from producer.run_folder import RunFolder
from skillopt.state.ports import State

PREFIX: Final = "/api/v1"
#: Threads that look for news on behalf of streams.
_POLLING_THREADS: Final = 8


@dataclass(frozen=True)
class Health:
    ok: bool = True


def create_app(
    state: State,
    queue: SharedQueue,
    *,
    folder: Path,
    report: Callable[[RunFolder], str],
    settings: ApiSettings | None = None,
    stopping: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """Give the app that `skillopt serve` serves: the API under /api/v1, the dashboard at /.

    `folder` holds uploads and exports while they are worked on. `stopping` tells open streams
    that the server is about to end. `state` and `queue` stay the caller's to close.
    """
    settings = settings or ApiSettings()
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    app = FastAPI(
        title="SkillOpt Fleet",
        description="The team queue. Tokens come from `skillopt token create`.",
        version=own_version(),
        openapi_url=f"{PREFIX}/openapi.json",
        # Their pages load scripts from other hosts.
        docs_url=None,
        redoc_url=None,
    )
    app.state.parts = ApiParts(
        state=state,
        queue=queue,
        report=report,
        settings=settings,
        folder=folder,
        streams=Simultaneous(
            "streams", per_token=settings.streams_per_token, in_all=settings.streams
        ),
        uploads=Simultaneous(
            "uploads", per_token=settings.uploads_per_token, in_all=settings.uploads
        ),
        polls=CapacityLimiter(_POLLING_THREADS),
        heavy=CapacityLimiter(settings.heavy_at_once),
        submitting=CapacityLimiter(1),
        stopping=stopping,
    )
    app.include_router(_api())
    app.add_api_route(HEALTH_PATH, _health, methods=["GET"], tags=["health"])
    install_pages(app)
    install_failure_handlers(app)
    # The last one added is the first to see a request.
    app.add_middleware(BodyLimits, settings=settings)
    app.add_middleware(Authentication, tokens=state.tokens, settings=settings, clock=clock)
    app.add_middleware(Journal)
    app.add_middleware(SecurityHeaders)
    return app


def _api() -> APIRouter:
    bearer = HTTPBearer(
        auto_error=False, scheme_name="token", description="A token of `skillopt token create`"
    )
    router = APIRouter(prefix=PREFIX, responses={**RESPONSES}, dependencies=[Security(bearer)])
    for routes in (run_routes(), reading_routes(), stream_routes(), fleet_routes()):
        router.include_router(routes)
    return router


def _health() -> Health:
    """Say that the server is there, and nothing else."""
    return Health()
