"""Runs a piece of source text as a program of its own whose functions have a source, as kernels need it."""

from __future__ import annotations

import linecache
from typing import Any


def run_sample(text: str, label: str, namespace: dict[str, Any]) -> None:
    """Execute `text` in `namespace`; its functions find their source under the file name `label`."""
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    namespace.setdefault("__name__", "sample")
    exec(compile(text, label, "exec", dont_inherit=True), namespace)
