"""A process that is started again whenever it ends, as an init system does it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

RESTART_S = 0.3


class Supervised:
    """One part of the fleet. `look` must be called often."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        *,
        keep: bool = True,
    ) -> None:
        self.name = name
        self.argv = list(argv)
        self.env = dict(env)
        self.log = log
        self.starts = 0
        #: What it ended with, each time.
        self.codes: list[int] = []
        self._keep = keep
        self._restart_at: float | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._restart_at = None
        self.starts += 1
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.argv,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.running else None

    def look(self) -> None:
        """Note an end, and start the process again once its delay has passed."""
        now = time.monotonic()
        if self._restart_at is not None:
            if now >= self._restart_at:
                self.start()
            return
        if self._process is None or (code := self._process.poll()) is None:
            return
        self._process = None
        self.codes.append(code)
        if self._keep:
            self._restart_at = now + RESTART_S

    def tell(self, number: signal.Signals, pid: int | None = None) -> bool:
        """Signal the process; with `pid`, only if it is still that one. False if there is none."""
        present = self.pid
        if present is None or (pid is not None and pid != present):
            return False
        os.kill(present, number)
        return True

    def end(self, grace_s: float) -> bool:
        """SIGTERM, then SIGKILL; whether it went by itself."""
        self._keep, self._restart_at = False, None
        if self._process is None:
            return True
        process = self._process
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
        finally:
            self.codes.append(process.returncode if process.returncode is not None else -9)
            self._process = None
        return True

    def tail(self, size: int = 1500) -> str:
        return self.log.read_text(errors="replace")[-size:] if self.log.exists() else ""
