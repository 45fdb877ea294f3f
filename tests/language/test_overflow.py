"""Results of signed integers that do not fit are told where that is asked for, on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["eager", "interpreter", "cpu", "sim"]
DTYPES = [np.int8, np.int16, np.int32, np.int64]


@tt.jit
def computed(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    if OP == "add":
        result = a + b
    elif OP == "sub":
        result = a - b
    elif OP == "mul":
        result = a * b
    else:
        result = tl.mul(tl.add(a, b, sanitize_overflow=False), b, sanitize_overflow=False)
    tl.store(out + i, result)


def pairs(dtype: Any) -> list[tuple[int, int]]:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    ends = [low, low + 1, -2, -1, 0, 1, 2, high - 1, high]
    return [(x, y) for x in ends for y in ends]


def fits(dtype: Any, op: str, x: int, y: int) -> bool:
    exact = {"add": x + y, "sub": x - y, "mul": x * y}[op]
    return np.iinfo(dtype).min <= exact <= np.iinfo(dtype).max


def launched(dtype: Any, op: str, found: list[tuple[int, int]], engine: str, **options: Any) -> np.ndarray:
    x, y = np.full((2, 128), 1, dtype)
    x[: len(found)], y[: len(found)] = np.array(found, dtype).T
    out = np.zeros_like(x)
    computed[(1,)](x, y, out, op, 128, backend=engine, **options)
    return out[: len(found)]


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_fits_passes_and_each_other_pair_is_told(dtype: Any, op: str):
    fitting = [pair for pair in pairs(dtype) if fits(dtype, op, *pair)]
    for engine in ENGINES:
        wanted = launched(dtype, op, fitting, engine)
        assert launched(dtype, op, fitting, engine, sanitize_overflow=True).tolist() == wanted.tolist()
    for pair in pairs(dtype):
        if pair not in fitting:
            with pytest.raises(TinytonError, match=f"{op} does not fit {np.dtype(dtype).name}"):
                launched(dtype, op, [(1, 1), pair], "interpreter", sanitize_overflow=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_tells_it_on_its_line(engine: str):
    with pytest.raises(TinytonError, match="mul does not fit int32") as caught:
        launched(np.int32, "mul", [(1, 1), (1 << 16, 1 << 16)], engine, debug=True)
    assert caught.value.span is not None and "result = a * b" in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_checked_unless_asked_for_nor_where_wrapping_is_meant(engine: str):
    large = [(1 << 31) - 1, 2]
    (wrapped,) = launched(np.int32, "mul", [(large[0], large[1])], engine)
    assert wrapped == -2
    launched(np.uint32, "add", [((1 << 32) - 1, 1)], engine, sanitize_overflow=True)
    launched(np.int32, "meant", [(large[0], large[1])], engine, sanitize_overflow=True)
    launched(np.int32, "add", [(large[0], large[1])], engine, debug=True, sanitize_overflow=False)


@tt.jit
def indexed(x, n, STRIDE: tl.constexpr):
    row = tl.program_id(0) + 70000
    tl.store(x, row * STRIDE + n)


def test_indices_and_constants_are_checked_too():
    with pytest.raises(TinytonError, match="mul does not fit int32"):
        indexed[(1,)](np.zeros(1, np.int64), 3, 70000, sanitize_overflow=True)
    indexed[(1,)](np.zeros(1, np.int64), 3, 7, sanitize_overflow=True)


@tt.jit
def random(out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.rand(seed, i))


def test_random_numbers_may_wrap():
    out, plain = np.zeros((2, 64), np.float32)
    random[(1,)](plain, 12345, 64)
    random[(1,)](out, 12345, 64, sanitize_overflow=True)
    assert out.tolist() == plain.tolist()
