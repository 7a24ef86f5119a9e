"""What the words around a quotation say: whether it is wanted or banned, and as what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from skillopt.simulator.prose import MARK, Quotation, Sentence

_CANONICAL = (
    (re.compile(r"\b(?:do not|don't|never|must not)\s+(?:forget|fail|omit|skip|leave out|miss|"
                r"neglect)\b"), "always include"),
    (re.compile(r"\b(?:(?:must|may|should|does|do|can)\s*(?:not|n't)|never|not)\s+exceeds?\b"),
     "at most"),
    (re.compile(r"\b(?:no|not)\s+(?:more|longer) than\b|\bup to\b|\b(?:a )?maximum(?: of)?\b|"
                r"\bmax\b\.?(?: of)?"), "at most"),
    (re.compile(r"\b(?:no|not)\s+(?:fewer|less|shorter) than\b|\b(?:a )?minimum(?: of)?\b|"
                r"\bmin\b\.?(?: of)?"), "at least"),
    (re.compile(r"\bnot only\b"), ""),
)  # fmt: skip

_BANS = (
    r"\b(?:never|not|don't|doesn't|mustn't|shouldn't|can't|cannot|avoid|avoids|without|no|"
    r"forbidden|exclude|omit|refrain|instead of|rather than)\b"
)
_ASKS = (
    r"\b(?:includ(?:e|es|ing)|contain(?:s|ing)?|adds?|adding|writes?|writing|written|uses?|using|"
    r"puts?|ha(?:s|ve)|having|ends?|ending|finish(?:es)?|close|conclude|starts?|starting|begins?|"
    r"beginning|opens?|states?|mentions?|provides?|gives?|lists?|shows?|inserts?|appends?|labels?|"
    r"labelled|marks?|titled?|headed|says?|quotes?|cites?|outputs?|returns?|(?:reply|respond|"
    r"answer) with|produces?|follow|match(?:es)?|wrap|place|keep)\b"
)
_TURNS = r"\b(?:always|must(?!\s*(?:not|n't))|instead(?! of)|but|however)\b|;"
_CUE = re.compile(rf"(?P<ban>{_BANS})|(?P<turn>{_TURNS})|(?P<ask>{_ASKS})")
_EXPECTS = re.compile(
    r"\b(?:must|should|needs? to|ha(?:s|ve) to|(?:is|are) (?:required|mandatory)|appears?)\b"
)
#: In `a "X" section and "Y"` the word "section" speaks of X.
_NOUN_OF_PREVIOUS = re.compile(r"^\s*(?:sections?|headings?|headers?|tools?|labels?)\b")
_JOINT = re.compile(r"^[\s,]*(?:(?P<word>and|or|&|then)\b)?[\s,]*(?:the |a |an )?$")


class Stance(Enum):
    SILENT = "silent"
    WANTED = "wanted"
    BANNED = "banned"


@dataclass(frozen=True)
class Group:
    """Quotations that stand together in a sentence, and the words before and after them."""

    before: str
    quotations: tuple[Quotation, ...]
    after: str
    stance: Stance
    #: Joined by "or": one of them is enough.
    alternatives: bool = False


def canonical(masked: str) -> str:
    """Put the many ways of saying a limit or a double negation into one."""
    for expression, plain in _CANONICAL:
        masked = expression.sub(plain, masked)
    return masked


def is_banned(words: str) -> bool:
    """Whether the last thing these words say is a ban."""
    return _stance_after(Stance.SILENT, words, follows_quotation=False) is Stance.BANNED


def groups(sentence: Sentence) -> list[Group]:
    """Group the quotations of a sentence and say of each group whether it is wanted."""
    pieces = re.split(f"({MARK})", canonical(sentence.masked))
    texts, marks = pieces[0::2], pieces[1::2]
    found: list[Group] = []
    stance = Stance.SILENT
    index = 0
    while index < len(marks):
        first, alternatives = index, False
        while index + 1 < len(marks) and (joint := _JOINT.match(texts[index + 1])):
            alternatives = alternatives or joint.group("word") == "or"
            index += 1
        before, after = texts[first], texts[index + 1]
        if first > 0:
            before = _NOUN_OF_PREVIOUS.sub("", before)
        stance = _stance_after(stance, before, follows_quotation=first > 0)
        found.append(
            Group(
                before,
                tuple(sentence.quotation(mark) for mark in marks[first : index + 1]),
                after,
                _stance_from_after(after) if stance is Stance.SILENT else stance,
                alternatives,
            )
        )
        index += 1
    return found


def _stance_after(stance: Stance, words: str, *, follows_quotation: bool) -> Stance:
    fresh = follows_quotation
    previous_end = 0
    for cue in _CUE.finditer(words):
        if cue.group("ban"):
            stance, fresh = Stance.BANNED, False
        elif cue.group("turn"):
            stance, fresh = Stance.WANTED, False
        elif stance is not Stance.BANNED:
            stance = Stance.WANTED
        elif fresh and not re.search(r"\b(?:or|nor)\b", words[previous_end : cue.start()]):
            # "Never write X, include Y": after a quotation a new verb starts a new demand.
            stance, fresh = Stance.WANTED, False
        previous_end = cue.end()
    return stance


def _stance_from_after(words: str) -> Stance:
    expectation = _EXPECTS.search(words)
    ban = re.search(_BANS, words)
    if ban and (expectation is None or ban.start() <= expectation.end() + 1):
        return Stance.BANNED
    return Stance.WANTED if expectation else Stance.SILENT
