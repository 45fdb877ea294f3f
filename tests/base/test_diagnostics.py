"""Faults stay short where the user's text is long."""

from __future__ import annotations

import pytest

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.source import Source, Span, carets


def test_long_names_are_cut():
    told = str(error("TT6005", None, name="x" * 50_000))
    assert len(told) < 1500 and "xxx..." in told


@pytest.mark.parametrize("column", [0, 5, 1000, 4990])
def test_of_a_long_line_the_part_around_the_place_is_shown(column: int):
    line = "".join(chr(97 + n % 26) for n in range(5000))
    drawn = carets(Span(Source("k.ptx", line), 1, column, 1, column + 3)).split("\n")
    at = drawn[2].index("^")
    assert len(drawn[1]) < 260 and drawn[1][at : at + 3] == line[column : column + 3] and drawn[2].count("^") == 3


def test_short_lines_are_shown_whole():
    line = "x" * 240
    assert carets(Span(Source("k.ptx", line), 1, 100, 1, 200)).split("\n")[1] == "    " + line
