"""Exactly rounded float arithmetic that numpy lacks, on arrays of any float dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def fma(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z`` rounded once, in the dtype of `x` (f16, bf16, f32 or f64).

    >>> float(fma(np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(-1 - 2**-11)))
    5.960464477539063e-08
    """
    x, y, z = np.asarray(x), np.asarray(y), np.asarray(z)
    with np.errstate(all="ignore"):
        if x.dtype == np.float64:
            return _fma64(x, y, z)
        wide = x.astype(np.float64) * y.astype(np.float64)  # exact: at most 48 significant bits
        if x.dtype == np.float32:
            return _sum_as_float32(wide, z.astype(np.float64))
        return _add_to_odd(wide, z.astype(np.float64)).astype(x.dtype)


def _sum_as_float32(a: Any, b: Any) -> Any:
    """``a + b`` of doubles as f32, rounded once.

    Rounding to f64 first matters only where that lands halfway between two f32, or near their subnormals.
    """
    total = np.atleast_1d(a + b)
    result = total.astype(np.float32)
    halfway = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    unsure = halfway | ((np.abs(total) < 2.0**-125) & (total != 0))
    if unsure.any():
        a, b = np.broadcast_to(a, total.shape), np.broadcast_to(b, total.shape)
        result[unsure] = _add_to_odd(a[unsure], b[unsure]).astype(np.float32)
    return result.reshape(()) if np.ndim(a) == np.ndim(b) == 0 else result


def narrowed(x: Any, dtype: Any) -> Any:
    """Doubles in a narrower numpy float dtype, rounded once; what is too large becomes infinite, without a warning.

    >>> float(narrowed(1e5, np.dtype(np.float16)))
    inf
    """
    with np.errstate(all="ignore"):
        if dtype.itemsize <= 2:  # such types convert through f32
            return to_odd_float32(x).astype(dtype)
        return np.asarray(x, np.float64).astype(dtype)


def to_odd_float32(x: Any) -> Any:
    """f64 to f32 with inexact results made odd, so that rounding the result once more is exact.

    >>> float(to_odd_float32(np.float64(1 + 2**-30))) > 1
    True
    """
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        near = np.atleast_1d(x.astype(np.float32))
    back = near.astype(np.float64).reshape(x.shape)
    bits = near.view(np.uint32).reshape(x.shape)
    outward = (np.abs(back) > np.abs(x)).astype(np.uint32)
    inexact = ((back != x) & ~np.isnan(x)).astype(np.uint32)
    return np.atleast_1d((bits - outward) | inexact).view(np.float32).reshape(x.shape)


def _add_to_odd(a: Any, b: Any) -> Any:
    """``a + b`` in f64 rounded to odd, so that rounding once more to a narrower type is exact."""
    total = a + b
    low = _two_sum_error(a, b, total)
    bits = np.atleast_1d(total).view(np.int64)
    inexact = (low != 0) & np.isfinite(total) & (bits.reshape(np.shape(total)) & 1 == 0)
    toward = np.where((low > 0) == (total > 0), 1, -1)
    adjusted = np.atleast_1d(np.where(inexact, bits.reshape(np.shape(total)) + toward, bits.reshape(np.shape(total))))
    return adjusted.view(np.float64).reshape(np.shape(total))


def _two_sum_error(a: Any, b: Any, total: Any) -> Any:
    """What ``a + b`` lost by rounding to `total` (Knuth)."""
    back = total - a
    return (a - (total - back)) + (b - back)


def _fma64(x: Any, y: Any, z: Any) -> Any:
    """Fused multiply-add of doubles by error-free transforms and one sum rounded to odd (Boldo and Melquiond).

    Where a step of it could overflow or lose bits below the subnormals, rationals take its place.
    """
    spread: Any = np.broadcast_arrays(x, y, z)
    x, y, z = spread
    high = x * y
    low = _product_error(x, y, high)
    upper = z + low
    upper_error = _two_sum_error(z, low, upper)
    value = high + upper
    value_error = _two_sum_error(high, upper, value)
    exact = value + _add_to_odd(upper_error, value_error)
    size, addend = np.abs(high), np.abs(z)
    safe = (size > 2.0**-960) & (np.maximum(size, addend) < 2.0**1000) & (np.maximum(np.abs(x), np.abs(y)) < 2.0**990)
    factors_finite = np.isfinite(x) & np.isfinite(y)
    where: Any = np.where  # numpy's own types for it are partly unknown
    result: Any = where(safe, exact, where(factors_finite & ~np.isfinite(z), z, high + z))
    rounded_once = (x == 0) | (y == 0) | ((size <= 2.0**-960) & (addend > 2.0**-900))
    for at in np.argwhere(~safe & ~rounded_once & factors_finite & np.isfinite(z)):
        result[tuple(at)] = _fma_of_rationals(*(float(value[tuple(at)]) for value in (x, y, z)))
    return result


def _fma_of_rationals(x: float, y: float, z: float) -> float:
    from fractions import Fraction  # takes time to load, and is seldom needed

    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _product_error(x: Any, y: Any, product: Any) -> Any:
    """What ``x * y`` lost by rounding (Dekker, with Veltkamp's split)."""
    x_high, x_low = _split(x)
    y_high, y_low = _split(y)
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _split(x: Any) -> tuple[Any, Any]:
    scaled = x * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - x)
    return high, x - high
