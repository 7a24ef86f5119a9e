"""The live view of a run: one screen on a terminal, one line per event elsewhere.

Everything goes to the console it is given (standard error), so that standard output holds
nothing but results.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from producer.timeline import Part, in_order
from producer.view import numbers
from producer.view.curve import curve_points
from producer.view.live_parts import curve_part, progress_row
from producer.view.outcomes import OUTCOME_STYLES, UNDER_WAY, outcome_of, outcome_words
from producer.view.printable import safe
from producer.view.screen import Screen
from producer.view.stages import stage_words, status_words, waiting_words
from producer.view.words import event_words
from skillopt.domain.events import Event, Merged, RunCreated, Selected
from skillopt.domain.run import RunState, StepState
from skillopt.domain.steering_events import Cancelled, GaveUp, LeftOut, Paused, Resumed, Retuned
from skillopt.domain.usage import MICRO, ROLES
from skillopt.domain.view import RunView
from skillopt.state.ports import Spend

#: Without a terminal, a line says how far the work is at least this often.
PLAIN_PROGRESS_S = 10.0
LAST_SHOWN = 5
#: What is told above the screen.
NOTICES = (GaveUp, LeftOut, Paused, Resumed, Retuned, Cancelled, RunCreated)


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment, as the view needs it."""

    state: RunState
    view: RunView
    spend: Spend
    elapsed_s: float
    #: Whether every model in use has a price; if not, money is unknown rather than 0.
    priced: bool = True

    @property
    def cost_usd(self) -> float | None:
        return self.spend.micro_usd / MICRO if self.priced else None


class LiveView:
    """Shows a run while it works. Use it as a context manager; `update` may be called often."""

    def __init__(self, console: Console, *, enabled: bool, total_steps: int) -> None:
        """Show a screen if `enabled` and the console is a terminal; log lines otherwise."""
        self._screen = Screen(console, enabled=enabled)
        self._total_steps = total_steps
        self._elapsed_s = 0.0
        self._logged_s = 0.0
        self._logged: tuple[str, str] = ("", "")

    def __enter__(self) -> Self:
        self._screen.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._screen.__exit__(kind, error, trace)

    def update(self, snapshot: Snapshot) -> None:
        """Show how the run stands now."""
        self._elapsed_s = snapshot.elapsed_s
        if self._screen.drawn:
            self._screen.draw(render(snapshot, self._total_steps, self._screen.console))
        else:
            self._log_progress(snapshot)

    def event(self, event: Event) -> None:
        """Tell of an event: a line of the log, or a notice above the screen if it is trouble."""
        if not self._screen.drawn:
            if not isinstance(event, Merged | Selected):
                self._line(event_words(event))
        elif isinstance(event, NOTICES):
            self._screen.note(event_words(event))

    def _log_progress(self, snapshot: Snapshot) -> None:
        view = snapshot.view
        now = (view.stage, view.waiting)
        due = snapshot.elapsed_s - self._logged_s >= PLAIN_PROGRESS_S
        if snapshot.state.status != "running" or not (due or now != self._logged):
            return
        self._logged, self._logged_s = now, snapshot.elapsed_s
        done = f", {view.done} of {view.total} done" if view.total else ""
        waiting = waiting_words(view.waiting)
        words = [f"{stage_words(view.stage)}{done}", _work_words(snapshot), waiting]
        self._line(", ".join(word for word in words if word))

    def _line(self, words: str) -> None:
        self._screen.line(self._elapsed_s, words)


def render(snapshot: Snapshot, total_steps: int, console: Console) -> RenderableType:
    """Give the whole screen."""
    state = snapshot.state
    parts: list[RenderableType] = [_progress(snapshot), _work(snapshot)]
    if snapshot.view.waiting and state.status == "running":
        parts.append(safe(waiting_words(snapshot.view.waiting), "yellow"))
    if state.plan.mode == "train":
        metric = state.plan.settings.evaluation.gate_metric
        parts += curve_part(curve_points(state), metric, console)
    if verdicts := _verdicts(state):
        parts += [Text(), verdicts]
    return Panel(
        Group(*parts), title=_title(snapshot, total_steps), title_align="left", border_style="cyan"
    )


def _title(snapshot: Snapshot, total_steps: int) -> Text:
    state = snapshot.state
    title = safe(state.plan.name, "bold")
    if state.plan.mode == "train":
        title.append(f"  step {len(state.steps)} of {total_steps}", style="default")
    return title.append(f"  {numbers.duration(snapshot.elapsed_s)}", style="dim")


def _progress(snapshot: Snapshot) -> Table:
    state, view = snapshot.state, snapshot.view
    if state.status == "running":
        return progress_row(stage_words(view.stage), view.done, view.total)
    return progress_row(status_words(state), 0, 0)


def _work(snapshot: Snapshot) -> Text:
    calls = snapshot.spend.calls
    roles = ", ".join(f"{role} {calls[role]:,}" for role in ROLES if calls.get(role))
    words = Text(_work_words(snapshot))
    return words.append(f"\ncalls by role: {roles or 'none yet'}", style="dim")


def _work_words(snapshot: Snapshot) -> str:
    spend = snapshot.spend
    tokens = spend.input_tokens + spend.output_tokens
    # What the coordinator said last is not news any more once the run has ended.
    running = snapshot.state.status == "running"
    return ", ".join(
        [
            *([f"{snapshot.view.in_flight} in flight"] if running else []),
            numbers.plural(sum(spend.calls.values()), "call"),
            numbers.plural(snapshot.view.cache_hits, "cache hit"),
            numbers.plural(tokens, "token"),
            f"cost {numbers.dollars(snapshot.cost_usd)}",
        ]
    )


def _verdicts(state: RunState) -> Table | None:
    ended = [part for part in in_order(state) if outcome_of(part) != UNDER_WAY][-LAST_SHOWN:]
    if not ended:
        return None
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for part in ended:
        style = OUTCOME_STYLES.get(outcome_of(part), "dim")
        table.add_row(_title_of(part), safe(outcome_words(part), style))
    return table


def _title_of(part: Part) -> str:
    if isinstance(part, StepState):
        return f"step {part.started.step}"
    return f"epoch {part.compared.epoch}"
