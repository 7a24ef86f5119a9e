"""One short call to each backend, each made by a process of its own.

The producer imports no client: a process with only the keys of its backend makes the call, and is
gone when this one is.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from pydantic import ValidationError

from producer.embedded.children import without_keys, without_redis
from skillopt.domain.backend import Backend
from skillopt.domain.probe import ProbeReport, ProbeRequest
from skillopt.guarded import GuardedProcess, GuardTerms, exit_in_words

#: Calls at a time.
PARALLEL = 8
#: A short call that takes longer is as good as none; an agent program needs time to start.
LONGEST_CALL_S, LONGEST_AGENT_S = 60.0, 180.0
#: For the process itself to start and to end.
_AROUND_S = 30.0
_POLL_S = 0.02
_COMMAND = (sys.executable, "-m", "skillopt.backends.probe_process")


@dataclass
class _Running:
    place: int
    process: GuardedProcess
    said: IO[bytes]


def timeout_s(backend: Backend) -> float:
    longest = LONGEST_CALL_S if backend.agent is None else LONGEST_AGENT_S
    return min(backend.timeout_s, longest)


def call_each(
    backends: Sequence[Backend],
    environ: Mapping[str, str],
    *,
    keys: Collection[str] = (),
    command: Sequence[str] = _COMMAND,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[tuple[int, ProbeReport]]:
    """Call every backend once, several at a time; gives each report as it comes, with the place
    of its backend. Closing the iterator ends the calls that are still going on. `keys` names
    variables of other keys, which no call may have.
    """
    waiting = list(enumerate(backends))
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < PARALLEL:
                place, backend = waiting.pop(0)
                env = without_keys(environ, backends, but=backend, besides=keys)
                running.append(_start(place, backend, without_redis(env), command))
            ended = [one for one in running if one.process.poll() is not None]
            for one in ended:
                running.remove(one)
                yield one.place, _report(one)
            if not ended:
                sleep(_POLL_S)
    finally:
        for one in running:
            one.process.stop(1.0)
            one.said.close()


def _start(
    place: int, backend: Backend, env: Mapping[str, str], command: Sequence[str]
) -> _Running:
    limit = timeout_s(backend)
    said = tempfile.TemporaryFile()  # noqa: SIM115 - closed when its report is read
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as complaints:
        asked.write(ProbeRequest(backend=backend, timeout_s=limit).model_dump_json().encode())
        asked.seek(0)
        process = GuardedProcess.start(
            command,
            env={**env, "PYTHONSAFEPATH": "1"},
            stdin=asked,
            stdout=said,
            stderr=complaints,
            terms=GuardTerms(grace_s=2.0, deadline_s=limit + _AROUND_S),
        )
    return _Running(place, process, said)


def _report(one: _Running) -> ProbeReport:
    """Read what a process said in its last line; one that said nothing of use has failed."""
    code = one.process.wait()
    with one.said as said:
        said.seek(0)
        lines = said.read().splitlines()
    try:
        return ProbeReport.model_validate_json(lines[-1] if lines else b"")
    except ValidationError:
        return ProbeReport(
            error="internal",
            message=f"the process that calls it gave no answer: {exit_in_words(code)}",
        )
