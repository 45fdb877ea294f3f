"""The only place where HTML is made: elements of escaped text. Knows no record."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tinyton_lab.record.visible import visible

VOID = frozenset(("img", "br", "hr", "meta"))


class Markup(str):
    """Text that is HTML already; everything else is escaped when it becomes a child."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str) -> Markup:
    """Make one element; attribute values and children that are plain text are escaped.

    >>> element("b", "a < b", element("i", "c"), title='"')
    '<b title="&quot;">a &lt; b<i>c</i></b>'
    """
    opening = "".join(f' {name}="{safe(value)}"' for name, value in attributes.items() if value)
    if tag in VOID:
        return Markup(f"<{tag}{opening}>")
    return Markup(f"<{tag}{opening}>{join(children)}</{tag}>")


def join(children: Sequence[str], separator: str = "") -> Markup:
    """Put children one after the other."""
    return Markup(separator.join(child if isinstance(child, Markup) else safe(child) for child in children))


def safe(text: str) -> str:
    """Escape text for HTML."""
    return escape(visible(text), quote=True)
