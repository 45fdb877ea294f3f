"""The built front end as text. Knows where the files lie, not what they do."""

from __future__ import annotations

from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"


@cache
def module(name: str) -> str | None:
    """The text of the built module `name` (``viewer``, ``inspector``, ``page``); None where it was not built."""
    path = STATIC / f"{name}.js"
    return path.read_text(encoding="utf-8") if path.is_file() else None
