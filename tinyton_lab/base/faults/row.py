"""What a row of the fault table says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: `message` and `cure` are format strings filled by the raiser.

    `why` explains it on its page; `specimen` is a small program whose run raises exactly this fault (it is the test and
    the page's example). It runs with ``tt``, ``tl`` and ``np`` in scope; "" where a specimen cannot be a program.
    """

    code: str
    title: str
    message: str
    cure: str = ""
    why: str = ""
    specimen: str = ""
