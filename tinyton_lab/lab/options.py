"""The options of `%%ttkernel`, read and checked. Knows their names and values, not what they do."""

from __future__ import annotations

import ast
import shlex
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


def words(line: str) -> list[str]:
    """Cut a magic's line into words as a shell does: quotes keep a value together.

    Raises TT8001 for a quote that is never closed.

    >>> words('vadd --sig="*fp32, i32"')
    ['vadd', '--sig=*fp32, i32']
    """
    try:
        return shlex.split(line)
    except ValueError:
        raise error("TT8001", option="line", value=line, wanted="words with every quote closed") from None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
