"""Says whom a run tells its news, when it is submitted."""

from __future__ import annotations

from producer.submit import Submission
from skillopt.domain.notices import Notify
from skillopt.state.ports import State


def want_news(state: State, submission: Submission, notify: Notify) -> None:
    """Have a run's news told from now on as a spec says; of a run that goes on, only later ones."""
    run = submission.run
    if submission.what == "finished":
        return
    if notify.webhook is None:
        state.notices.unwatch(run)
        return
    info = state.runs.info(run)
    past = 0 if submission.what == "created" or info is None else info.version
    state.notices.watch(run, notify.model_dump_json(), cursor=past)
