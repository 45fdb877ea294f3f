"""Casts of floats of 8 bits on every engine: all 256 patterns upward, all 65,536 of f16 and bf16 downward."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl

SMALL = [
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e4m3b11fnuz,
]


@tt.jit
def convert(x, out, N: tl.constexpr, ROUNDING: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty, fp_downcast_rounding=ROUNDING))


def converted(x: Any, to: Any, engine: str, rounding: str | None = None) -> Any:
    out = np.zeros(x.shape, to)
    block = min(x.size, 2048)
    convert[(x.size // block,)](x, out, block, rounding, backend=engine)
    return out


def same(got: Any, want: Any) -> bool:
    nan = np.isnan(want.astype(np.float32))
    bits = np.dtype(f"u{want.itemsize}")
    return bool(np.where(nan, np.isnan(got.astype(np.float32)), got.view(bits) == want.view(bits)).all())


@pytest.mark.parametrize("engine", ["interpreter", "cpu", "sim"])
@pytest.mark.parametrize("small", SMALL)
def test_every_pattern_widens_exactly(small: Any, engine: str):
    x = np.arange(256, dtype=np.uint8).view(small)
    for to in (np.float32, np.float16, ml_dtypes.bfloat16, np.float64):
        with np.errstate(all="ignore"):
            assert same(converted(x, to, engine), x.astype(np.float32).astype(to)), to


@pytest.mark.parametrize("engine", ["cpu", "sim"])
@pytest.mark.parametrize("small", SMALL)
def test_every_number_of_16_bits_rounds_as_defined(small: Any, engine: str):
    for wide in (np.float16, ml_dtypes.bfloat16):
        x = np.arange(65536, dtype=np.uint16).view(wide)
        with np.errstate(all="ignore"):
            nearest = x.astype(np.float32).astype(small)
        assert same(converted(x, small, engine), nearest)
        assert same(converted(x, small, engine, "rtz"), converted(x, small, "interpreter", "rtz"))
