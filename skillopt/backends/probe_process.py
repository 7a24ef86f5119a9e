"""`python -m skillopt.backends.probe_process`: try one backend out, in a process of its own.

Reads a `ProbeRequest` from standard input and writes a `ProbeReport` to standard output. Whoever
asks need not import any client, and a plug-in that hangs or ends its process harms nobody else.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

from skillopt.backends.probe import probe
from skillopt.backends.redaction import without
from skillopt.backends.registry import open_backend
from skillopt.domain.backend import Backend
from skillopt.domain.probe import ProbeReport, ProbeRequest
from skillopt.errors import CallTimeout, SkillOptError


def main() -> int:
    request = ProbeRequest.model_validate_json(sys.stdin.buffer.read())
    report = asyncio.run(examine(request, os.environ))
    sys.stdout.write(report.model_dump_json() + "\n")
    return 0


async def examine(request: ProbeRequest, environ: Mapping[str, str]) -> ProbeReport:
    """Open the backend, ask it once, close it; every failure becomes part of the report."""
    backend = request.backend
    try:
        async with asyncio.timeout(request.timeout_s):
            return await _answer(backend, environ)
    except TimeoutError:
        late = CallTimeout(f"no answer within {request.timeout_s:g} s")
        return _failure(late, backend, environ)
    except SkillOptError as error:
        return _failure(error, backend, environ)
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; its text may quote a key
        return ProbeReport(error="internal", message=f"unexpected {type(error).__name__}")


async def _answer(backend: Backend, environ: Mapping[str, str]) -> ProbeReport:
    chat = open_backend(backend, environ)
    try:
        return await probe(chat, backend)
    finally:
        await chat.close()


def _failure(error: SkillOptError, backend: Backend, environ: Mapping[str, str]) -> ProbeReport:
    keys = [environ.get(variable) for variable in backend.key_variables]
    message = without(str(error), keys, shortest=1)
    return ProbeReport(error=error.code, message=message)


if __name__ == "__main__":
    sys.exit(main())
