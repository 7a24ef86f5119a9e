"""How a process says that it is well: a small file that it writes again and again.

`python -m skillopt.health PATH` exits with 0 if the process that writes PATH is live: it is there,
writes on time, and its loops turn. With `--ready` it must also be able to do its work now:
connected, consuming, its heartbeats current. Otherwise the exit code is 1, and each reason is a
line on standard output. Made for exec probes, and for whoever supervises processes of one machine;
several paths ask after several processes, of which each must be well.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.errors import ConfigError

log = logging.getLogger(__name__)

#: The exit code of a process that found itself standing still and left to be started again.
STOOD_STILL: Final = 70

WELL, NOT_WELL = 0, 1


class HealthReport(BaseModel):
    """What a process last said of itself."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    version: Literal[1] = 1
    process: str
    pid: int
    #: When it was written, by the clock of the machine that runs since it was started.
    at: float
    #: A report older than this means that its process hangs.
    good_for_s: float
    #: Why it is not live (its supervisor should start it again), in words; empty if it is.
    stuck: tuple[str, ...] = ()
    #: Why it cannot work now although it is live, in words.
    not_ready: tuple[str, ...] = ()


@dataclass(frozen=True)
class Condition:
    """What a process finds when it looks at itself."""

    stuck: tuple[str, ...] = ()
    not_ready: tuple[str, ...] = ()


class HealthFile:
    """Writes the reports of one process; raises ConfigError if the file cannot be written."""

    def __init__(self, path: Path, process: str, good_for_s: float) -> None:
        self.path = path
        self._process = process
        self._good_for_s = good_for_s

    def write(self, found: Condition) -> None:
        report = HealthReport(
            process=self._process,
            pid=os.getpid(),
            at=time.monotonic(),
            good_for_s=self._good_for_s,
            stuck=found.stuck,
            not_ready=found.not_ready,
        )
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            partial.write_text(report.model_dump_json(), encoding="utf-8")
            partial.replace(self.path)
        except OSError as error:
            raise ConfigError(
                f"the health file {str(self.path)!r} cannot be written ({error.strerror}): name "
                "a file in a folder that exists and has room"
            ) from error

    def try_to_write(self, found: Condition) -> None:
        """Write, or warn: whoever reads the file sees that it is old, and the work goes on."""
        try:
            self.write(found)
        except ConfigError as error:
            log.warning("health not told: %s", error, extra={"event": "health_untold"})

    def remove(self) -> None:
        """Take the report back: the process ends as it should."""
        self.path.unlink(missing_ok=True)


def keep_reporting(
    file: HealthFile, look: Callable[[], Condition], period_s: float, stop: threading.Event
) -> threading.Thread:
    """Report from a thread of its own until told to stop; the file is gone afterwards.

    Raises ConfigError if the first report cannot be written.
    """

    def report() -> None:
        while not stop.wait(period_s):
            file.try_to_write(look())
        file.remove()

    file.write(look())
    thread = threading.Thread(target=report, name="health", daemon=True)
    thread.start()
    return thread


def complaints(path: Path, *, ready: bool, now: float) -> list[str]:
    """Say what is wrong with the process that writes `path`; nothing if it is well."""
    try:
        report = HealthReport.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return [f"{str(path)!r} is not there: its process is still starting, or it has ended"]
    except (OSError, ValidationError) as error:
        return [f"{str(path)!r} is no health file ({type(error).__name__}): give the right path"]
    age_s = now - report.at
    if not _is_there(report.pid):
        return [f"{report.process}: process {report.pid} is gone"]
    if not 0 <= age_s <= report.good_for_s:
        return [
            f"{report.process}: no sign of life for {abs(age_s):.0f} s (allowed: "
            f"{report.good_for_s:g} s): process {report.pid} is stopped or hangs"
        ]
    found = [*report.stuck, *(report.not_ready if ready else ())]
    return [f"{report.process}: {why}" for why in found]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m skillopt.health",
        description="Exit with 0 if the process that writes a health file is live; else with 1, "
        "and say why, a line for each reason. For liveness and readiness probes of a container "
        "(exec), and for people: the processes of `skillopt run` write to .skillopt/health/.",
    )
    parser.add_argument(
        "paths", type=Path, nargs="+", metavar="PATH", help="what a process got as --health-file"
    )
    parser.add_argument(
        "--ready", action="store_true", help="ask also whether it can do its work now"
    )
    options = parser.parse_args(arguments)
    problems = [
        problem
        for path in options.paths
        for problem in complaints(path, ready=options.ready, now=time.monotonic())
    ]
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    return NOT_WELL if problems else WELL


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # of another user, but there
    return True


if __name__ == "__main__":
    sys.exit(main())
