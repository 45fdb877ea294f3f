"""Where extremes are, and the first elements in order: ties, NaN, infinities, every dtype, both axes, both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl

ENGINES = ("cpu", "interpreter")


@tt.jit
def places(x, alone, paired, ROWS: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, LEFT: tl.constexpr):
    v = tl.load(x + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :])
    size: tl.constexpr = N if AXIS == 0 else ROWS
    at = tl.arange(0, size)
    tl.store(alone + at, tl.argmax(v, AXIS, tie_break_left=LEFT))
    tl.store(alone + size + at, tl.argmin(v, AXIS, tie_break_left=LEFT))
    tl.store(paired + at, tl.max(v, AXIS, return_indices=True, return_indices_tie_break_left=LEFT)[1])
    tl.store(paired + size + at, tl.min(v, AXIS, return_indices=True, return_indices_tie_break_left=LEFT)[1])


@tt.jit
def first(x, out, ROWS: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DESCENDING: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    v = tl.load(x + row * N + tl.arange(0, N)[None, :])
    tl.store(out + row * K + tl.arange(0, K)[None, :], tl.topk(v, K, descending=DESCENDING))


@tt.jit
def of_scalars(x, n, out):
    """A number that may be NaN meets ones that never are."""
    v = tl.load(x)
    tl.store(out + 0, tl.minimum(v, (n > 0).to(v.dtype)))
    tl.store(out + 1, tl.maximum((n > 0).to(v.dtype), v))
    tl.store(out + 2, tl.maximum(v, n.to(v.dtype)))
    tl.store(out + 3, tl.minimum(v, tl.where(n > 0, 0.5, 0.25).to(v.dtype)))
    tl.store(out + 4, tl.minimum(tl.sqrt(v.to(tl.float32)), n > 0))


def digits(shape: tuple[int, int], dtype: Any) -> np.ndarray:
    random = np.random.default_rng(3)
    x = random.integers(0, 9, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[random.random(shape) < 0.3] = np.nan
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize("axis, left", [(0, True), (0, False), (1, True), (1, False)])
def test_the_index_alone_is_that_of_the_pair(dtype: Any, axis: int, left: bool):
    x = digits((4, 16), dtype)
    if np.dtype(dtype).kind == "f":
        x[1], x[2, 3], x[3] = np.nan, np.inf, -np.inf
    for engine in ENGINES:
        alone, paired = np.zeros((2, 2, 16 if axis == 0 else 4), np.int32)
        places[(1,)](x, alone, paired, ROWS=4, N=16, AXIS=axis, LEFT=left, backend=engine)
        assert (alone == paired).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_scalars_skip_nan_whatever_is_known_of_the_other_operand(dtype: Any):
    answers = {np.nan: [1, 1, 7, 0.5, 1], 0.25: [0.25, 1, 7, 0.25, 0.5], -np.inf: [-np.inf, 1, 7, -np.inf, 1]}
    for number, wanted in answers.items():
        for engine in (*ENGINES, "sim"):
            out = np.zeros(5, dtype)
            of_scalars[(1,)](np.array([number], dtype), 7, out, backend=engine)
            assert out.tolist() == wanted, engine


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("n, k", [(16, 1), (16, 4), (16, 16), (64, 2), (2, 1), (1, 1)])
def test_the_first_elements_are_those_of_the_sorted_row(dtype: Any, n: int, k: int):
    x = digits((4, n), dtype)
    for descending in (True, False):
        wanted = np.sort(x, 1)[:, :: -1 if descending else 1][:, :k]
        for engine in ENGINES:
            out = np.zeros((4, k), dtype)
            first[(1,)](x, out, ROWS=4, N=n, K=k, DESCENDING=descending, backend=engine)
            np.testing.assert_array_equal(out, wanted)
