"""A bound on what a server may send as one answer: it is held in memory before it is read."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

import httpx2

from skillopt.errors import ServerFailed

#: Far more than the longest reply of any model, pictures and thoughts included.
MOST_BYTES = 32_000_000


async def bounded(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Pass an answer on; raises ServerFailed where it is longer than any answer is."""
    taken = 0
    async for chunk in chunks:
        taken += len(chunk)
        if taken > MOST_BYTES:
            raise ServerFailed(
                f"the provider's answer has more than {MOST_BYTES} bytes", may_be_billed=True
            )
        yield chunk


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in bounded(self._stream):
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound(response: httpx2.Response) -> None:
    """Bound an answer of which only the head has been read."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _BoundedStream(response.stream)
