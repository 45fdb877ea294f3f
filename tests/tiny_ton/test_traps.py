"""What tiny-ton's programs stumble over elsewhere, each with what happens here: docs/tiny_ton.md has the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyton_lab as lab
import tinyton_lab.language as tl
import tinyton_lab.tiny_ton as tt
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["interpreter", "eager", "cpu", "sim"]
ROOT = Path(__file__).parents[2]


def run(kernel: Any, engine: str, *args: Any, dtype: Any = np.float32, elements: int = 16) -> list[Any]:
    out = np.zeros(elements, dtype)
    kernel[(1,)](out, *args, backend=engine)
    return out.tolist()


def remarks(kernel: Any, *args: Any) -> list[str]:
    return [diagnostic.code for diagnostic in kernel.warmup(*args, backend="cpu").diagnostics]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_range_starts_where_it_says(engine: str):
    @tt.jit
    def kernel(out):
        i = tt.arange(3, 8)
        tt.store(out + i, i)

    assert run(kernel, engine)[:9] == [0, 0, 0, 3, 4, 5, 6, 7, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_pointers_have_the_dtype_of_their_array(engine: str):
    @tt.jit
    def kernel(out, number, narrow, scale):
        i = tt.arange(0, 4)
        tt.store(out + i, tt.load(number + i) + tt.load(narrow + i) * scale)

    number, narrow = np.array([1, 2, 3, 4], np.int32), np.full(4, 0.5, np.float16)
    assert run(kernel, engine, number, narrow, 1.5)[:4] == [1.75, 2.75, 3.75, 4.75]
    assert run(kernel, engine, number * 2**24 + 1, number * 0.5, 2.0, dtype=np.float64)[0] == 2**24 + 2


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_are_weak_and_keep_narrow_floats_narrow(engine: str):
    @tt.jit
    def kernel(out, x):
        i = tt.arange(0, 4)
        half = 0.5
        tt.store(out + i, (tt.load(x + i) + 2048) + half)

    assert run(kernel, engine, np.ones(4, np.float16))[:4] == [2048.0] * 4


@pytest.mark.parametrize("engine", ENGINES)
def test_float_arguments_are_floats(engine: str):
    @tt.jit
    def kernel(out, scale):
        tt.store(out, scale * 2)

    assert run(kernel, engine, 1.75)[0] == 3.5


@pytest.mark.parametrize("engine", ENGINES)
def test_all_comparisons_give_conditions_that_count(engine: str):
    @tt.jit
    def kernel(out, n):
        i = tt.arange(0, 8)
        tt.store(out, tt.reduce_sum((i < n) + (i <= n) + (i > n) + (i >= n) + (i == n) + (i != n)))
        tt.store(out + 1, (n < 4) + (n < 5))
        tt.store(out + 2, -(n < 4))
        tt.store(out + 3, (n < 4) / 2 + (n < 4) * 7)

    assert run(kernel, engine, 3, dtype=np.int32)[:4] == [24, 2, -1, 7]


@tt.jit
def arithmetic(out, first, last):
    for number in range(-9, 9):
        at = out + (number + 9) * 4
        tt.store(at, number / 2)
        tt.store(at + 1, number // 4)
        tt.store(at + 2, number % 4)
        tt.store(at + 3, number >> 1)


@tt.jit
def arithmetic_at_run_time(out, first, last):
    for number in range(first, last):
        at = out + (number + 9) * 4
        tt.store(at, number / 2)
        tt.store(at + 1, number // 4)
        tt.store(at + 2, number % 4)
        tt.store(at + 3, number >> 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_compute_as_values_do(engine: str):
    known = run(arithmetic, engine, -9, 9, dtype=np.float64, elements=72)
    assert known == run(arithmetic_at_run_time, engine, -9, 9, dtype=np.float64, elements=72)
    assert known[:4] == [-4, -2, -1, 0x7FFFFFFB]


@pytest.mark.parametrize("engine", ENGINES)
def test_minus_turns_signs_of_floats_and_integers(engine: str):
    @tt.jit
    def kernel(out, x, n):
        tt.store(out, -tt.load(x))
        tt.store(out + 1, -n)

    found = run(kernel, engine, np.zeros(1, np.float32), 5)
    assert np.signbit(found[0]) and found[1] == -5


@pytest.mark.parametrize("engine", ENGINES)
def test_other_without_a_mask_is_let_pass(engine: str):
    @tt.jit
    def kernel(out, x, n):
        i = tt.arange(0, 4)
        tt.store(out + i, tt.load(x + i, other=7.0) + 10 * tt.load(x + i, mask=i < n))

    assert run(kernel, engine, np.ones(4, np.float32), 2)[:4] == [11, 11, 1, 1]


def test_a_remark_where_lanes_store_to_one_place():
    @tt.jit
    def racy(out):
        tt.store(out, tt.arange(0, 8))

    @tt.jit
    def calm(out):
        tt.store(out, tt.reduce_sum(tt.arange(0, 8)))
        tt.store(out + 1, 3, mask=tt.arange(0, 8) < 4)

    out = np.zeros(2, np.float32)
    assert (remarks(racy, out), remarks(calm, out)) == (["TT1037"], [])


def test_a_remark_where_a_loop_is_too_large_to_unroll():
    @tt.jit
    def kernel(out, N: tt.constexpr):
        total = 0
        for k in range(N):
            total = total + k
        tt.store(out, total)

    out = np.zeros(1, np.int32)
    assert (remarks(kernel, out, 9), remarks(kernel, out, 5000)) == ([], ["TT1038"])
    kernel[(1,)](out, 5000, backend="cpu")
    assert out[0] == 12497500


@tt.jit
def own_bound(out):
    i, total = tt.arange(0, 4), 0
    for _ in range(i):
        total = total + 1
    tt.store(out + i, total)


@tt.jit
def own_condition(out):
    i = tt.arange(0, 4)
    while i < 4:
        i = i + 1
    tt.store(out + i, i)


@tt.jit
def lost_name(out, n):
    for k in range(n):
        last = k
    tt.store(out, last)


REFUSED = [(own_bound, (), "TT2027"), (own_condition, (), "TT2025"), (lost_name, (3,), "TT1009")]


@pytest.mark.parametrize(("kernel", "more", "code"), REFUSED, ids=["bound", "condition", "name"])
def test_what_cannot_be_said(kernel: Any, more: tuple[int, ...], code: str):
    with pytest.raises(TinytonError, match=code) as caught:
        kernel[(1,)](np.zeros(4, np.float32), *more)
    assert caught.value.span is not None and (code != "TT2027" or "varies" in caught.value.message)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_dtype_has_its_view_of_the_slots(engine: str):
    @tt.jit
    def kernel(out, half, number):
        i = tt.arange(0, 4)
        tt.shared_store(i, tt.load(half + i), buffer_size=8)
        tt.shared_store(4 + i, tt.load(number + i))
        tt.sync()
        tt.store(out + i, tt.shared_load(3 - i, dtype=tl.float32) + tt.shared_load(7 - i, dtype=tl.int32))

    half, number = np.arange(4).astype(np.float16) / 2, np.arange(4, dtype=np.int32) * 10
    assert run(kernel, engine, half, number)[:4] == [31.5, 21.0, 10.5, 0.0]


@pytest.mark.parametrize("lanes", [27, 64, 100, 256])
def test_one_reduction_after_another(lanes: int):
    @tt.jit
    def kernel(out, x, N: tt.constexpr):
        v = tt.load(x + tt.arange(0, N))
        tt.store(out + tt.arange(0, N), tt.reduce_sum(v) + tt.reduce_max(v) + tt.reduce_sum(v * 2))

    x, out = np.arange(lanes, dtype=np.float32), np.zeros(lanes, np.float32)
    launch = kernel[(1,)](out, x, lanes, backend="sim", sanitize=True)
    assert launch.findings == () and set(out.tolist()) == {x.sum() * 3 + x.max()}


@pytest.mark.parametrize("engine", ENGINES)
def test_math_is_full_everywhere(engine: str):
    @tt.jit
    def kernel(out, x):
        i = tt.arange(0, 16)
        v = tt.load(x + i)
        tt.store(out + i, tt.exp(v) + tt.rsqrt(v) + tt.log(v))

    x = np.linspace(0.1, 9, 16).astype(np.float32)
    assert run(kernel, engine, x) == run(kernel, "interpreter", x)
    assert ".approx" not in lab.inspect(kernel, x, x).stages["ptx"].text


@tt.jit
def scale(x, y, N: tt.constexpr):
    i = tt.arange(0, N)
    tt.store(y + i, tt.load(x + i) * 10)


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_of_any_strides_are_flat(engine: str):
    matrix, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((6, 2), np.float32)
    scale[(1,)](matrix.T, out[::-1, 1], 6, backend=engine)
    assert out[::-1, 1].tolist() == [0, 30, 10, 40, 20, 50] and out[:, 0].tolist() == [0] * 6
    scale[(1,)](out[:, 1], out[:, 1], 6, backend=engine)
    assert out[0].tolist() == [0, 500]


def test_only_what_a_launch_changed_is_written_back():
    x = np.arange(8, dtype=np.float32)
    scale[(1,)](x[::2], x, 4, backend="cpu")
    assert x.tolist() == [0, 20, 40, 60, 4, 5, 6, 7]


def test_a_fault_tells_of_the_flat_argument():
    x = np.zeros((4, 4), np.float32)
    with pytest.raises(TinytonError, match="x, which has the elements 0 to 3") as caught:
        scale[(1,)](x[:, 0], x, 5, backend="cpu")
    assert caught.value.code == "TT4001"
    with pytest.raises(TinytonError, match="TT3009"):
        scale[(1,)](x, np.broadcast_to(np.float32(1), (4,)), 4, backend="cpu")


@pytest.mark.parametrize("engine", ENGINES)
def test_arguments_by_name_defaults_and_constants_of_any_kind(engine: str):
    @tt.jit
    def kernel(out, n, SCALE: tt.constexpr = 2.5, N: tt.constexpr = 4):
        i = tt.arange(0, N)
        tt.store(out + i, n * SCALE)

    out = np.zeros(4, np.float32)
    kernel[(1,)](out, n=3, N=4, backend=engine)
    assert out.tolist() == [7.5] * 4


@pytest.mark.parametrize("engine", ENGINES)
def test_grids_of_three_axes(engine: str):
    @tt.jit
    def kernel(out):
        at = tt.program_id(0) + 2 * (tt.program_id(1) + 2 * tt.program_id(2))
        tt.store(out + at, at + 100 * tt.num_programs(2))

    out = np.zeros(12, np.float32)
    kernel[(2, 2, 3)](out, backend=engine)
    assert out.tolist() == [300 + at for at in range(12)]


def test_the_table_of_traps_names_tests_that_exist():
    page = (ROOT / "docs" / "tiny_ton.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 28))
    for number, shown in rows:
        file = "test_traps.py"
        for named in re.findall(r"`([^`]+)`", shown):
            place, _, test = named.rpartition("::")
            file = place if place.endswith(".py") else file
            path = ROOT / test if "/" in test else Path(__file__).parent / file
            assert "/" in test or f"def {test}(" in path.read_text(encoding="utf-8"), f"row {number} names {test}"
