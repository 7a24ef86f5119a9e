"""Who makes a request, and which runs are theirs to see and to steer."""

from __future__ import annotations

from dataclasses import dataclass, field

from producer.queue.models import RunStatus
from skillopt.state.ports import TokenInfo, TokenRole


@dataclass(frozen=True)
class Caller:
    """The holder of a token.

    Everybody sees the runs of their owner and of their team; an admin sees all. A run without
    owner and team is the admins' alone.
    """

    name: str
    role: TokenRole
    owner: str
    team: str
    #: The token's hash.
    digest: str = field(default="", repr=False)

    @classmethod
    def of(cls, info: TokenInfo) -> Caller:
        return cls(info.name, info.role, info.owner, info.team, info.digest)

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"

    @property
    def may_run(self) -> bool:
        return self.role in {"runner", "admin"}

    def sees(self, owner: str, team: str) -> bool:
        return self.is_admin or owner == self.owner or (bool(team) and team == self.team)

    def shown(self, status: RunStatus) -> RunStatus:
        """Leave out what tells of the server's own disk, unless it is theirs to look after."""
        return status if self.is_admin else status.model_copy(update={"run_dir": None})

    def steers(self, owner: str) -> bool:
        return self.is_admin or (self.may_run and owner == self.owner)
