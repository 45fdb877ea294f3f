"""The example programs that come with the lab: their names, files and texts. Runs none of them."""

from __future__ import annotations

import difflib
from pathlib import Path

from tinyton_lab.base.diagnostics import error

_FOLDER = Path(__file__).parent / "examples"


def names() -> list[str]:
    """The examples there are, in alphabetical order."""
    return sorted(path.stem for path in _FOLDER.glob("*.py") if path.stem != "__init__")


def path(name: str) -> Path:
    """The file of an example. Raises TT3015 for an unknown name.

    >>> path("vector_add").name
    'vector_add.py'
    """
    if name not in names():
        close = difflib.get_close_matches(name, names(), 1)
        raise error("TT3015", name=name, known=", ".join(names()), close=close[0] if close else names()[0])
    return _FOLDER / f"{name}.py"


def text(name: str) -> str:
    """The source text of an example."""
    return path(name).read_text(encoding="utf-8")
