"""`skillopt eval` of many tasks at once, on a shared Redis, by a provider that counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleet_command import FAST, skillopt

from skillopt.simulator.server import Address


@dataclass
class PaidEvaluation:
    """One command in a folder and a store of its own; equal skills want equal results."""

    folder: Path
    redis: str
    simulator: Address
    tasks: int
    skill: str = "# Minutes\n\nSummarise the meeting.\n"
    spec: str = ""
    #: Further keys of the backend, as YAML.
    backend: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        (self.folder / "tasks").mkdir(parents=True)
        (self.folder / "SKILL.md").write_text(self.skill)
        for split, count in (("train", 1), ("val", 1), ("test", self.tasks)):
            rows = [
                {"id": f"{split}-{n}", "task": f"Sum up {split} meeting {n}.", "answers": ["x"]}
                for n in range(count)
            ]
            (self.folder / "tasks" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (self.folder / "spec.yaml").write_text(
            f"name: {self.folder.name}\nskill: SKILL.md\ntasks: tasks\njudge: {{kind: answer}}\n"
            f"model: {{target: sim}}\n{self.spec}\nbackends: {{sim: {{kind: simulated, base_url: "
            f"'{self.simulator.base_url}'{self.backend}}}}}\n"
        )

    def start(self, *arguments: str) -> PaidEvaluation:
        command = ["eval", "spec.yaml", "--redis", self.redis, "--json", *arguments]
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "producer.cli", *command],
                cwd=self.folder,
                env={**os.environ, **FAST, **self.environment},
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return self

    def end(self) -> int:
        assert self.process is not None
        return self.process.wait(timeout=100)

    def run(self, *arguments: str) -> int:
        return self.start(*arguments).end()

    def interrupt(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=60)

    def result(self) -> dict[str, Any]:
        text = (self.folder / "out").read_text()
        assert text, (self.folder / "err").read_text()
        return json.loads(text)

    def budget(self, *arguments: str) -> dict[str, Any]:
        """Give `skillopt budget` with these arguments; what it prints."""
        code, printed = skillopt("budget", *arguments, "--redis", self.redis, cwd=self.folder)
        assert code == 0, printed
        return printed


def stats(simulator: Address) -> dict[str, Any]:
    url = f"{simulator.base_url.removesuffix('/v1')}/stats"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)
