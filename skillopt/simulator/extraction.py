"""Which format rules a text states. Only what a sentence demands or bans becomes a rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from skillopt.simulator.limits_in_text import length_rules, list_rules
from skillopt.simulator.prose import Quotation, Sentence, sentences
from skillopt.simulator.rules import (
    AnswerAlone,
    CallTool,
    DoTask,
    EndsWith,
    Forbidden,
    ForbidTool,
    JsonObject,
    Matches,
    Refuse,
    Required,
    Rule,
    Section,
    StartsWith,
    Tagged,
    Thorough,
    Whole,
)
from skillopt.simulator.wording import Group, Stance, canonical, groups, is_banned

_LONG_TEXT = 50_000
_LONGEST_SENTENCE = 4_000
_ABOUT = re.compile(
    r"\b(?:about|on|regarding|concerning|from|for|by|than|into|to|e\.g\.,?|i\.e\.,?|such as|"
    r"for example,?|for instance,?|like|this(?: \w+)?)\s*:?\s*$"
)
_TOOL_BEFORE = re.compile(r"\b(?:tools?|functions?)(?: named| called)?\s*$")
_TOOL_AFTER = re.compile(r"^\s*(?:tool|function)s?\b")
_PATTERN_BEFORE = re.compile(r"(?:regular expressions?|regexp?|patterns?)\s*:?\s*$")
_SECTION_BEFORE = re.compile(
    r"\b(?:sections?|headings?|headed|headers?|titled|entitled)\b"
    r"(?:[\s:,]+(?:headed|titled|entitled|called|named|labelled|whose|that|which|headings?|titles?|"
    r"contains?|containing|has|is|are|says?|reads?|with|the|an?|exact|text|words?|phrase))*[\s:,]*$"
)
_SECTION_AFTER = re.compile(r"^\s*(?:sections?|headings?|headers?)\b")
_LABEL_BEFORE = re.compile(r"\b(?:label|labelled|labeled)\s*:?\s*$")
_START = re.compile(
    r"\b(?:start|begin|open)(?:s|ing)?\b(?P<what>[^,;]*?)\bwith\b(?P<how>[^,;]*)$|"
    r"\bfirst line\b[^,;]*$"
)
_END = re.compile(
    r"\b(?:end|finish|close|conclude)(?:e?s|ing)?\b(?P<what>[^,;]*?)\bwith\b(?P<how>[^,;]*)$|"
    r"\b(?:last|final) line\b[^,;]*$"
)
_PART_OF_ANSWER = re.compile(r"\b(?:line|bullet|paragraph|item|sentence|section|heading)s?\b")
_PART_FOLLOWS = re.compile(r"^\s*(?:line|section|label|field|paragraph|heading|sentence)\b")
_WHOLE = re.compile(
    r"\b(?:answer|reply|respond)(?:\s+with)?\s+(?:exactly|only|just)"
    r"(?:\s+the\s+(?:text|words?|phrase))?\s*$"
)
_RESULT = r"(?:answer|value|number|name|result|word|phrase|letter|date)"
_ALONE = re.compile(
    rf"\b(?:answer|reply|respond|output|return|give|write)\b[^.;]{{0,40}}\b(?:only|just|solely)\b"
    rf"[^.;]{{0,20}}\b{_RESULT}\b|\b{_RESULT} (?:alone|only)\b|\bnothing but the {_RESULT}\b"
)
_TAG = re.compile(r"<([a-z][\w-]*)>", re.IGNORECASE)
_TAG_WORDS = re.compile(
    r"\b(?:wrap|put|enclos\w+|inside|within|between|tags?|surround|place|give|write|return|use)\b"
)
_REFUSE = re.compile(r"\b(?:refuse|decline)\b")
_THOROUGH = re.compile(
    r"\b(?:exhaustive|thorough(?:ly)?|detailed|in (?:great |full )?detail|at length|"
    r"comprehensive|multiple paragraphs)\b"
)
_TOOL_VERB = re.compile(
    r"\b(?:call|use|invoke|run|query|consult|search|look)(?:s|ing|ed)?\b|\btools?\b"
)


def extract(text: str, tools: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    """Give the rules a text states, in its order, each once; `tools` are the tools on offer."""
    return _read(text, tools)[0]


def reminders(text: str, tools: tuple[str, ...] = ()) -> frozenset[Rule]:
    """Give the rules that a text calls back to mind, in sentences with "Remember:"."""
    return _read(text, tools)[1]


def _read(text: str, tools: tuple[str, ...]) -> tuple[tuple[Rule, ...], frozenset[Rule]]:
    named = tuple(tool for tool in tools if tool in text)
    return _read_long(text, named) if len(text) > _LONG_TEXT else _read_short(text, named)


def _rules_in(text: str, tools: tuple[str, ...]) -> tuple[tuple[Rule, ...], frozenset[Rule]]:
    found: dict[Rule, None] = {}
    recalled: set[Rule] = set()
    for sentence in _readable(text):
        rules = list(_rules_of(sentence, tools))
        found.update(dict.fromkeys(rules))
        if "remember:" in sentence.masked:
            recalled.update(rules)
    return tuple(found), frozenset(recalled)


#: The same documents are read again and again; few of them are long.
_read_short = lru_cache(maxsize=4096)(_rules_in)
_read_long = lru_cache(maxsize=8)(_rules_in)


def _readable(text: str) -> Iterator[Sentence]:
    """Give the sentences of a text; one without end is not read as a rule."""
    return (found for found in sentences(text) if len(found.masked) <= _LONGEST_SENTENCE)


def _rules_of(sentence: Sentence, tools: tuple[str, ...]) -> Iterator[Rule]:
    words = canonical(sentence.masked)
    tag = _tag_of(sentence, words)
    if tag is not None:
        yield Tagged(tag)
    elif keys := _json_keys(sentence, words):
        yield JsonObject(keys)
    else:
        for group in groups(sentence):
            yield from _group_rules(group, tools)
    yield from length_rules(words)
    yield from list_rules(words)
    yield from _tool_rules(sentence, tools)
    yield from _manner_rules(words)


def _group_rules(group: Group, tools: tuple[str, ...]) -> Iterator[Rule]:
    if _ABOUT.search(group.before) or group.stance is Stance.SILENT or _names_tool(group, tools):
        return
    if group.stance is Stance.BANNED:
        yield from (Forbidden(q.text) for q in group.quotations if not q.is_pattern)
        return
    wanted = group.quotations[:1] if group.alternatives else group.quotations
    for quotation in wanted:
        yield _wanted(quotation, group)


def _names_tool(group: Group, tools: tuple[str, ...]) -> bool:
    return bool(
        _TOOL_BEFORE.search(group.before)
        or _TOOL_AFTER.search(group.after)
        or all(quotation.text in tools for quotation in group.quotations)
    )


def _wanted(quotation: Quotation, group: Group) -> Rule:
    text = quotation.text
    if quotation.is_pattern or _PATTERN_BEFORE.search(group.before):
        return Matches(text)
    if _WHOLE.search(group.before):
        return Whole(text)
    start, end = _START.search(group.before), _END.search(group.before)
    heading = re.fullmatch(r"(#{1,6})\s+(.+)", text)
    if heading:
        return Section(heading.group(2), len(heading.group(1)), last=end is not None)
    if _SECTION_BEFORE.search(group.before) or _SECTION_AFTER.search(group.after):
        return Section(text, last=end is not None)
    if _LABEL_BEFORE.search(group.before) and not text.endswith(":"):
        return Required(f"{text}:", last=end is not None)
    if start and not _is_partial(start, group):
        return StartsWith(text)
    if end:
        return Required(text, last=True) if _is_partial(end, group) else EndsWith(text)
    return Required(text)


def _is_partial(edge: re.Match[str], group: Group) -> bool:
    """Whether "starts with" or "ends with" speaks of a line or section, not of the answer."""
    described = (edge.group("what") or "") + " " + (edge.group("how") or "")
    return bool(
        _PART_OF_ANSWER.search(described)
        or _PART_FOLLOWS.search(group.after)
        or re.search(r"\b(?:line|bullet|paragraph|item|section)\s*$", group.before[: edge.start()])
    )


def _tag_of(sentence: Sentence, words: str) -> str | None:
    tag = _TAG.search(sentence.raw)
    if tag is None or not _TAG_WORDS.search(words) or is_banned(words):
        return None
    return tag.group(1)


def _json_keys(sentence: Sentence, words: str) -> tuple[str, ...]:
    if not re.search(r"\bjson\b", words) or not re.search(r"\b(?:object|keys?|fields?)\b", words):
        return ()
    keys: dict[str, None] = {}
    for group in groups(sentence):
        for quotation in group.quotations:
            inner = re.findall(r"[\"']([\w -]+)[\"']\s*:", quotation.text)
            for key in inner or [quotation.text]:
                keys.setdefault(key)
    return tuple(keys)


def _tool_rules(sentence: Sentence, tools: tuple[str, ...]) -> Iterator[Rule]:
    for tool in tools:
        named = re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", sentence.raw)
        if named is None:
            continue
        before = canonical(sentence.raw[: named.start()].lower())
        if is_banned(before):
            yield ForbidTool(tool)
        elif _TOOL_VERB.search(before) or _TOOL_AFTER.search(sentence.raw[named.end() :]):
            yield CallTool(tool)


def _manner_rules(words: str) -> Iterator[Rule]:
    if _ALONE.search(words):
        yield AnswerAlone()
    if refusal := _REFUSE.search(words):
        yield DoTask() if is_banned(words[: refusal.start()]) else Refuse()
    thorough = _THOROUGH.search(words)
    if thorough and not is_banned(words[: thorough.start()]):
        yield Thorough()
