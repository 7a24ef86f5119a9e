"""Submits a run to the team's queue without driving it: whichever coordinator comes takes it up."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from producer.attachments import store_attachments
from producer.payers import require_prices_for
from producer.published import published_revision
from producer.queue.models import Tags
from producer.queue.status_page import WARNINGS
from producer.restoring import restore_if_lost
from producer.run_folder import RunFolder
from producer.run_meta import meta_of, owner_of
from producer.submit import submit
from producer.wanted_news import want_news
from skillopt.config.load import LoadedSpec, load_plan
from skillopt.config.origins import Problems
from skillopt.config.payers import VARIABLES
from skillopt.config.published import PublishRevision
from skillopt.domain.backend import Backend
from skillopt.domain.fingerprint import short
from skillopt.domain.hosts import is_loopback
from skillopt.domain.notices import Notify
from skillopt.domain.plan import RunPlan
from skillopt.errors import ConfigError
from skillopt.state.ports import State, WorkerInfo

#: Names of workers in a message.
_NAMED_WORKERS = 3


@dataclass(frozen=True)
class SpecSubmitter:
    """Makes runs of spec files as `skillopt run` would, on a state that others work on."""

    state: State
    #: Where run folders lie, if they lie on this machine: a run that Redis lost is put back.
    runs_dir: Path
    environ: Mapping[str, str]
    backends_file: Path | None = None
    publish_revision: PublishRevision = published_revision
    wait: Callable[[float], object] = field(default=time.sleep)
    #: Whether a webhook may be on the coordinator's own machine: not if strangers submit specs.
    local_webhooks: bool = True

    def submit(
        self, spec: Path, tags: Tags, overrides: Sequence[str], *, owner: str, team: str
    ) -> str:
        """Create the run of a spec, or let it go on if it exists; gives its id.

        Raises InputError for a spec that cannot be run: ConfigError also if the workers of a
        backend have another one under its name, QuotaExceeded if the owner has too many runs.
        """
        loaded = load_plan(
            spec,
            backends_file=self.backends_file,
            environ=_environ_for(owner, self.environ),
            overrides=overrides,
            publish_revision=self.publish_revision,
        )
        if not self.local_webhooks:
            _require_remote(loaded.notify)
        plan = self._own(_tagged(loaded.plan, tags, owner, team), owner)
        require_prices_for(self.state.budgets, plan, loaded.backends.values())
        require_same_backends(loaded.backends.values(), self.state.fleet.workers())
        store_attachments(self.state.blobs, loaded.attachments)
        submission = submit(
            self.state,
            plan,
            meta={**_origin(loaded, spec), **meta_of(plan, {**loaded.labels, **tags.labels})},
            wait=self.wait,
        )
        want_news(self.state, submission, loaded.notify)
        return submission.run

    def _own(self, plan: RunPlan, owner: str) -> RunPlan:
        """Give the plan under an id that is free, or the owner's own: the same content again.

        Without an owner who is known for sure, whoever has the content may continue its run.
        """
        for replica in itertools.count():
            plan = plan.model_copy(update={"replica": replica})
            self._put_back(plan.run_id)
            info = self.state.runs.info(plan.run_id)
            if not owner or info is None or owner_of(info.meta) == owner:
                return plan
        raise AssertionError("unreachable")

    def _put_back(self, run: str) -> None:
        folder = RunFolder(self.runs_dir / run)
        if (folder.path / "plan.json").is_file():
            restore_if_lost(self.state, folder)


def _environ_for(owner: str, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Leave out whose this process is, where the owner is known: it says nothing of theirs."""
    if not owner:
        return environ
    return {name: value for name, value in environ.items() if name not in VARIABLES.values()}


def _require_remote(notify: Notify) -> None:
    host = urlsplit(notify.webhook or "").hostname or ""
    if is_loopback(host):
        raise ConfigError(
            f"notify.webhook: {notify.webhook!r} is on the server's own machine; give an https:// "
            "URL of another one"
        )


def _tagged(plan: RunPlan, tags: Tags, owner: str, team: str) -> RunPlan:
    """Say whose a run is: what is given here wins over the spec and the environment."""
    given = {"owner": owner or plan.owner, "team": team or plan.team}
    if "priority" in tags.model_fields_set:
        given["priority"] = tags.priority
    return plan.model_copy(update=given)


def _origin(loaded: LoadedSpec, spec: Path) -> dict[str, str]:
    """Say where a run comes from, without telling everybody the paths of one's machine."""
    home = spec.resolve().parent
    skill = loaded.skill_path.resolve()
    inside = skill.relative_to(home) if skill.is_relative_to(home) else Path(skill.name)
    told = [_without_folders(one, (spec.parent, home)) for one in loaded.warnings]
    warnings = {WARNINGS: json.dumps(told, ensure_ascii=False)} if told else {}
    return {"skill": inside.as_posix(), "spec": spec.name, **warnings}


def _without_folders(words: str, folders: Iterable[Path]) -> str:
    for folder in folders:
        if folder != Path():
            words = words.replace(f"{folder}/", "")
    return words


def require_same_backends(backends: Iterable[Backend], workers: Sequence[WorkerInfo]) -> None:
    """Raise ConfigError, with both values, if the live workers of a backend all mean another one
    by its name. A backend without a worker is waited for.
    """
    problems = Problems()
    for backend in backends:
        live = [info for info in workers if info.backend == backend.name]
        if not live or any(info.fingerprint == backend.fingerprint for info in live):
            continue
        theirs = ", ".join(
            f"{info.worker} has {short(info.fingerprint)}" for info in live[:_NAMED_WORKERS]
        )
        problems.add(
            None,
            f"backend {backend.name!r} is {short(backend.fingerprint)!r} here, but {theirs}: kind, "
            "model, params or revision differ; submit with the catalogue of the workers, or give "
            "your backend another name and start a worker for it",
        )
    problems.raise_any(ConfigError)
