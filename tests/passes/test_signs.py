"""Comparisons with zero are decided where an index cannot be negative, and nowhere else."""

from __future__ import annotations

import pytest

from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ops import OPS
from tinyton_lab.passes.signs import never_below_zero

HEAD = "kernel @k(%n: i32) {\n %1 = program_id {axis = 0} : i32\n %2 = constant {value = 0, type = type<i32>} : i32\n"


def number(value: int, uid: int) -> str:
    return f" %{uid} = constant {{value = {value}, type = type<i32>}} : i32\n"


@pytest.mark.parametrize(
    "body, decided",
    [
        (" %3 = ge %1, %2 : i1\n", {3: True}),
        (" %3 = lt %1, %2 : i1\n", {3: False}),
        (" %3 = ge %n, %2 : i1\n", {}),
        (number(64, 3) + " %4 = mul %1, %3 : i32\n %5 = ge %4, %2 : i1\n", {5: True}),
        (number(1 << 20, 3) + " %4 = mul %1, %3 : i32\n %5 = ge %4, %2 : i1\n", {}),
        (number(-1, 3) + " %4 = add %1, %3 : i32\n %5 = ge %4, %2 : i1\n", {}),
        (" %3 = range {start = 0, end = 64} : tile<64xi32>\n %4 = constant {value = 0, type = type<tile<64xi32>>} : "
         "tile<64xi32>\n %5 = ge %3, %4 : tile<64xi1>\n", {5: True}),
        (" %3 = range {start = -1, end = 63} : tile<64xi32>\n %4 = constant {value = 0, type = type<tile<64xi32>>} : "
         "tile<64xi32>\n %5 = ge %3, %4 : tile<64xi1>\n", {}),
    ],
)  # fmt: skip
def test_decides(body: str, decided: dict[int, bool]) -> None:
    assert never_below_zero(parse_function(HEAD + body + "}", OPS)) == decided


@pytest.mark.parametrize(
    "first, step, known", [(0, 32, True), (-1, 32, False), (0, -1, False), (1 << 30, 32, False), (0, 1 << 20, False)]
)
def test_follows_what_a_loop_carries(first: int, step: int, known: bool) -> None:
    text = (
        HEAD
        + number(first, 3)
        + number(step, 4)
        + number(1, 5)
        + " %6 = for %2, %n, %5, %3 : i32 {\n ^(%i: i32, %c: i32):"
        "\n %7 = ge %c, %2 : i1\n %8 = add %c, %4 : i32\n yield %8\n }\n}"
    )
    assert never_below_zero(parse_function(text, OPS)) == ({7: True} if known else {})
