"""Fused multiply-add is rounded once: compared with exact rationals, near cancellation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tinyton_lab.base.dtypes import bfloat16, float16
from tinyton_lab.base.floats import fma, narrowed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma_is_the_nearest_float(dtype: type[np.floating]) -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(2000) * np.exp2(rng.integers(-20, 20, 2000))).astype(dtype)
    y = rng.standard_normal(2000).astype(dtype)
    z = (-x * y * (1 + rng.integers(-2, 3, 2000) * np.finfo(dtype).eps)).astype(dtype)
    for a, b, c, got in zip(x, y, z, fma(x, y, z), strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        error = abs(Fraction(float(got)) - exact)
        for neighbour in (np.nextafter(got, dtype(-np.inf)), np.nextafter(got, dtype(np.inf))):
            assert error <= abs(Fraction(float(neighbour)) - exact)


def test_fma_rounds_once_where_doubles_land_halfway() -> None:
    x = np.float32(1 + 2**-12)
    y = np.array([1 + 2**-12, 1 - 2**-12], np.float32)  # products with a bit just above the middle of two f32
    for z in (np.float32(2**-60), np.float32(-(2**-60)), np.float32(0)):
        for got, factor in zip(fma(x, y, z), y, strict=True):
            exact = Fraction(float(x)) * Fraction(float(factor)) + Fraction(float(z))
            steps = [np.nextafter(got, np.float32(side)) for side in (0, 9)]
            assert all(abs(Fraction(float(got)) - exact) <= abs(Fraction(float(step)) - exact) for step in steps)
    tiny = np.float32(2**-75)
    assert fma(tiny, tiny, np.float32(2**-149)) == np.float32(2**-148) and fma(tiny, tiny, tiny).shape == ()


def test_fma_of_specials() -> None:
    inf = np.float64(np.inf)
    assert fma(inf, np.float64(1), np.float64(1)) == inf
    assert np.isnan(fma(inf, np.float64(0), np.float64(1)))
    assert fma(np.float64(2), np.float64(3), -inf) == -inf


def test_fma_of_doubles_near_both_ends_of_their_range() -> None:
    rng = np.random.default_rng(1)
    x, y, z = (np.ldexp(rng.uniform(-2, 2, 3000), rng.integers(low, high, 3000)) for low, high in _EXPONENTS)
    z[::2] = (-x * y)[::2]
    for a, b, c, got in zip(x.tolist(), y.tolist(), z.tolist(), fma(x, y, z).tolist(), strict=True):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        try:
            assert got == exact.numerator / exact.denominator
        except OverflowError:
            assert got == (np.inf if exact > 0 else -np.inf)
    large = np.float64(1e300)
    assert fma(large, large, np.float64(-np.inf)) == -np.inf and fma(large, -large, np.float64(np.inf)) == np.inf


_EXPONENTS = ((-600, 500), (-450, 520), (-1060, 1020))


def test_narrowed_rounds_once_and_says_nothing_of_overflow() -> None:
    halfway = 1 + 2.0**-8 + 2.0**-40  # just above the middle of two bf16; in f32 it is the middle
    assert float(narrowed(halfway, bfloat16.numpy)) == 1 + 2.0**-7
    with np.errstate(all="raise"):
        assert narrowed([1e5, -1e300], float16.numpy).tolist() == [np.inf, -np.inf]
