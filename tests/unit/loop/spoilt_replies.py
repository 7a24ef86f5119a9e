"""Ways to spoil an optimizer's reply.

What it means to say is never left out of a reply that can be read at all: around it there is
rubbish, or the frame is broken and nothing of it can be used.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.spec import UpdateMode
from skillopt.loop.replies import CHANGES_KEY

#: "usable": as good as a clean one. "told": it can be used, but not all of it. "unusable": no
#: part of it can be used as a whole reply.
Fate = Literal["usable", "told", "unusable"]
Json = Any

MARKERS = (
    " <!-- FROZEN_END --><!-- SLOW_UPDATE_START -->mine<!-- SLOW_UPDATE_END -->"
    "<!-- APPENDIX_END --><!-- KEEP 1 --><!-- KEEP 77 --><!-- FRO<!-- KEEP 2 -->ZEN_START -->"
)
FRONT_MATTER = "---\nname: another\ndescription: Mine.\n---\n"
MEGABYTE = 1_000_000
TEXT_KEYS: dict[OptimizeStage, str] = {
    "rewrite": "new_skill",
    "compress": "new_skill",
    "slow_update": "slow_update_content",
    "meta_skill": "meta_skill_content",
}
ROW_JUNK: dict[UpdateMode, tuple[Json, ...]] = {
    "patch": (
        {"op": "explode", "content": "x"},
        {"op": "replace", "content": "no target"},
        {"op": "append", "content": None},
        {"op": "append", "content": "half a pair: \ud800"},
        {"op": "append", "content": "z" * 60_000},
        {"op": ["append"], "content": {"text": "x"}},
    ),
    "rewrite_from_suggestions": (
        {"type": "add_rule", "instruction": None},
        {"type": "add_rule", "instruction": 7},
        {"type": "add_rule", "instruction": "half a pair: \udfff"},
        {"type": "add_rule", "instruction": "z" * 60_000},
    ),
    "full_rewrite_minibatch": (
        {"title": "none"},
        {"new_skill": ["# A list"]},
        {"new_skill": "half a pair: \ud800"},
        {"new_skill": "z" * 300_000},
    ),
}


@dataclass(frozen=True)
class Reply:
    """A clean reply that is about to be spoilt."""

    stage: OptimizeStage
    mode: UpdateMode
    meant: dict[str, Json]
    luck: random.Random

    @property
    def text(self) -> str:
        return json.dumps(self.meant)

    @property
    def key(self) -> str:
        """The key without which the reply has no sense."""
        if self.stage in TEXT_KEYS:
            return TEXT_KEYS[self.stage]
        keys = {"rank": "selected_indices", "consolidate": "appendix_notes"}
        keys |= {"merge": CHANGES_KEY[self.mode], "learning_rate": "learning_rate"}
        return keys.get(self.stage, "patch")

    @property
    def rows(self) -> list[Json]:
        listed = self.meant["patch"][CHANGES_KEY[self.mode]] if self._analyst else self.main
        return list(listed)

    @property
    def main(self) -> Json:
        return self.meant[self.key]

    @property
    def _analyst(self) -> bool:
        return self.stage.startswith("reflect")

    @property
    def lists(self) -> bool:
        return self.stage not in TEXT_KEYS and self.stage != "learning_rate"

    def having(self, value: Json) -> str:
        return json.dumps({**self.meant, self.key: value})

    def with_rows(self, rows: list[Json]) -> str:
        if not self._analyst:
            return self.having(rows)
        return self.having({**self.meant["patch"], CHANGES_KEY[self.mode]: rows})


Spoiler = Callable[[Reply], tuple[str, Fate]]


def unusable(text: str) -> Spoiler:
    return lambda reply: (text, "unusable")


def fenced(reply: Reply) -> tuple[str, Fate]:
    return f"Sure, {{here}} it is:\n```json\n{reply.text}\n```\nDone {{}}.", "usable"


def cut_off(reply: Reply) -> tuple[str, Fate]:
    return reply.text[: reply.luck.randrange(1, len(reply.text))], "unusable"


def several(reply: Reply) -> tuple[str, Fate]:
    """Think aloud first: a draft, then something else, then the object that counts."""
    draft = reply.with_rows([]) if reply.lists else reply.having(_draft_of(reply.main))
    draft = json.dumps({**json.loads(draft), "draft": True})
    return f'{draft}\n\n{{"note": "better:"}}\n{reply.text}', "told"


def _draft_of(main: Json) -> Json:
    return f"A draft of {main}" if isinstance(main, str) else 0 if main else 1


def repeated(reply: Reply) -> tuple[str, Fate]:
    return f"{reply.text}\n{reply.text}\n", "usable"


def within_a_list(reply: Reply) -> tuple[str, Fate]:
    return f"[{reply.text}]", "usable"


def wrong_type(reply: Reply) -> tuple[str, Fate]:
    wrong: list[Json] = [True, {"a": 1}, [["x"]] if not reply.lists else 7, 2.5]
    if reply.key == "patch" or reply.lists:
        wrong.append("a text")
    if reply.key == "learning_rate":
        wrong = ["many", [2], {"edits": 2}, True, 2.5, ""]
    return reply.having(reply.luck.choice(wrong)), "unusable"


def null_main(reply: Reply) -> tuple[str, Fate]:
    return reply.having(None), "unusable"


def without_key(reply: Reply) -> tuple[str, Fate]:
    rest = {name: value for name, value in reply.meant.items() if name != reply.key}
    return json.dumps(rest), "unusable"


def null_fields(reply: Reply) -> tuple[str, Fate]:
    """Leave nothing but what is needed; everything else is null."""
    meant = {name: None for name in reply.meant} | {"risk_notes": None, "confidence": None}
    main = reply.main
    if reply.key == "patch":
        main = {"reasoning": None, CHANGES_KEY[reply.mode]: reply.rows}
    return json.dumps({**meant, reply.key: main}), "usable"


def huge_numbers(reply: Reply) -> tuple[str, Fate]:
    if reply.key == "learning_rate" and reply.luck.random() < 0.5:
        return reply.having(10**30), "told"
    number = reply.luck.choice(["1e999", "-1e999", "9" * 500, "NaN", "Infinity"])
    return f'{reply.text[:-1]}, "confidence": {number}}}', "unusable"


def megabyte(reply: Reply) -> tuple[str, Fate]:
    rest = reply.luck.choice(["", "", "x ", '{"a '])
    if rest:
        return rest * (MEGABYTE // len(rest)), "unusable"
    if reply.lists or reply.key == "learning_rate":
        long = {**reply.meant, "reasoning": "y" * MEGABYTE}
        return json.dumps(long), "usable"
    return reply.having("y" * MEGABYTE), "unusable"


def rubbish_beside(reply: Reply) -> tuple[str, Fate]:
    """Put rows that nobody can use between those that are meant."""
    if not reply.lists:
        return cut_off(reply)
    junk: list[Json] = [None, 7, [], {}, True]
    if reply.stage == "rank":
        junk = [99, -1, "0", None, 0.5, [1]]
    elif reply.stage == "consolidate":
        junk = [None, 7, "", " ", {"text": "x"}]
    else:
        junk += ROW_JUNK[reply.mode]
    rows = reply.rows
    for wrong in reply.luck.sample(junk, reply.luck.randint(1, 4)):
        rows.insert(reply.luck.randint(0, len(rows)), wrong)
    return reply.with_rows(rows), "told"


def with_markers(reply: Reply) -> tuple[str, Fate]:
    """Try to write into the protected parts, and to forge some."""
    if reply.stage in ("rewrite", "compress"):
        lines = [
            one for one in reply.main.splitlines() if reply.luck.random() < 0.5 or "say" in one
        ]
        return reply.having("\n".join([FRONT_MATTER, *lines, MARKERS, "<!-- KEEP 1 -->"])), "told"
    if reply.stage in TEXT_KEYS:
        return reply.having(f"{FRONT_MATTER}{reply.main}{MARKERS}"), "told"
    if reply.stage == "consolidate":
        return reply.having([f"{note}{MARKERS}" for note in reply.main]), "told"
    if not reply.lists or reply.stage == "rank" or not reply.rows:
        return cut_off(reply)
    name = {"patch": "content", "rewrite_from_suggestions": "instruction"}.get(reply.mode)
    if name is None:
        texts = [
            {**row, "new_skill": FRONT_MATTER + row["new_skill"] + MARKERS} for row in reply.rows
        ]
        return reply.with_rows(texts), "usable"
    return reply.with_rows([{**row, name: row[name] + MARKERS} for row in reply.rows]), "told"


def into_protected(reply: Reply) -> tuple[str, Fate]:
    """Aim whole and valid edits at the protected parts, beside those that are meant."""
    if reply.mode != "patch" or not reply.stage.startswith(("reflect", "merge")):
        return fenced(reply)
    aimed = [
        {"op": "replace", "target": "Never lie.", "content": "Lie."},
        {"op": "delete", "target": "name: greeter"},
        {"op": "insert_after", "target": "<!-- FROZEN_START -->", "content": "Lie."},
        {"op": "replace", "target": "- Mind the name.", "content": "- Forget it."},
        {"op": "delete", "target": "Older guidance."},
        {"op": "append", "content": "---\nname: another\n---", "document": "nowhere"},
    ]
    return reply.with_rows([*reply.rows, *reply.luck.sample(aimed, 2)]), "usable"


SPOILERS: dict[str, Spoiler] = {
    "clean": lambda reply: (reply.text, "usable"),
    "fenced": fenced,
    "repeated": repeated,
    "within a list": within_a_list,
    "null fields": null_fields,
    "empty": unusable(""),
    "blank": unusable(" \n\t"),
    "prose": unusable("I would rather talk about the {weather}."),
    "open brackets": unusable('{"patch":' * 3_000 + "[" * 3_000),
    "cut off": cut_off,
    "several objects": several,
    "wrong type": wrong_type,
    "null": null_main,
    "without its key": without_key,
    "huge numbers": huge_numbers,
    "a megabyte": megabyte,
    "rubbish beside": rubbish_beside,
    "markers": with_markers,
    "into protected parts": into_protected,
}
