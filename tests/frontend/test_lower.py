"""Kernels lower to the tile IR of their goldens, which parses back and computes what Python says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyton_lab.language as tl
from tests.frontend import kernels
from tests.frontend.evaluation import launch
from tests.frontend.lowering import device, text
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ir.text import print_function
from tinyton_lab.ops import OPS


@pytest.mark.parametrize("name", sorted(kernels.CASES))
def test_tile_ir(name: str, golden: Callable[[str], object]):
    kernel, arguments = kernels.CASES[name]
    seen = text(kernel, **arguments)
    assert seen == golden(f"tile/{name}.tile")
    assert print_function(parse_function(seen, OPS)).text == seen


def run(kernel: Any, out: Any, **arguments: Any) -> list[Any]:
    launch(kernel, (1,), **arguments, out=out)
    return out.tolist()


def test_row_sum():
    x = np.arange(600, dtype=np.float32).reshape(2, 300)
    out = np.zeros(2, np.float32)
    launch(kernels.row_sum, (2,), x=x, out=out, stride=300, n=300, BLOCK=128)
    assert out.tolist() == x.sum(1).tolist()


def test_row_extremes():
    x = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    out = run(kernels.row_extremes, np.zeros(24, np.float32), x=x, N=8)
    assert out == [*(x.max(1) - x.min(1)), *x.max(0), *x.argmax(0).astype(float)]


@pytest.mark.parametrize(("n", "x", "wanted"), [(11, 3.0, 6.0), (0, 3.0, 0.0), (5, 3.0, 1.5), (5, -3.0, 1.5)])
def test_branches(n: int, x: float, wanted: float):
    assert run(kernels.branches, np.zeros(1, np.float32), x=np.float32([x]), n=n) == [wanted]


def test_while_loop():
    assert run(kernels.while_loop, np.zeros(2, np.int32), n=100) == [89, 11]


def test_nested_loops():
    x = np.arange(12, dtype=np.float32)
    assert run(kernels.nested_loops, np.zeros(1, np.float32), x=x, n=3, m=4) == [66.0]


def test_pointer_walk():
    a, b = np.arange(8, dtype=np.float32), np.arange(10, 18, dtype=np.float32)
    assert run(kernels.pointer_walk, np.zeros(4, np.float32), a=a, b=b, stride=1) == [0, 10, 1, 11]


def test_logic():
    x = np.arange(16, dtype=np.int32)
    v = x
    both, chain = (v > 2) & ~(v > 5), (v >= 0) & (v < 7)
    wanted = np.where(both, 0, (both | chain) & (v != 3))
    assert run(kernels.logic, np.zeros(16, np.int32), x=x, N=16) == wanted.tolist()


def test_operators():
    v = 29
    out = run(kernels.operators, np.zeros(3, np.float32), x=np.int32([v]))
    assert out == [float(-v + (v // 3) * (v % 3) - (v << 2) + (v >> 1) ^ (v & 6) | ~v), v / 2, v**3]


def test_calls():
    x = np.linspace(-1, 1, 16).astype(np.float16)
    doubled = x * np.float16(2)
    wanted = np.minimum(doubled - np.float16(1), doubled * np.float16(3)).astype(np.float32)
    wanted[0] = 6
    assert run(kernels.calls, np.zeros(16, np.float32), x=x, N=16) == wanted.tolist()


def test_induction_variable_may_be_bound_again():
    @device
    def kernel(out, n, off):
        for i in range(0, n, 2):
            i = i + off
            tl.store(out + i, i * 10)

    assert run(kernel, np.zeros(8, np.int32), n=6, off=1) == [0, 10, 0, 30, 0, 50, 0, 0]


def test_loop_variable_keeps_python_meaning_where_it_existed_before():
    @device
    def kernel(out, n):
        i = 7
        for i in range(n):
            tl.store(out + i, i)
        tl.store(out + 7, i)

    assert run(kernel, np.zeros(8, np.int32), n=3) == [0, 1, 2, 0, 0, 0, 0, 2]
    assert run(kernel, np.zeros(8, np.int32), n=0) == [0, 0, 0, 0, 0, 0, 0, 7]


def test_temporaries_of_a_loop_may_change_type_between_loops():
    @device
    def kernel(x, out, n):
        for i in range(n):
            t = tl.load(x + i)
            tl.store(out + i, t)
        for i in range(n):
            t = tl.load(x + i) > 0
            tl.store(out + i, t, mask=t)

    assert run(kernel, np.zeros(4, np.int32), x=np.int32([5, -5, 0, 7]), n=4) == [1, -5, 0, 1]


def test_tuples_are_carried():
    @device
    def kernel(out, n):
        state = (0, 1.0)
        for _ in range(n):
            count, value = state
            state = (count + 1, value * 2)
        tl.store(out, state[0] + state[1])

    assert run(kernel, np.zeros(1, np.float32), n=5) == [37.0]


def test_early_return_guards_the_rest():
    @device
    def kernel(x, out, n):
        pid = tl.program_id(0)
        if pid >= n:
            return
        if pid == 1:
            tl.store(out + pid, -1)
            return
        tl.store(out + pid, tl.load(x + pid))

    out = np.zeros(4, np.int32)
    launch(kernel, (4,), x=np.int32([5, 6, 7, 8]), out=out, n=3)
    assert out.tolist() == [5, -1, 7, 0]


def test_a_return_deep_in_branches_known_and_not():
    @device
    def kernel(x, out, FLAG):
        pid = tl.program_id(0)
        if FLAG:
            if pid == 0:
                return
            tl.store(out + pid, 1)
        if pid < 3:
            if tl.load(x + pid) > 6:
                if pid == 1:
                    tl.store(out + pid, 7)
                else:
                    return
            bonus = 10
        else:
            bonus = 20
        tl.store(out + 4 + pid, bonus)

    for flag, wanted in ((True, [0, 7, 1, 1, 0, 10, 0, 20]), (False, [0, 7, 0, 0, 10, 10, 0, 20])):
        out = np.zeros(8, np.int32)
        launch(kernel, (4,), x=np.int32([5, 7, 7, 8]), out=out, FLAG=flag)
        assert out.tolist() == wanted


def test_helper_returns_from_its_branches():
    @device
    def clip(v):
        if v < 0:
            return 0
        if v > 9:
            return 9
        return v

    @device
    def kernel(x, out):
        pid = tl.program_id(0)
        tl.store(out + pid, clip(tl.load(x + pid)))

    out = np.zeros(3, np.int32)
    launch(kernel, (3,), x=np.int32([-5, 5, 50]), out=out)
    assert out.tolist() == [0, 5, 9]


def test_specialised_one_keeps_its_type():
    @device
    def kernel(x, out, mul):
        tl.store(out, tl.load(x) * mul.to(tl.int64))

    assert [run(kernel, np.zeros(1, np.int64), x=np.int64([5]), mul=m)[0] for m in (42, 1, 16)] == [210, 5, 80]
