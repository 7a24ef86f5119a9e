"""A way to Redis that can go half-open, break or become slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

CHUNK = 65_536


@dataclass(eq=False)
class _Connection:
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    #: Nothing passes any more, and nobody is told.
    dead: bool = False


class Relay:
    """Passes bytes between one unix socket and another, in a thread of its own."""

    def __init__(self, listen: Path, target: Path) -> None:
        self.path = listen
        self._target = target
        self._connections: set[_Connection] = set()
        self._silent = False
        self._delay_s = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._server: asyncio.Server | None = None
        self._ended = asyncio.Event()

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result(10)

    def close(self) -> None:
        if self._server is None:
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def half_open(self) -> None:
        """Let every connection, also new ones, hang without a word."""
        self._do(self._silence)

    def heal(self) -> None:
        """Let new connections pass at full speed; those that hang hang on, as in life."""
        self._do(self._pass)

    def cut(self) -> None:
        """Break every connection."""
        self._do(self._break)

    def delay(self, seconds: float) -> None:
        """Hold every piece back for so long."""
        self._delay_s = seconds

    def _do(self, action: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(action)

    def _silence(self) -> None:
        self._silent = True
        for connection in self._connections:
            connection.dead = True

    def _pass(self) -> None:
        self._silent, self._delay_s = False, 0.0

    def _break(self) -> None:
        for connection in tuple(self._connections):
            for writer in connection.writers:
                writer.transport.abort()

    async def _serve(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, str(self.path))

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        self._break()
        self._ended.set()
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection([writer], dead=self._silent)
        self._connections.add(connection)
        try:
            upstream, to_server = await asyncio.open_unix_connection(str(self._target))
            connection.writers.append(to_server)
            await asyncio.gather(
                self._pump(connection, reader, to_server), self._pump(connection, upstream, writer)
            )
        except OSError:
            pass  # Redis is away, or the worker is: either side sees a closed connection
        finally:
            self._connections.discard(connection)
            for one in connection.writers:
                one.transport.abort()

    async def _pump(
        self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(CHUNK):
            if self._delay_s:
                await asyncio.sleep(self._delay_s)
            if connection.dead:
                await self._ended.wait()
            writer.write(data)
            await writer.drain()
        with suppress(OSError):
            writer.write_eof()
