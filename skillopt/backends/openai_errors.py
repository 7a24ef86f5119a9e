"""Errors of the openai client in our terms."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp
import openai

from skillopt.backends.failures import failure, told_by
from skillopt.backends.retry_after import retry_after_s
from skillopt.errors import CallError, CallTimeout, ConnectionFailed, ServerFailed


def translate(
    error: openai.OpenAIError,
    model: str,
    api_key: str | None = None,
    *,
    form_asked: bool = False,
) -> CallError:
    """Give the class of failure that an openai error means; `api_key` is kept out of its text.

    `form_asked` says that the request wanted a reply of a certain form.
    """
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        body = error.body if isinstance(error.body, Mapping | str) else error.message
        wait_s = retry_after_s(status, error.response.headers)
        return failure(told_by(body, status), model, api_key, wait_s=wait_s, form_asked=form_asked)
    if isinstance(error, openai.APIConnectionError):
        return _without_answer(error)
    name = type(error).__name__
    return ServerFailed(f"the provider's answer is not usable ({name})", may_be_billed=True)


def _without_answer(error: openai.APIConnectionError) -> CallError:
    """Tell a timeout from a broken connection by what the transport met.

    The client calls a refused or dropped connection of the aiohttp transport a timeout too.
    """
    met = error.__cause__ and (error.__cause__.__cause__ or error.__cause__)
    if isinstance(error.__cause__, CallError):  # raised while the answer was read
        return error.__cause__
    broken = isinstance(met, aiohttp.ClientError) and not isinstance(met, TimeoutError)
    if isinstance(error, openai.APITimeoutError) and not broken:
        return CallTimeout("the provider did not answer in time")
    name = type(met).__name__ if met else "no connection"
    # A connection that was never made carried nothing.
    sent = not isinstance(met, aiohttp.ClientConnectorError)
    return ConnectionFailed(f"the provider cannot be reached ({name})", may_be_billed=sent)
