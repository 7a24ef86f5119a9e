"""One model behind one or several endpoints that the openai client can ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import openai

from skillopt.backends.base import ChatReply
from skillopt.backends.endpoint_ring import EndpointRing
from skillopt.backends.failures import without_key
from skillopt.backends.openai_errors import translate
from skillopt.backends.question import Question
from skillopt.backends.redaction import reply_without
from skillopt.domain.backend import Backend, Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.errors import CallError, CallTimeout


class Api(Protocol):
    """One of the two ways to ask a model: Chat Completions or Responses."""

    async def ask(
        self,
        client: openai.AsyncOpenAI,
        question: Question,
    ) -> ChatReply:
        """Ask once; raises what the client raises, or a CallError for an unusable answer."""
        ...


@dataclass(frozen=True)
class Endpoint:
    """One address; `secret` gives what must not appear in a text, if there is anything."""

    host: str
    client: openai.AsyncOpenAI
    secret: Callable[[], str | None]


async def _nothing_else() -> None:
    """Close nothing but the clients."""


class OpenAIBackend:
    """A `ChatBackend` that sends each call to one of its endpoints, once.

    After a failure that another try can mend the endpoint is left alone for a while, so that the
    gateway's next try goes to another one. A refused credential or an unknown deployment is a
    mistake in the catalogue or in a resource: it is reported with the name of the host, and not
    hidden by asking elsewhere.
    """

    def __init__(
        self,
        api: Api,
        backend: Backend,
        endpoints: Sequence[Endpoint],
        credential: str,
        *,
        first: int = 0,
        clock: Callable[[], float] = time.monotonic,
        close_also: Callable[[], Awaitable[None]] = _nothing_else,
    ) -> None:
        self.credential = credential
        self._api = api
        self._backend = backend
        self._endpoints = tuple(endpoints)
        self._ring = EndpointRing(len(endpoints), first)
        self._clock = clock
        self._close_also = close_also

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        sample: int = 0,
        params: Params | None = None,
        schema: ReplySchema | None = None,
    ) -> ChatReply:
        backend = self._backend.using(params)
        question = Question(messages, tools, sample, backend.params, schema)
        place = self._ring.choose(self._clock())
        endpoint = self._endpoints[place]
        # A token may be renewed meanwhile: the call carried this one or the next.
        before = endpoint.secret()
        failure: CallError
        try:
            # The client's own limit is for each piece of an answer; this one is for all of it.
            async with asyncio.timeout(backend.timeout_s):
                reply = await self._api.ask(endpoint.client, question)
            return reply_without(reply, before, endpoint.secret())
        except TimeoutError:
            failure = CallTimeout("the provider did not answer in time")
        except openai.OpenAIError as error:
            form_asked = schema is not None and backend.reply_form != "none"
            failure = translate(error, backend.model, endpoint.secret(), form_asked=form_asked)
        except CallError as error:
            failure = error.told_as(without_key(str(error), endpoint.secret()))
        failure = failure.told_as(without_key(str(failure), before))
        if len(self._endpoints) > 1:
            retry_after_s = self._ring.failed(place, failure, self._clock())
            failure = failure.told_as(f"{endpoint.host}: {failure}")
            failure.retry_after_s = retry_after_s
        raise failure from None

    async def close(self) -> None:
        for endpoint in self._endpoints:
            await endpoint.client.close()
        await self._close_also()
