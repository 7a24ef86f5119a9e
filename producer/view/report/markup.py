"""HTML and SVG built of escaped parts: what models, tasks and people wrote is never markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from producer.view.printable import printable


class Html(str):
    """Text that is markup already; any other text is escaped where it is put in."""

    __slots__ = ()


Child = str | Iterable["Child"] | None
Attribute = str | int | float | None

#: Elements without an end tag.
_VOID = frozenset({"meta", "line", "rect", "circle", "path"})


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """Build one element.

    An attribute that is None is left out; `class_` is the class, `aria_label` is aria-label.
    """
    written = "".join(
        f' {_attribute(key)}="{escape(_value(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not children:
        return Html(f"<{name}{written}>" if name == "meta" else f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Child) -> Html:
    """Put parts one after the other, escaping what is not markup."""
    if children is None:
        return Html("")
    if isinstance(children, Html):
        return children
    if isinstance(children, str):
        return Html(escape(printable(children), quote=False))
    return Html("".join(join(child) for child in children))


def _attribute(key: str) -> str:
    return key.removesuffix("_").replace("_", "-")


def _value(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return printable(str(value))
