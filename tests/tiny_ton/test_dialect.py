"""tiny-ton's dialect: where it means something else than Triton's, and that the two do not mix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab.language as tl
import tinyton_lab.tiny_ton as tt
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["interpreter", "eager"]


def run(kernel: Any, engine: str, *args: Any, dtype: Any = np.float32, elements: int = 8) -> list[Any]:
    out = np.zeros(elements, dtype)
    kernel[(1,)](out, *args, backend=engine)
    return out.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_vector_add(engine: str):
    @tt.jit
    def vector_add(a, b, c, N, BLOCK: tt.constexpr):
        offsets = tt.program_id(0) * BLOCK + tt.arange(0, BLOCK)
        mask = offsets < N
        tt.store(c + offsets, tt.load(a + offsets, mask=mask) + tt.load(b + offsets, mask=mask), mask=mask)

    a, c = np.arange(20, dtype=np.float16), np.zeros(20, np.float16)
    vector_add[(2,)](a, a, c, 20, 16, backend=engine)
    assert c.tolist() == (a + a).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_accumulator_widens_in_its_loop(engine: str):
    @tt.jit
    def dot(out, x, K, BLOCK: tt.constexpr):
        lane = tt.arange(0, BLOCK)
        acc = 0.0
        low = 0
        for k in range(0, K, BLOCK):
            v = tt.load(x + k + lane, mask=k + lane < K)
            acc = acc + v * v
            low = low + (lane < 3)
        tt.store(out, tt.reduce_sum(acc))
        tt.store(out + 1, tt.reduce_sum(low))

    x = np.arange(20, dtype=np.float32)
    assert run(dot, engine, x, 20, 8)[:2] == [float((x * x).sum()), 9.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_integers_divide_toward_zero_and_shift_in_zeros(engine: str):
    @tt.jit
    def kernel(out, x):
        v = tt.load(x)
        tt.store(out, v / 2)
        tt.store(out + 1, v // 2)
        tt.store(out + 2, v % 2)
        tt.store(out + 3, v >> 1)
        tt.store(out + 4, 7 / 2)
        tt.store(out + 5, -v)

    seen = run(kernel, engine, np.int32([-7]), dtype=np.int32)
    assert seen[:6] == [-3, -3, -1, 0x7FFFFFFC, 3, 7]


@pytest.mark.parametrize("engine", ENGINES)
def test_floats_divide_as_floats(engine: str):
    @tt.jit
    def kernel(out, x):
        v = tt.load(x)
        tt.store(out, v / 2)
        tt.store(out + 1, v // 2)

    assert run(kernel, engine, np.float32([7.5]))[:2] == [3.75, 3.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_store_of_all_lanes_to_one_place_keeps_the_highest(engine: str):
    @tt.jit
    def kernel(out, n, BLOCK: tt.constexpr):
        lane = tt.arange(0, BLOCK)
        tt.store(out, lane)
        tt.store(out + 1, lane, mask=lane < n)
        tt.store(out + 2, 9, mask=lane < 0)
        tt.store(out + 3, 9, mask=lane < n)

    assert run(kernel, engine, 3, 8)[:4] == [7.0, 2.0, 0.0, 9.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_lane_counts_a_uniform_value(engine: str):
    @tt.jit
    def kernel(out, BLOCK: tt.constexpr):
        lane = tt.arange(0, BLOCK)
        tt.store(out, tt.reduce_sum(2))
        tt.store(out + 1, tt.reduce_max(lane))

    assert run(kernel, engine, 8)[:2] == [16.0, 7.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_are_known_before_they_count(engine: str):
    @tt.jit
    def late(out):
        tt.store(out, tt.reduce_sum(2))
        tt.store(out + tt.arange(0, 8), 1.0)

    @tt.jit
    def alone(out):
        tt.store(out, tt.reduce_sum(2))

    assert run(alone, engine)[0] == 2.0
    with pytest.raises(TinytonError, match="TT2031") as caught:
        run(late, engine)
    assert "arange(0, 8)" in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_half_precision_sums_are_kept_in_single(engine: str):
    @tt.jit
    def kernel(out, x, BLOCK: tt.constexpr):
        tt.store(out, tt.reduce_sum(tt.load(x + tt.arange(0, BLOCK))) - 4096)

    x = np.ones(4096, np.float16)
    assert run(kernel, engine, x, 4096)[0] == 0.0


@pytest.mark.parametrize("engine", ENGINES)
def test_maximum_and_relu_are_element_by_element(engine: str):
    @tt.jit
    def kernel(out, x, BLOCK: tt.constexpr):
        i = tt.arange(0, BLOCK)
        v = tt.load(x + i)
        tt.store(out + i, tt.max(v, -2) * 10 + tt.relu(v) + tt.abs(v))

    assert run(kernel, engine, np.int32([-5, 5]), 2)[:2] == [-15.0, 60.0]


def test_a_range_of_known_turns_is_unrolled_while_small():
    @tt.jit
    def kernel(out, N: tt.constexpr):
        for k in range(N):
            tt.store(out + k, k)

    def loops(n: int) -> int:
        text = kernel.warmup(np.zeros(8, np.float32), n, backend="interpreter").stages["tile"].text
        return text.count(" = for ") + text.count("  for ")

    assert [loops(4), loops(1000)] == [0, 1]


def test_the_dialect_is_the_decorators():
    @tt.jit
    def kernel(out):
        tl.store(out, 1.0)

    with pytest.raises(TinytonError, match="TT1017") as caught:
        run(kernel, "interpreter")
    assert caught.value.message == "store belongs to the dialect triton, and kernel is written in tiny_ton"


@tt.jit
def statistics(x, out, n, BLOCK: tt.constexpr):
    i = tt.arange(0, BLOCK)
    values = tt.load(x + i)
    tt.store(out, tt.reduce_sum(values))
    tt.store(out + 1, tt.reduce_max(values - 50))
    tt.store(out + 2, tt.reduce_sum(2))
    tt.store(out + 3, values)
    tt.store(out + 4 + i, values * 2, mask=i < n)


@pytest.mark.parametrize("engine", ["interpreter", "eager", "cpu", "sim"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("length", [1, 3, 5, 12, 33, 100])
def test_any_number_of_lanes(engine: str, dtype: Any, length: int) -> None:
    x, out = np.arange(1, length + 1).astype(dtype), np.full(4 + length, -1, dtype)
    statistics[(1,)](x, out, length - 1, length, backend=engine)
    want = [x.sum(), x.max() - 50, 2 * length, x[-1], *(x[:-1] * 2), -1]
    assert out.tolist() == [float(value) for value in want]


@pytest.mark.parametrize("engine", ENGINES)
def test_padding_leaves_masks_starts_and_integers_alone(engine: str):
    @tt.jit
    def kernel(out, x, n):
        i = tt.arange(5, 10)
        v = tt.load(x + i, mask=i < n, other=-7)
        tt.store(out, tt.reduce_max(v))
        tt.store(out + 1, v, mask=i < n)
        tt.store(out + 2, tt.reduce_sum(i))

    assert run(kernel, engine, -np.arange(10, dtype=np.int32), 8, dtype=np.int32)[:3] == [-5, -7, 35]


@pytest.mark.parametrize("engine", ["interpreter", "eager", "cpu", "sim"])
@pytest.mark.parametrize("last", range(8))
def test_the_highest_lane_that_the_mask_leaves_on_stays(engine: str, last: int):
    @tt.jit
    def kernel(out, n):
        i = tt.arange(0, 8)
        tt.store(out, i + 1, mask=i < n)

    assert run(kernel, engine, last)[0] == last


@pytest.mark.parametrize("engine", ["interpreter", "eager", "cpu", "sim"])
def test_padding_keeps_the_sign_of_a_sum_of_negative_zeros(engine: str):
    @tt.jit
    def kernel(out, x):
        tt.store(out, tt.reduce_sum(tt.load(x + tt.arange(0, 3))))

    assert np.signbit(run(kernel, engine, np.full(3, -0.0, np.float32))[0])
