"""What a run will cost at most: calls and tokens by phase, and how many steps a budget buys.

The figures suppose that every step brings a candidate, that every gate looks at all of its tasks
and that nothing is cached. They count one call for an attempt (two where the task has tools), one
more where a model judges it, and leave out retries and repairs. Output lengths are assumptions,
named as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from skillopt.domain.backend import AGENT_KINDS, Backend
from skillopt.domain.item import Item, RubricJudge, SplitName
from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.media import form_of
from skillopt.domain.messages import IMAGE_TOKENS
from skillopt.domain.plan import RunPlan
from skillopt.domain.usage import MICRO, Role, Usage, cost_micro_usd
from skillopt.loop.prompt_parts import CHARACTERS_PER_TOKEN
from skillopt.loop.reflect import ATTEMPTS_PER_TASK
from skillopt.loop.sample import steps_per_epoch, total_steps

#: Output tokens that a call is supposed to take, unless its backend, role or stage allows fewer.
ATTEMPT_OUTPUT = 500
OPTIMIZER_OUTPUT = 1_500
JUDGE_OUTPUT = 300


_ANALYSTS: tuple[OptimizeStage, ...] = ("reflect_failure", "reflect_success", "reflect_contrast")
_OTHERS: tuple[OptimizeStage, ...] = (
    "merge", "learning_rate", "rank", "rewrite", "compress", "consolidate",
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Calls, tokens and (where the backend has a price) money. Adds up."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def usd(self) -> float:
        return self.micro_usd / MICRO

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.micro_usd + other.micro_usd,
        )

    def times(self, number: int) -> Cost:
        return Cost(
            self.calls * number,
            self.input_tokens * number,
            self.output_tokens * number,
            self.micro_usd * number,
        )


@dataclass(frozen=True)
class Forecast:
    """A run in its parts; `step` and `epoch_end` are those of one step and one epoch."""

    baseline: Cost
    step: Cost
    steps: int
    steps_per_epoch: int
    #: Of each epoch from the second on.
    epoch_end: Cost
    epoch_ends: int
    #: Tests of the initial, the best and the final document.
    tests: Cost
    #: Whether every backend has a price, so that the money is all of it.
    priced: bool

    @property
    def total(self) -> Cost:
        ends = self.epoch_end.times(self.epoch_ends)
        return self.baseline + self.step.times(self.steps) + ends + self.tests

    @property
    def least(self) -> Cost:
        """What a run needs to be of any use: its baseline and one step."""
        return self.baseline + self.step


def forecast(plan: RunPlan, backends: dict[str, Backend]) -> Forecast:
    """Foresee a training run. `backends` are those of the plan's roles, by name."""
    return _Forecaster(plan, backends).forecast()


def steps_within(amount: Forecast, **caps: float | None) -> int | None:
    """Give how many steps fit into caps on calls, tokens and usd; None without any cap.

    They are paid for in their order, after the baseline and with the epoch ends between them;
    tests come last.
    """
    used = [(name, cap) for name, cap in caps.items() if cap is not None]
    if not any(getattr(amount.step, name) for name, _ in used):
        return None
    spent = amount.baseline
    for step in range(1, amount.steps + 1):
        spent += amount.step
        if any(getattr(spent, name) > cap for name, cap in used):
            return step - 1
        epoch, rest = divmod(step, amount.steps_per_epoch)
        if not rest and epoch > 1:
            spent += amount.epoch_end
    return amount.steps


