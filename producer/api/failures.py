"""Every failure as one shape: {"error": {"code", "message", "fix"?}} and a fitting status."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from skillopt.config.origins import shortened
from skillopt.errors import (
    Conflict,
    Fenced,
    InputError,
    QuotaExceeded,
    SkillOptError,
    StaleVersion,
    StateUnavailable,
)

RETRY_SOON_S = 2
#: Of refusals that come from the framework.
_CODES = {404: "unknown_path", 405: "unknown_method", 408: "too_slow", 413: "too_large"}


class ErrorDetail(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str
    message: str
    fix: str | None = None


class ErrorBody(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    error: ErrorDetail


class Refusal(Exception):
    """A request that is not answered as it was asked."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        fix: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.detail = ErrorDetail(code=code, message=message, fix=fix)
        self.retry_after_s = retry_after_s

    def response(self) -> JSONResponse:
        headers = {}
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after_s)))
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(
            ErrorBody(error=self.detail).model_dump(exclude_none=True),
            status_code=self.status,
            headers=headers,
        )


def unknown_run(reference: str) -> Refusal:
    """Of a run that is not there, and of one that the caller must not know of."""
    return Refusal(
        404,
        "unknown_run",
        f"no run {shortened(reference)!r} that you may see",
        fix="list your runs: GET /api/v1/runs",
    )


def not_allowed(what: str, needed: str) -> Refusal:
    return Refusal(403, "not_allowed", what, fix=f"use a token of {needed}")


#: What the schema says of every route.
RESPONSES: Mapping[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": description}
    for status, description in {
        401: "No valid token",
        403: "The token's role does not allow it",
        404: "There is none that the token may see",
        409: "It is in a state that does not allow it",
        413: "The body is too large",
        422: "The request is not understood",
        429: "Too many requests",
        503: "Redis cannot be reached",
    }.items()
}


def install_failure_handlers(app: FastAPI) -> None:
    """Let every failure of a route leave in the one shape."""

    @app.exception_handler(Refusal)
    def refused(request: Request, error: Refusal) -> JSONResponse:
        return error.response()

    @app.exception_handler(RequestValidationError)
    def not_understood(request: Request, error: RequestValidationError) -> JSONResponse:
        return Refusal(422, "bad_request", _problems(error)).response()

    @app.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:  # of a body that is not even text
            return Refusal(
                422, "bad_request", "the body is not JSON in UTF-8; send it so"
            ).response()
        code = _CODES.get(error.status_code, f"http_{error.status_code}")
        response = Refusal(error.status_code, code, error.detail).response()
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(SkillOptError)
    def failed(request: Request, error: SkillOptError) -> JSONResponse:
        return refusal_of(error).response()


def refusal_of(error: SkillOptError) -> Refusal:
    """Give the answer to a request that failed with an error of ours."""
    match error:
        case StateUnavailable():
            return Refusal(503, error.code, str(error), retry_after_s=RETRY_SOON_S)
        case QuotaExceeded() | Conflict():
            return Refusal(409, error.code, str(error))
        case Fenced() | StaleVersion():
            return Refusal(409, error.code, str(error), fix="try again")
        case InputError():
            return Refusal(422, error.code, str(error))
        case _:
            return Refusal(500, error.code, str(error))


def internal_failure() -> JSONResponse:
    """Say nothing of a defect to the outside: it may hold what nobody should read."""
    return Refusal(
        500, "internal", "the server failed", fix="look into the log of `skillopt serve`"
    ).response()


def _problems(error: RequestValidationError) -> str:
    lines = []
    for problem in error.errors():
        place = ".".join(str(part) for part in problem["loc"])
        given = problem.get("input")
        shown = (
            f" (given: {shortened(repr(given))})" if isinstance(given, str | int | float) else ""
        )
        lines.append(f"{place}: {problem['msg']}{shown}")
    return "\n".join(lines)
