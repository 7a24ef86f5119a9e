"""The sentences in which the simulated analyst writes rules, good, vague and harmful."""

from __future__ import annotations

_QUOTES = (('"', '"'), ("`", "`"), ("“", "”"))

_WORDINGS: dict[str, tuple[str, ...]] = {
    "contains": (
        "- Always include the exact text {quoted} in the answer.",
        "- Every answer must contain {quoted}, written exactly so.",
        "- Use {quoted} once in each answer, word for word.",
    ),
    "not_contains": (
        "- Never write {quoted} in the answer.",
        "- The answer must not contain {quoted}.",
        "- Avoid {quoted} altogether.",
    ),
    "regex": (
        "- The answer must match the regular expression /{arg}/.",
        "- Write the answer so that it contains a match for the regular expression /{arg}/.",
        "- Always include a text that matches the pattern /{arg}/.",
    ),
    "section": (
        "- Always include a section headed {quoted} in the answer.",
        "- Every answer must have a section titled {quoted}.",
        "- Add a heading {quoted} and write a section under it.",
    ),
    "heading": (
        "- Always include a section whose heading contains {quoted}.",
        "- Every answer must have a heading that contains {quoted}.",
        "- Add a heading with the words {quoted}.",
    ),
    "max_chars": (
        "- Keep the answer to at most {arg} characters.",
        "- The answer must not exceed {arg} characters.",
        "- Use no more than {arg} characters in all.",
    ),
    "min_chars": (
        "- Make the answer at least {arg} characters long.",
        "- The answer must have a minimum of {arg} characters.",
        "- Use no fewer than {arg} characters in all.",
    ),
    "no_refusal": (
        "- Always do the task; never refuse it.",
        "- Do not decline a task, carry it out.",
        "- You must never refuse; write the work that was asked for.",
    ),
    "tool": (
        "- Always call the tool {quoted} before you write the answer.",
        "- Use the tool {quoted} first, then answer.",
        "- Every task needs a call of the tool {quoted}; make it at the start.",
    ),
    "exact": (
        "- Reply with the answer alone, without a sentence around it.",
        "- Write only the answer itself and no explanation.",
        "- Give nothing but the answer.",
    ),
}

VAGUE = (
    "- Be clear and helpful.",
    "- Think carefully before answering.",
    "- Keep the reader in mind.",
    "- Aim for high quality in every part.",
)

FAR_TOO_SHORT = "- Keep the answer to at most 20 characters."


def quoted(text: str) -> str:
    """Quote a text with marks that it does not contain itself."""
    for opening, closing in _QUOTES:
        if opening not in text and closing not in text:
            return f"{opening}{text}{closing}"
    return f'"{text}"'


def wordings(kind: str, arg: str) -> tuple[str, ...]:
    """Give the ways of writing a rule down, the plainest first."""
    return tuple(
        wording.replace("{quoted}", quoted(arg)).replace("{arg}", arg)
        for wording in _WORDINGS[kind]
    )


def harmful(kind: str, arg: str) -> str:
    """Give a rule that works against a criterion."""
    if kind in ("contains", "section", "heading"):
        return wordings("not_contains", arg)[0]
    if kind == "not_contains":
        return wordings("contains", arg)[0]
    if kind == "max_chars":
        return wordings("min_chars", str(10 * int(arg)))[0]
    return FAR_TOO_SHORT
