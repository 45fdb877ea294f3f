"""Comparisons, select, minimum and maximum with NaN, infinities and both zeros; casts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def comparisons(x, y, flags, low, high, whole, half, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    bits = (a < b).to(tl.int32) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b)
    tl.store(flags + i, tl.where((a < b) and not (a == 0), bits, -bits))
    tl.store(low + i, tl.minimum(a, b))
    tl.store(high + i, tl.maximum(a, b))
    tl.store(whole + i, a.to(tl.int32))
    tl.store(half + i, b.to(tl.float16))


def cases() -> Iterator[Case]:
    specials = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 3e9, -3e9, 1e-40, 65520.0, 2.5], np.float32)
    x, y = (grid.reshape(-1)[:128].copy() for grid in np.meshgrid(specials, specials))
    with np.errstate(all="ignore"):
        tests = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
        bits = sum(test(x, y).astype(np.int32) << place for place, test in enumerate(tests))
        negative_first = np.where(np.signbit(x), x, y)
        lesser = np.where(x == y, negative_first, np.minimum(x, y))
        greater = np.where(x == y, np.where(np.signbit(x), y, x), np.maximum(x, y))
        low = np.where(np.isnan(x), y, np.where(np.isnan(y), x, lesser))
        high = np.where(np.isnan(x), y, np.where(np.isnan(y), x, greater))
        whole = np.where(np.isnan(x), 0, np.clip(np.trunc(x.astype(np.float64)), -(2.0**31), 2**31 - 1)).astype(
            np.int32
        )
        half = y.astype(np.float16)
    expected = {
        "flags": np.where((x < y) & ~(x == 0), bits, -bits).astype(np.int32), "low": low, "high": high,
        "whole": whole, "half": half,
    }  # fmt: skip
    arguments = {"x": x, "y": y, "N": 128} | {name: np.zeros(128, value.dtype) for name, value in expected.items()}
    yield Case("specials", comparisons, (1,), arguments, expected)