@dataclass(frozen=True)
class _Forecaster:
    plan: RunPlan
    backends: dict[str, Backend]

    def forecast(self) -> Forecast:
        plan, settings = self.plan, self.plan.settings
        slow, meta = settings.optimizer.use_slow_update, settings.optimizer.use_meta_skill
        ends = settings.train.num_epochs - 1 if slow or meta else 0
        used = [self.backends[use.backend] for use in plan.backends.values()]
        tests = 3 if settings.evaluation.eval_test else 0
        return Forecast(
            baseline=self._measurement("val"),
            step=self._step(),
            steps=total_steps(plan),
            steps_per_epoch=steps_per_epoch(plan),
            epoch_end=self._epoch_end(slow=slow, meta=meta) if ends else Cost(),
            epoch_ends=ends,
            tests=self._measurement("test").times(tests),
            priced=all(backend.price is not None for backend in used),
        )

    def _step(self) -> Cost:
        settings, train = self.plan.settings, self.plan.splits.train
        size = min(settings.train.batch_size * settings.train.accumulation, len(train))
        batch = self._attempts(train, size * settings.train.samples)
        shards = ceil(size / settings.gradient.minibatch_size)
        shown = min(size, settings.gradient.minibatch_size)
        shown *= min(settings.train.samples, ATTEMPTS_PER_TASK)
        per_attempt = settings.gradient.trajectory_tokens
        successes = 0 if settings.gradient.failure_only else shards
        analysts = self._asks(self._failures(shards) + successes, shown * per_attempt, _ANALYSTS)
        others = self._asks(self._other_asks(shards), self._proposed_tokens(shards), _OTHERS)
        return batch + analysts + others + self._measurement("val")

    def _proposed_tokens(self, shards: int) -> int:
        """Give the most that a merge, a ranking or a rewrite shows of what was proposed."""
        patches = min(2 * self._failures(shards), self.plan.settings.gradient.merge_batch_size)
        return patches * self._output()

    def _failures(self, shards: int) -> int:
        """Count the groups of failures; contrasts are merged with them."""
        settings = self.plan.settings
        return shards * (2 if settings.gradient.contrastive and settings.train.samples > 1 else 1)

    def _other_asks(self, shards: int) -> int:
        """Count the calls of a step that see no attempts: merges, ranking and the like."""
        optimizer, gradient = self.plan.settings.optimizer, self.plan.settings.gradient
        merges = _merges(self._failures(shards), gradient.merge_batch_size)
        if not gradient.failure_only:
            merges += _merges(shards, gradient.merge_batch_size) + 1
        ranked = optimizer.skill_update_mode != "full_rewrite_minibatch"
        return sum(
            (
                merges,
                optimizer.lr_control_mode == "autonomous",
                ranked and optimizer.lr_control_mode != "none",
                optimizer.skill_update_mode == "rewrite_from_suggestions",
                optimizer.max_skill_tokens is not None,
                optimizer.use_skill_aware_reflection
                and optimizer.skill_aware_consolidate_threshold > 0,
            )
        )

    def _epoch_end(self, *, slow: bool, meta: bool) -> Cost:
        settings, train = self.plan.settings, self.plan.splits.train
        policy, sampled = settings.optimizer.longitudinal_pair_policy, len(train)
        if policy != "changed":
            sampled = min(settings.optimizer.slow_update_samples, len(train))
        compared = self._attempts(train, 2 * sampled)
        kept = min(settings.optimizer.slow_update_samples, len(train))
        shown = 2 * kept * settings.gradient.trajectory_tokens
        asked = self._asks(slow + meta, shown, ("slow_update", "meta_skill"))
        if slow and settings.optimizer.max_skill_tokens is not None:
            asked += self._asks(1, 0, ("compress",))
        return compared + asked + (self._measurement("val") if slow else Cost())

    def _measurement(self, split: SplitName) -> Cost:
        items = self.plan.splits.of(split)
        return self._attempts(items, len(items) * self.plan.settings.evaluation.samples)

    def _attempts(self, items: Sequence[Item], number: int) -> Cost:
        """Cost attempts at `number` of the items, as long as they are on average, and their
        judging.
        """
        if not items:
            return Cost()
        plan = self.plan
        around = len(plan.templates["attempt"]) + len(plan.skill) + len(plan.memory or "")
        asked = sum(
            len(i.prompt.system) + len(i.prompt.task) + len(i.prompt.context) for i in items
        )
        tokens = ceil((around + asked / len(items)) / CHARACTERS_PER_TOKEN)
        tokens += ceil(sum(map(self._attached_tokens, items)) / len(items))
        turns = sum(2 if item.prompt.tools else 1 for item in items) / len(items)
        made = self._calls("target", ceil(number * turns), tokens, ATTEMPT_OUTPUT)
        return made + self._judgements(items, number)

    def _judgements(self, items: Sequence[Item], number: int) -> Cost:
        """Cost the calls of judges that are models: one for each attempt at a task with one."""
        judged = [item for item in items if isinstance(item.judge, RubricJudge)]
        if not judged or "judge" not in self.plan.backends:
            return Cost()
        shown = len(self.plan.templates["rubric"]) + max(map(_judged_characters, judged))
        tokens = ceil(shown / CHARACTERS_PER_TOKEN) + ATTEMPT_OUTPUT
        times = ceil(number * len(judged) / len(items))
        return self._calls("judge", times, tokens, JUDGE_OUTPUT)

    def _attached_tokens(self, item: Item) -> float:
        """Count what a prompt shows of a task's files; an agent opens those it wants itself."""
        if self.backends[self.plan.backends["target"].backend].kind in AGENT_KINDS:
            return 0
        attachments = item.prompt.attachments
        pictures = sum(form_of(one.media_type) == "image" for one in attachments)
        texts = sum(one.size for one in attachments if form_of(one.media_type) == "text")
        return pictures * IMAGE_TOKENS + texts / CHARACTERS_PER_TOKEN

    def _asks(self, number: int, shown_tokens: int, stages: Sequence[OptimizeStage]) -> Cost:
        """Cost optimizer calls of these stages that show the documents and so many tokens
        besides; each may write as much as the stage with the highest limit.
        """
        plan = self.plan
        around = 2 * len(plan.skill) + len(plan.memory or "") + len(plan.templates["merge"])
        remembered = plan.settings.gradient.history_tokens
        shown = ceil(around / CHARACTERS_PER_TOKEN) + remembered + shown_tokens
        return self._calls("optimizer", number, shown, self._output(), stages)

    def _output(self) -> int:
        """Give the tokens of an optimizer's reply; a rewrite has the document in it."""
        if self.plan.settings.optimizer.skill_update_mode == "patch":
            return OPTIMIZER_OUTPUT
        return OPTIMIZER_OUTPUT + ceil(len(self.plan.skill) / CHARACTERS_PER_TOKEN)

    def _calls(
        self,
        role: Role,
        number: int,
        input_tokens: int,
        output_tokens: int,
        stages: Sequence[OptimizeStage] = (),
    ) -> Cost:
        use = self.plan.backends[role]
        backend = self.backends[use.backend]
        made = [use.at(stage) for stage in stages] or [use]
        limits = [(at.params or backend.params).max_output_tokens for at in made]
        output = min(output_tokens, max(limit or output_tokens for limit in limits))
        used = Usage(number * input_tokens, number * output)
        return Cost(number, used.input_tokens, used.output_tokens,
                    cost_micro_usd(used, backend.price))  # fmt: skip


def _judged_characters(item: Item) -> int:
    rubric = item.judge.rubric if isinstance(item.judge, RubricJudge) else ""
    return len(item.prompt.task) + len(item.prompt.context) + len(rubric)


def _merges(patches: int, size: int) -> int:
    """Count the calls of a merge tree."""
    calls = 0
    while patches > 1:
        chunks = ceil(patches / size)
        calls += chunks - (patches % size == 1)  # a patch alone passes up untouched
        patches = chunks
    return calls
