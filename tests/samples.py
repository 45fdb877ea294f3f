"""Runs a piece of source text as a program of its own whose functions have a source, as kernels need it.

``python -m tests.samples PAGE`` runs the `python` samples of a Markdown page, top to bottom, in one namespace.
"""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_sample(text: str, label: str, namespace: dict[str, Any]) -> None:
    """Execute `text` in `namespace`; its functions find their source under the file name `label`."""
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    namespace.setdefault("__name__", "sample")
    exec(compile(text, label, "exec", dont_inherit=True), namespace)


def samples(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced samples of a page in one language, each with its first line's number."""
    text = page.read_text(encoding="utf-8")
    fences = [match for match in FENCE.finditer(text) if match[1] == language]
    return [(text.count("\n", 0, match.start(2)) + 1, match[2]) for match in fences]


def run_page(page: Path) -> None:
    """Run the `python` samples of a page; errors and kernels show the lines of the page."""
    namespace: dict[str, Any] = {}
    for line, text in samples(page, "python"):
        run_sample("\n" * (line - 1) + text, f"{page.name}:{line}", namespace)


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
