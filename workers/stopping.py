"""A job that must not go on."""

from __future__ import annotations

from skillopt.errors import SkillOptError
from workers.heartbeat import Stop


class JobStopped(SkillOptError):
    """The job was told to stop."""

    code = "stopped"

    def __init__(self, why: Stop) -> None:
        super().__init__(f"the job was told to stop: {why}")
        self.why = why
