"""Find the source text of a Python function: in its file, or in the cell it was typed into. Does not parse it."""

from __future__ import annotations

import inspect
import linecache
import os
from collections.abc import Callable
from typing import Any

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.source import Source


def read_source(function: Callable[..., Any]) -> Source:
    """The text of a function from its first decorator on. Raises TT3012 where there is none."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    first = code.co_firstlineno
    if len(lines) < first or not lines[first - 1].strip():
        raise error("TT3012", kernel=function.__name__)
    text = "".join(inspect.getblock(lines[first - 1 :]))
    return Source(label(code.co_filename, function.__name__), text, first)


def label(filename: str, function: str) -> str:
    """How a source is called in messages and records: a stable name without paths, counters or temporary files.

    >>> label("lab/softmax.py", "softmax"), label("<ipython-input-7>", "vadd"), label("cell:vadd", "vadd")
    ('softmax.py', 'cell:vadd', 'cell:vadd')
    """
    if filename.startswith("cell:"):
        return filename
    if filename.startswith("<") or "ipykernel_" in filename:
        return f"cell:{function}"
    return os.path.basename(filename)
