"""The interpreter: what ops compute, divergence and joins, and that nothing outside the arguments is ever touched."""

from __future__ import annotations

import _thread
import math
import threading
import time
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tinyton_lab import interpreter
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ops import OPS
from tinyton_lab.runtime.buffers import buffer_of


def run(text: str, grid: tuple[int, int, int], *arguments: Any) -> None:
    function = parse_function(text, OPS)
    names = [parameter.name for parameter in function.parameters]
    wrapped = [buffer_of(n, a) if isinstance(a, np.ndarray) else a for n, a in zip(names, arguments, strict=True)]
    interpreter.run(function, grid, wrapped)


VADD = """\
kernel @vadd(%x: ptr<f32>, %y: ptr<f32>, %o: ptr<f32>, %n: i32) {
  %1 = program_id {axis = 0} : i32
  %2 = constant {value = 16, type = type<i32>} : i32
  %3 = mul %1, %2 : i32
  %4 = range {start = 0, end = 16} : tile<16xi32>
  %5 = splat %3 {shape = [16]} : tile<16xi32>
  %6 = add %5, %4 : tile<16xi32>
  %7 = splat %n {shape = [16]} : tile<16xi32>
  %8 = lt %6, %7 : tile<16xi1>
  %9 = splat %x {shape = [16]} : tile<16xptr<f32>>
  %10 = offset %9, %6 : tile<16xptr<f32>>
  %11 = load %10, mask=%8 : tile<16xf32>
  %12 = load %y, distance=%6, mask=%8 : tile<16xf32>
  %13 = add %11, %12 : tile<16xf32>
  store %o, %13, distance=%6, mask=%8
}
"""


def vadd(dtype: str) -> str:
    return VADD.replace("f32", dtype)


def test_every_row_runs():
    assert interpreter.missing_rows() == []


