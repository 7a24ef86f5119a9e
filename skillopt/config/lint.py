"""What is suspicious about a set of tasks, before any money is spent on it.

Each finding is a pattern of many tasks, told once with how many and which: a task or two of an
odd sort are no finding. `skillopt check --strict` refuses tasks with any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skillopt.config.answer_bias import biased_answers
from skillopt.config.judge_shape import is_shape_only
from skillopt.config.near_duplicates import near_duplicates
from skillopt.domain.item import (
    SPLITS,
    AddedJudge,
    ChoiceJudge,
    FunctionJudge,
    Item,
    RubricJudge,
    RuleJudge,
    Splits,
)
from skillopt.domain.results import JudgementBody, ReplyBody
from skillopt.judges import judge

#: From this share of the tasks on, a weakness of judges is one of the whole set.
WIDESPREAD = 0.5
_SHOWN = 3
_SAYS_NOTHING = "OK."


def lint(splits: Splits) -> list[str]:
    """Give the findings, most serious first; empty if nothing is suspicious."""
    items = [item for split in SPLITS for item in splits.of(split)]
    return [
        *biased_answers(splits),
        *_near_duplicates(splits),
        *_widespread(
            items,
            _passed_by_nothing,
            f"pass with the answer {_SAYS_NOTHING!r}; check what an answer must say",
        ),
        *_widespread(
            items,
            _passed_by_echo,
            "pass with an answer that only repeats the task; check for something that the task "
            "does not say itself",
        ),
        *_widespread(
            items,
            lambda item: is_shape_only(item.judge) and not _passed_by_nothing(item),
            "are judged by the shape of the answer alone (length, headings, absent words); add a "
            "check of what it says",
        ),
        *_widespread(
            items,
            _hides_its_options,
            "are judged by options that they do not show; write the options into the task",
        ),
    ]


def _near_duplicates(splits: Splits) -> list[str]:
    pairs = near_duplicates({split: splits.of(split) for split in SPLITS})
    if not pairs:
        return []
    shown = [
        f"{pair.item.id!r} of {pair.split} and {pair.other.id!r} of {pair.other_split}"
        for pair in pairs[:_SHOWN]
    ]
    return [
        f"{_tasks(len(pairs))} nearly the same as one of another split, in which they then count "
        f"as unseen ({_listed(shown, len(pairs))}); remove them, or move them to one split"
    ]


def _widespread(items: Sequence[Item], is_weak: Callable[[Item], bool], fault: str) -> list[str]:
    weak = [item.id for item in items if is_weak(item)]
    if not weak or len(weak) < WIDESPREAD * len(items):
        return []
    shown = _listed([repr(name) for name in weak[:_SHOWN]], len(weak))
    return [f"{len(weak)} of {len(items)} tasks ({shown}) {fault}"]


def _passed_by_nothing(item: Item) -> bool:
    return _passes(item, _SAYS_NOTHING)


def _passed_by_echo(item: Item) -> bool:
    """Whether the task's own text holds all that its judge looks for."""
    if is_shape_only(item.judge):
        return False
    # A pattern may take its time with a long text, and there may be thousands of tasks.
    if isinstance(item.judge, RuleJudge) and any(c.op == "regex" for c in item.judge.checks):
        return False
    return _passes(item, f"{item.prompt.task}\n{item.prompt.context}")


def _hides_its_options(item: Item) -> bool:
    if not isinstance(item.judge, ChoiceJudge):
        return False
    prompt = item.prompt
    seen = f"{prompt.task}\n{prompt.context}\n{prompt.system}".casefold()
    texts = [text.casefold() for text in item.judge.choices.values() if text]
    return any(text not in seen for text in texts)


def _passes(item: Item, answer: str) -> bool:
    # Models, functions and judges of other packages may cost anything.
    if isinstance(item.judge, RubricJudge | FunctionJudge | AddedJudge):
        return False
    verdict = judge(item.judge, ReplyBody(text=answer))
    return isinstance(verdict, JudgementBody) and verdict.hard >= 1.0


def _tasks(count: int) -> str:
    return f"{count} tasks are" if count > 1 else "1 task is"


def _listed(shown: Sequence[str], count: int) -> str:
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(shown) + more
