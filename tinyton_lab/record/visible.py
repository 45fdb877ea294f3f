"""Makes text fit to be shown: what would act on a screen instead of standing on it becomes a visible mark."""

from __future__ import annotations

import unicodedata

MARK = "\ufffd"


def visible(text: str) -> str:
    """Replace control, direction and surrogate characters by a mark, and other spaces by plain ones.

    >>> visible("a\\u00a0b\\x1b[31m\\n")
    'a b\ufffd[31m\\n'
    """
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\t" or character.isprintable():
        return character
    return " " if unicodedata.category(character) == "Zs" else MARK
