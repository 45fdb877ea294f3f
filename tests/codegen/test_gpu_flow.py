"""Loops on the GPU run as often as Python's, up to the ends of the index's type."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.simulation import simulate
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.codegen.gpu import compile
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ops import OPS

COUNT = """\
kernel @count(%o: ptr<i32>, %a: TYPE, %b: TYPE, %c: TYPE) {num_warps = 1} {
BOUNDS  %3 = constant {value = 0, type = type<i32>} : i32
  %4 = constant {value = 1, type = type<i32>} : i32
  %5.0, %5.1 = for LOWER, UPPER, STEP, %3, %3 : i32, i32 {
  ^(%5.i: TYPE, %5.n: i32, %5.s: i32):
    %6 = add %5.n, %4 : i32
    %7 = cast %5.i {to = i32} : i32
    %8 = xor %5.s, %7 : i32
    yield %6, %8
  }
  store %o, %5.0
  %9 = offset %o, %4 : ptr<i32>
  store %9, %5.1
}
"""
LAST, FIRST, MOST = 2**31 - 1, -(2**31), 2**32 - 1
RANGES = [
    ("i32", 0, 10, 3), ("i32", 0, 0, 1), ("i32", 5, -5, 1), ("i32", 10, -1, -2), ("i32", LAST - 5, LAST, 3),
    ("i32", LAST - 1, LAST, 1000), ("i32", FIRST + 3, FIRST, -2), ("i32", FIRST, FIRST + 1, 7), ("i32", 0, 10, 0),
    ("i32", -3, 4, 2), ("u32", MOST - 5, MOST, 4), ("u32", 3, 1, 1), ("u32", 0, 9, 4), ("u32", 1, 9, 0),
    ("i64", 2**40, 2**40 + 9, 4), ("i64", -(2**63), -(2**63) + 2, 5),
]  # fmt: skip


def counted(dtype: str, lower: int, upper: int, step: int, known: str) -> list[int]:
    """How often the loop ran, and the exclusive-or of its indices; the bounds named in `known` are constants."""
    text, bounds = COUNT.replace("TYPE", dtype), ""
    for number, (name, parameter, value) in enumerate(zip(("LOWER", "UPPER", "STEP"), "abc", (lower, upper, step))):
        text = text.replace(name, f"%2{number}" if parameter in known else f"%{parameter}")
        bounds += f"  %2{number} = constant {{value = {value}, type = type<{dtype}>}} : {dtype}\n"
    code = compile(parse_function(text.replace("BOUNDS", bounds), OPS), TARGETS["sm_80"])
    out = np.zeros(2, np.int32)
    simulate(code, (1,), {"o": out, "a": lower, "b": upper, "c": step})
    return out.tolist()


@pytest.mark.parametrize("known", ["", "c", "ac", "abc"])
@pytest.mark.parametrize(("dtype", "lower", "upper", "step"), RANGES)
def test_loops_run_as_often_as_pythons(dtype: str, lower: int, upper: int, step: int, known: str):
    indices = list(range(lower, upper, step)) if step else []
    mixed = np.bitwise_xor.reduce(np.array(indices, np.int64).astype(np.int32)) if indices else 0
    assert counted(dtype, lower, upper, step, known) == [len(indices), mixed]