@pytest.mark.parametrize(
    ("dtype", "numpy"),
    [("f64", np.float64), ("f32", np.float32), ("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("i8", np.int8),
     ("i64", np.int64), ("u32", np.uint32)],
)  # fmt: skip
@pytest.mark.parametrize("n", [1, 15, 16, 100])
def test_vector_add(dtype: str, numpy: Any, n: int):
    x, y = (np.random.default_rng(n).uniform(-100, 100, (2, n))).astype(np.int8).astype(numpy)
    out = np.zeros(n, numpy)
    run(vadd(dtype), (math.ceil(n / 16), 1, 1), x, y, out, n)
    assert (out == x + y).all()


def test_many_small_programs_are_fast():
    n = 65536 * 16
    x = np.arange(n, dtype=np.float32)
    out = np.zeros_like(x)
    start = time.process_time()
    run(vadd("f32"), (65536, 1, 1), x, x, out, n)
    assert time.process_time() - start < 1
    assert (out == 2 * x).all()


def test_out_of_bounds_says_who_and_touches_nothing():
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(TinytonError, match="TT4001") as caught:
        run(vadd("f32"), (4, 1, 1), x, x[:40], out, 64)
    assert "program (2, 0, 0) would load element 40 of y, which has the elements 0 to 39" in str(caught.value)
    assert "belongs to" in str(caught.value)  # x and its view share memory
    assert not out.any()


def test_gaps_of_a_view_are_outside():
    text = """\
kernel @k(%x: ptr<f32>, %i: i32) {
  %1 = constant {value = 7.0, type = type<f32>} : f32
  %2 = offset %x, %i : ptr<f32>
  store %2, %1
}
"""
    whole = np.zeros(12, np.float32)
    run(text, (1, 1, 1), whole[2::3], 6)
    run(text, (1, 1, 1), whole[::-1], -5)
    assert np.flatnonzero(whole).tolist() == [6, 8]
    for index in (1, 5, -3, 12):
        with pytest.raises(TinytonError, match="TT4001"):
            run(text, (1, 1, 1), whole[2::3], index)
    with pytest.raises(TinytonError, match="no elements"):
        run(text, (1, 1, 1), whole[:0], 0)


def test_misaligned_access_is_refused():
    bytes_ = np.zeros(9, np.uint8)
    shifted = bytes_[1:] if bytes_.ctypes.data % 4 == 0 else bytes_[:8]
    text = "kernel @k(%x: ptr<f32>) {\n  %1 = load %x : f32\n}\n"
    with pytest.raises(TinytonError, match="TT4002"):
        run(text, (1, 1, 1), shifted)


def test_masked_lanes_may_point_anywhere():
    text = """\
kernel @k(%x: ptr<i32>, %o: ptr<i32>) {
  %1 = range {start = -1000000, end = -999996} : tile<4xi32>
  %2 = constant {value = false, type = type<tile<4xi1>>} : tile<4xi1>
  %3 = constant {value = 5, type = type<tile<4xi32>>} : tile<4xi32>
  %4 = load %x, distance=%1, mask=%2, other=%3 : tile<4xi32>
  %5 = load %x, distance=%1, mask=%2 : tile<4xi32>
  %6 = add %4, %5 : tile<4xi32>
  store %x, %3, distance=%1, mask=%2
  %7 = range {start = 0, end = 4} : tile<4xi32>
  store %o, %6, distance=%7
}
"""
    x, out = np.zeros(0, np.int32), np.zeros(4, np.int32)
    run(text, (1, 1, 1), x, out)
    assert out.tolist() == [5, 5, 5, 5]


REDUCE = """\
kernel @k(%x: ptr<f32>, %o: ptr<f32>, %w: ptr<i32>) {
  %1 = program_id {axis = 0} : i32
  %2 = constant {value = 12, type = type<i32>} : i32
  %3 = mul %1, %2 : i32
  %4 = range {start = 0, end = 12} : tile<12xi32>
  %5 = splat %3 {shape = [12]} : tile<12xi32>
  %6 = add %4, %5 : tile<12xi32>
  %7 = load %x, distance=%6 : tile<12xf32>
  %8 = reduce %7 {axis = 0} : f32 {
  ^(%a: f32, %b: f32):
    %9 = add %a, %b : f32
    yield %9
  }
  %20, %21 = reduce %7, %4 {axis = 0} : f32, i32 {
  ^(%c: f32, %d: i32, %e: f32, %f: i32):
    %22 = lt %c, %e : f32
    %23 = eq %c, %e : i1
    %24 = gt %d, %f : i1
    %25 = and %23, %24 : i1
    %26 = or %22, %25 : i1
    %27 = select %26, %e, %c : f32
    %28 = select %26, %f, %d : i32
    yield %27, %28
  }
  store %o, %8, distance=%1
  store %w, %21, distance=%1
}
""".replace("%22 = lt %c, %e : f32", "%22 = lt %c, %e : i1")


def test_reduce_with_one_op_and_with_a_function():
    x = np.random.default_rng(0).integers(-50, 50, (5, 12)).astype(np.float32)
    total, where = np.zeros(5, np.float32), np.zeros(5, np.int32)
    run(REDUCE, (5, 1, 1), x, total, where)
    assert (total == x.sum(1)).all()
    assert (where == x.argmax(1)).all()


DIVERGE = """\
kernel @collatz(%o: ptr<i32>, %p: ptr<i32>) {
  %1 = program_id {axis = 0} : i32
  %2 = constant {value = 1, type = type<i32>} : i32
  %3 = constant {value = 0, type = type<i32>} : i32
  %4 = constant {value = 2, type = type<i32>} : i32
  %5 = constant {value = 3, type = type<i32>} : i32
  %6 = add %1, %2 : i32
  %30, %31 = while %6, %3 : i32, i32 {
  ^(%v: i32, %steps: i32):
    %7 = gt %v, %2 : i1
    condition %7, %v, %steps
  } {
  ^(%v2: i32, %steps2: i32):
    %8 = mod %v2, %4 : i32
    %9 = eq %8, %3 : i1
    %10 = if %9 : i32 {
      %11 = idiv %v2, %4 : i32
      yield %11
    } {
      %12 = mul %v2, %5 : i32
      %13 = add %12, %2 : i32
      yield %13
    }
    %14 = add %steps2, %2 : i32
    yield %10, %14
  }
  store %o, %31, distance=%1
  %15 = for %3, %1, %4, %3 : i32 {
  ^(%i: i32, %sum: i32):
    %16 = add %sum, %i : i32
    yield %16
  }
  store %p, %15, distance=%1
}
"""


def test_programs_diverge_and_join():
    def collatz(n: int) -> int:
        steps = 0
        while n > 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps

    steps, sums = np.zeros(30, np.int32), np.zeros(30, np.int32)
    run(DIVERGE, (30, 1, 1), steps, sums)
    assert steps.tolist() == [collatz(n + 1) for n in range(30)]
    assert sums.tolist() == [sum(range(0, n, 2)) for n in range(30)]


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [(0, 10, 3), (10, 0, -3), (0, 0, 1), (5, 1, 1), (0, 10, 0), (2**31 - 5, 2**31 - 1, 3), (-(2**31), -(2**31) + 7, 4),
     (-(2**31) + 3, -(2**31), -2)],
)  # fmt: skip
def test_loop_runs_as_often_as_range_says(lower: int, upper: int, step: int):
    text = """\
kernel @k(%o: ptr<i64>, %lower: i32, %upper: i32, %step: i32) {
  %1 = constant {value = 0, type = type<i64>} : i64
  %2 = for %lower, %upper, %step, %1 : i64 {
  ^(%i: i32, %sum: i64):
    %3 = cast %i {to = i64} : i64
    %4 = add %sum, %3 : i64
    yield %4
  }
  store %o, %2
}
"""
    out = np.zeros(1, np.int64)
    run(text, (1, 1, 1), out, lower, upper, step)
    assert out[0] == (sum(range(lower, upper, step)) if step else 0)


