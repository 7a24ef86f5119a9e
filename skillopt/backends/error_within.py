"""Errors that come with status 200: never an answer."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.backends.failures import Told, failure, told_by

#: What MiniMax calls its failures, as the status that other servers have for them.
_BASE_RESP = {
    1001: 408,
    1002: 429,
    1004: 401,
    1008: 402,
    1039: 429,
    1041: 429,
    1042: 400,
    2013: 400,
    2045: 429,
    2049: 401,
    2056: 429,
}
_BASE_RESP_FILTERED = frozenset({1026, 1027})


def raise_error_within(raw: object, model: str) -> None:
    """Raise the CallError that the body of a seeming success tells of, if it does."""
    told = _told(raw) if isinstance(raw, Mapping) else None
    if told is not None:
        raise failure(told, model)


def _told(raw: Mapping[str, object]) -> Told | None:
    base = raw.get("base_resp")
    code = base.get("status_code") if isinstance(base, Mapping) else None
    if isinstance(base, Mapping) and isinstance(code, int) and code != 0:
        return Told(
            _BASE_RESP.get(code, 500),
            str(code),
            message=str(base.get("status_msg") or ""),
            filtered=code in _BASE_RESP_FILTERED,
            within_200=True,
        )
    choices = raw.get("choices")
    if isinstance(choices, list) and choices:
        error = choices[0].get("error") if isinstance(choices[0], Mapping) else None
    else:
        error = raw.get("error")
        if not error and (raw.get("object") == "error" or "detail" in raw):
            error = raw
    return told_by(error, 500, within_200=True) if error else None
