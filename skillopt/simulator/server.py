"""Running the server: in this thread until it is told to stop, or beside it in another."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from aiohttp import web

from skillopt.errors import ConfigError
from skillopt.health import Condition, HealthFile
from skillopt.simulator.app import make_app
from skillopt.simulator.options import SimulatorOptions

__all__ = ["Address", "make_app", "running", "serve"]

#: Calls still hanging when the server stops are cut after this long.
_SHUTDOWN_S = 0.1

#: How often the server says that it is well, and when silence means that it hangs.
_HEALTH_S = 1.0
_HEALTH_STALE_S = 20.0


@dataclass(frozen=True)
class Address:
    """Where a simulator listens."""

    host: str
    port: int

    @property
    def root_url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def base_url(self) -> str:
        """The address that an OpenAI-style client takes."""
        return f"{self.root_url}/v1"


def serve(
    options: SimulatorOptions,
    *,
    port_file: Path | None = None,
    health_path: Path | None = None,
    on_start: Callable[[Address], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. Raises ConfigError if the address is taken.

    Once it listens, the port is written to `port_file` (whole or not at all) and `on_start` is
    called. While its event loop turns, it says so in the file `health_path`.
    """
    asyncio.run(_serve_until_signal(options, port_file, health_path, on_start))


@contextmanager
def running(options: SimulatorOptions | None = None) -> Iterator[Address]:
    """Run a simulator in a thread of this process for the length of a `with` block."""
    started: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event, Address] | BaseException]
    started = SimpleQueue()

    async def main() -> None:
        stop = asyncio.Event()
        async with _listening(options or SimulatorOptions()) as address:
            started.put((asyncio.get_running_loop(), stop, address))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            started.put(error)

    thread = threading.Thread(target=run, name="simulator", daemon=True)
    thread.start()
    outcome = started.get()
    if isinstance(outcome, BaseException):
        raise outcome
    loop, stop, address = outcome
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


async def _serve_until_signal(
    options: SimulatorOptions,
    port_file: Path | None,
    health_path: Path | None,
    on_start: Callable[[Address], None] | None,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with _listening(options) as address:
        if port_file is not None:
            try:
                _write_whole(port_file, f"{address.port}\n")
            except OSError as error:
                raise ConfigError(
                    f"the port file {str(port_file)!r} cannot be written ({error.strerror}); name "
                    "a file in a folder that exists"
                ) from error
        if on_start is not None:
            on_start(address)
        if health_path is None:
            await stop.wait()
        else:
            await _serve_and_report(HealthFile(health_path, "simulator", _HEALTH_STALE_S), stop)


async def _serve_and_report(health: HealthFile, stop: asyncio.Event) -> None:
    health.write(Condition())
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _HEALTH_S)
        health.try_to_write(Condition())
    health.remove()


@asynccontextmanager
async def _listening(options: SimulatorOptions) -> AsyncIterator[Address]:
    # Handlers end when their client leaves, so that a hanging call is not counted as in flight.
    runner = web.AppRunner(
        make_app(options),
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=_SHUTDOWN_S,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, options.host, options.port, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {options.host!r} port {options.port!r}: {error.strerror}; "
                "choose another port, or 0 for a free one"
            ) from error
        host, port = runner.addresses[0][:2]
        yield Address(host, port)
    finally:
        await runner.cleanup()


def _write_whole(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