def test_an_endless_loop_can_be_interrupted():
    text = """\
kernel @k(%o: ptr<i32>) {
  %1 = constant {value = true, type = type<i1>} : i1
  while {
    condition %1
  } {
    yield
  }
}
"""
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.1, _thread.interrupt_main).start()
        run(text, (1, 1, 1), np.zeros(1, np.int32))


def test_a_combination_may_use_values_from_outside():
    text = """\
kernel @k(%o: ptr<i32>, %m: i32) {
  %1 = program_id {axis = 0} : i32
  %2 = range {start = 0, end = 8} : tile<8xi32>
  %3 = add %1, %m : i32
  %4 = reduce %2 {axis = 0} : i32 {
  ^(%a: i32, %b: i32):
    %5 = max %a, %b : i32
    %6 = max %5, %3 : i32
    yield %6
  }
  store %o, %4, distance=%1
}
"""
    out = np.zeros(4, np.int32)
    run(text, (4, 1, 1), out, 6)
    assert out.tolist() == [7, 7, 8, 9]


def test_the_last_program_to_store_wins_and_a_fault_names_the_first():
    text = """\
kernel @k(%o: ptr<i32>, %at: i32) {
  %1 = program_id {axis = 0} : i32
  %2 = mul %1, %at : i32
  store %o, %1, distance=%2
}
"""
    out = np.full(4, -1, np.int32)
    run(text, (5, 1, 1), out, 0)
    assert out.tolist() == [4, -1, -1, -1]
    with pytest.raises(TinytonError, match=r"program \(4, 0, 0\) would store element 4"):
        run(text, (6, 1, 1), out, 1)
    assert out.tolist() == [4, -1, -1, -1]


def test_program_ids_of_a_grid():
    text = """\
kernel @k(%o: ptr<i32>) {
  %1 = program_id {axis = 0} : i32
  %2 = program_id {axis = 1} : i32
  %3 = program_id {axis = 2} : i32
  %4 = num_programs {axis = 0} : i32
  %5 = num_programs {axis = 1} : i32
  %6 = mul %3, %5 : i32
  %7 = add %6, %2 : i32
  %8 = mul %7, %4 : i32
  %9 = add %8, %1 : i32
  store %o, %9, distance=%9
}
"""
    out = np.zeros(24, np.int32)
    run(text, (4, 3, 2), out)
    assert out.tolist() == list(range(24))
