"""The loop of a worker: what is cut is cut once, and may take its time to end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from workers.held import Held, JobStopped, Stop
from workers.http_loop import HttpLoop


def test_a_call_that_was_cut_ends_what_it_began_although_the_loop_is_closed_meanwhile():
    loop, held = HttpLoop(), Held("j", "o", "r")
    begun, cleaning, ended = threading.Event(), threading.Event(), threading.Event()

    async def program() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cleaning.set()
            await asyncio.sleep(0.05)  # as an agent's program takes to die
            ended.set()

    def cut() -> None:
        assert begun.wait(5)
        held.tell_to_stop(Stop.DRAINING)

    threading.Thread(target=cut).start()
    with pytest.raises(JobStopped):
        loop.call(program(), held, 60)
    assert cleaning.wait(5)
    loop.close()
    assert ended.is_set()


def test_what_nobody_cut_is_cut_when_the_loop_is_closed():
    loop, held = HttpLoop(), Held("j", "o", "r")
    begun, stopped = threading.Event(), threading.Event()

    async def call() -> None:
        begun.set()
        await asyncio.sleep(60)

    def job() -> None:
        with pytest.raises(JobStopped):
            loop.call(call(), held, 60)
        stopped.set()

    threading.Thread(target=job).start()
    assert begun.wait(5)
    loop.close()
    assert stopped.wait(5)
