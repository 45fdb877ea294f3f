"""The options of `%%ttkernel`, read and checked. Knows their names and values, not what they do."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tinyton_lab.base.diagnostics import error

VIEWS = ("stages", "passes", "graph", "trace")


def read_constants(words: Sequence[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` words; a value is a Python literal, else a string.

    Raises TT8001 for a word without ``=``.

    >>> read_constants(["BLOCK=128", "mode=fast"])
    {'BLOCK': 128, 'mode': 'fast'}
    """
    constants: dict[str, Any] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name.isidentifier():
            raise error("TT8001", option="--const", value=word, wanted="NAME=VALUE")
        constants[name] = _literal(value)
    return constants


def read_view(word: str | None) -> str:
    """Check the name of a view. Raises TT8001 for an unknown one."""
    if word and word not in VIEWS:
        raise error("TT8001", option="--view", value=word, wanted=f"one of {', '.join(VIEWS)}")
    return word or ""


def unquoted(word: str | None) -> str:
    """A value without the quotes around it: ``--sig="*fp32, i32"`` arrives with them.

    >>> unquoted('"*fp32, i32"')
    '*fp32, i32'
    """
    if word and len(word) > 1 and word[0] == word[-1] and word[0] in "\"'":
        return word[1:-1]
    return word or ""


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
