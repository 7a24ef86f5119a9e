"""The one error tree.

    SkillOptError
    ├── InputError             what a person wrote is wrong: exit 2, names file, key, value, fix
    │   ├── ConfigError        spec, catalogue or command line
    │   ├── TaskError          task records and splits
    │   ├── StoreBusy          another command holds the store
    │   ├── QuotaExceeded      an owner has as many runs as they may have at once
    │   ├── Conflict           the run is in no state to be asked this
    │   └── NotAllowed         the queue's server refuses the token, or what it asks for
    ├── StateError             the shared state refused or is away
    │   ├── Fenced             somebody else owns the run now
    │   ├── StaleVersion       the log moved on since it was read
    │   ├── StateUnavailable   Redis cannot be reached
    │   └── StateCorrupt       a stored value is not what its key promises
    │       └── NotUnderstood  whole, but written by another version
    ├── CallError              one model call failed for reasons outside the model
    │   ├── RateLimited · ServerFailed · CallTimeout · ConnectionFailed     retryable
    │   ├── AuthFailed · UnknownModel · BadRequest                          fatal for the backend
    │   ├── ContentFiltered                                                 fatal for the task
    │   ├── BudgetExhausted                                                 fatal for the run
    │   ├── BudgetHeld                                                      not sent: tried again
    │   └── Throttled · EndpointDown                                        not sent: given back
    ├── ReplyError             the model's reply does not have the form it was asked for
    ├── WireError              a queue message that this version does not understand
    ├── Incompatible           a job for a worker of another version: the run waits for one
    └── EmbeddedError          a supervised child process could not be started or kept alive

Each class has a `code` for machines; its docstring is the default message.
"""

from __future__ import annotations

from typing import ClassVar, Self


class SkillOptError(Exception):
    """Something went wrong in SkillOpt Fleet."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str | None = None, *, retry_after_s: float | None = None) -> None:
        super().__init__(message or (self.__doc__ or self.code).strip())
        self.retry_after_s = retry_after_s


class InputError(SkillOptError):
    """The input is not usable."""

    code = "bad_input"


class ConfigError(InputError):
    """The configuration is not usable."""

    code = "bad_config"


class TaskError(InputError):
    """The task records are not usable."""

    code = "bad_tasks"


class StoreBusy(InputError):
    """Another command is using this store."""

    code = "store_busy"


class QuotaExceeded(InputError):
    """The owner has as many open runs as their quota allows."""

    code = "quota"

    def __init__(self, owner: str, count: int, limit: int) -> None:
        super().__init__(
            f"owner {owner!r} has {count} open run(s) and may have {limit}: wait for one to end, "
            f"pause or cancel one, or raise it with `skillopt quota set {owner} --max-runs …`"
        )
        self.owner = owner
        self.count = count
        self.limit = limit


class Conflict(InputError):
    """The run is in no state to be asked this."""

    code = "conflict"


class NotAllowed(InputError):
    """The queue does not let this token do that."""

    code = "not_allowed"


class StateError(SkillOptError):
    """The shared state refused the operation."""

    code = "state"


class Fenced(StateError):
    """Another coordinator owns this run now."""

    code = "fenced"


class StaleVersion(StateError):
    """The run's log has moved on since it was read."""

    code = "stale"


class StateUnavailable(StateError):
    """The shared state cannot be reached."""

    code = "state_unavailable"
    retryable = True


class StateCorrupt(StateError):
    """A stored value does not have the form its key promises."""

    code = "state_corrupt"


class NotUnderstood(StateCorrupt):
    """Another version of this program wrote what this one does not understand."""

    code = "not_understood"


class CallError(SkillOptError):
    """A model call failed for a reason outside the model."""

    code = "call"
    #: Whether the provider may have made, and billed, a reply that did not reach us: by default,
    #: and for the one failure that says otherwise.
    may_be_billed: bool = False

    def __init__(
        self,
        message: str | None = None,
        *,
        retry_after_s: float | None = None,
        may_be_billed: bool | None = None,
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        if may_be_billed is not None:
            self.may_be_billed = may_be_billed

    def told_as(self, message: str) -> Self:
        """Give the same failure in other words."""
        return type(self)(
            message, retry_after_s=self.retry_after_s, may_be_billed=self.may_be_billed
        )


class RateLimited(CallError):
    """The provider asked us to slow down."""

    code = "rate_limited"
    retryable = True


class ServerFailed(CallError):
    """The provider answered with a server error."""

    code = "server_error"
    retryable = True


class CallTimeout(CallError):
    """The provider did not answer in time."""

    code = "timeout"
    retryable = True
    may_be_billed = True


class ConnectionFailed(CallError):
    """The provider cannot be reached."""

    code = "connection"
    retryable = True
    may_be_billed = True


class AuthFailed(CallError):
    """The provider refused the credential."""

    code = "auth"


class UnknownModel(CallError):
    """The provider does not have this model."""

    code = "unknown_model"


class BadRequest(CallError):
    """The provider refused the request as malformed."""

    code = "bad_request"


class ContentFiltered(CallError):
    """The provider's content filter refused the prompt."""

    code = "content_filter"


class BudgetExhausted(CallError):
    """The budget of whoever pays does not allow another call."""

    code = "budget"


class BudgetHeld(CallError):
    """The call was not sent: calls in flight may take what is left of the budget."""

    code = "budget_held"
    retryable = True


class Throttled(CallError):
    """The call was not sent: the limits of its backend leave no room for it now."""

    code = "throttled"


class EndpointDown(CallError):
    """The call was not sent: its endpoint has failed again and again."""

    code = "endpoint_down"


class JudgeUnavailable(SkillOptError):
    """A judge outside the worker cannot be asked now: not the model's fault."""

    code = "judge"
    retryable = True


class JudgeFailed(JudgeUnavailable):
    """A judge failed by itself: asking it again would bring the same."""

    code = "judge_failed"
    retryable = False


class ReplyError(SkillOptError):
    """The model's reply does not have the form it was asked for."""

    code = "unparseable"


class WireError(SkillOptError):
    """This worker does not understand the message."""

    code = "wire"


class Incompatible(SkillOptError):
    """This worker is of another version than the run needs: one that fits must do the job."""

    code = "incompatible"


class EmbeddedError(SkillOptError):
    """A child process of the embedded mode could not be kept running."""

    code = "embedded"
