"""What the HTTP API answered, as values and errors of ours."""

from __future__ import annotations

from typing import Any, Final, NoReturn, TypeVar

import httpx2
from pydantic import TypeAdapter, ValidationError

from skillopt.errors import (
    ConfigError,
    Conflict,
    InputError,
    NotAllowed,
    SkillOptError,
    StateError,
    StateUnavailable,
    TaskError,
)

_Value = TypeVar("_Value")
_LONGEST_TEXT: Final = 300
_BY_CODE: Final[dict[str, type[InputError]]] = {
    error.code: error for error in (ConfigError, TaskError)
}
_BY_STATUS: Final[dict[int, type[SkillOptError]]] = {
    401: NotAllowed,
    403: NotAllowed,
    409: Conflict,
    429: StateUnavailable,
}


def read_reply(response: httpx2.Response, form: TypeAdapter[_Value]) -> _Value:
    """Read an answer; raises StateError if it is not of the form that this version knows."""
    require_success(response)
    try:
        return form.validate_json(response.content)
    except ValidationError as error:
        raise StateError(
            f"the server's answer to {response.request.url.path!r} is not understood "
            f"({error.error_count()} problems, the first in {error.errors()[0]['loc']!r}); does it "
            "run another version?"
        ) from None


def require_success(response: httpx2.Response) -> None:
    """Raise the error that an answer tells, in the class that the command line knows."""
    if response.is_success:
        return
    response.read()
    _refuse(response.status_code, response)


def _refuse(status: int, response: httpx2.Response) -> NoReturn:
    code, message = _told(response)
    if status >= 500:
        raise StateUnavailable(f"the server cannot answer ({status}): {message}")
    if status < 400:
        raise StateError(f"the server sends us elsewhere ({status}); correct the URL")
    raise _BY_CODE.get(code, _BY_STATUS.get(status, InputError))(message)


def _told(response: httpx2.Response) -> tuple[str, str]:
    """Give code and words of an error; also of one that something else than our server sent."""
    try:
        error: Any = response.json()["error"]
        words = [str(error["message"])] + ([str(error["fix"])] if error.get("fix") else [])
        return str(error["code"]), "; ".join(words)
    except (ValueError, KeyError, TypeError, AttributeError):
        text = " ".join(response.text.split())[:_LONGEST_TEXT]
        return "", f"{text!r}; is this the URL of `skillopt serve`?"
