"""Plain sentences about a task: no headings, no labels, no digits, and always the same by seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

_STOP_WORDS = re.compile(
    r"about|after|again|also|answer|another|because|been|before|being|both|brief|could|decide|"
    r"does|each|either|else|every|from|give|have|help|here|into|just|like|make|many|more|most|"
    r"much|must|need|only|other|over|please|same|should|since|some|such|take|than|that|their|"
    r"them|then|there|these|they|this|those|through|under|until|very|want|were|what|when|where|"
    r"whether|which|while|will|with|without|would|write|your",
    re.IGNORECASE,
)

_SENTENCES = (
    "The matter of {a} depends first on what the people concerned hope to gain from {b}.",
    "Looking closely at {a}, the picture is calmer than it may seem at first sight.",
    "Those who have worked on {b} tend to begin small and to learn as they go.",
    "It helps to set {a} beside {b} and to ask which of them matters more this year.",
    "A sober view of {b} keeps the costs and the gains of {a} in the same frame.",
    "Much of the discussion around {a} passes over how slowly habits change in practice.",
    "In ordinary circumstances {b} follows from {a} rather than the other way round.",
    "People close to {a} usually know more about {b} than any general account can tell.",
    "The timing of {a} deserves as much thought as the choice itself.",
    "Nothing in the present situation forces a hasty move on {b}.",
    "A reader new to {a} would do well to look at how {b} has gone elsewhere.",
    "Once {a} is settled, the remaining questions about {b} become far easier to handle.",
    "It is worth writing down what would have to change for {b} to look different.",
    "The strongest argument for {a} is that it keeps later options open.",
    "The strongest argument against haste is that {b} can rarely be undone cheaply.",
    "On balance {a} rewards patience, and {b} rewards attention to detail.",
)


def topic_words(task: str) -> list[str]:
    """Give the words that say what a task is about, in their order, each once."""
    found: dict[str, None] = {}
    for word in re.findall(r"[A-Za-z][A-Za-z'-]{3,}", task):
        if not _STOP_WORDS.fullmatch(word):
            found.setdefault(word)
    return list(found)


def sentences(task: str, rng: random.Random) -> Iterator[str]:
    """Give plain sentences about a task without end."""
    topics = topic_words(task)[:8] or ["this question", "the task"]
    while True:
        for template in rng.sample(_SENTENCES, len(_SENTENCES)):
            a = rng.choice(topics)
            b = rng.choice([topic for topic in topics if topic != a] or ["the wider setting"])
            yield template.format(a=a, b=b)
