"""Arithmetic of f64 values and of unevaluated sums of two of them, by error-free transforms. Knows no function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tinyton_lab.base.dtypes import DType, float64, int64
from tinyton_lab.language import core, semantic
from tinyton_lab.language.emission import constant_tile
from tinyton_lab.language.semantic import float_function
from tinyton_lab.ops import OPS

INF, NAN = float("inf"), float("nan")
TINY = 2.0**-1022  # the least normal number
SHIFTER = 1.5 * 2.0**52  # added to a small number, it leaves the nearest integer in the lowest bits
EXPONENT_BIAS = 1023


class Pair(NamedTuple):
    """The unevaluated sum of two f64: `low` is at most half an ulp of `high`."""

    high: Any
    low: Any


# Kernel functions under types that have operators.
def where(condition: Any, x: Any, y: Any) -> Any:
    return semantic.where(condition, x, y)


def fma(x: Any, y: Any, z: Any) -> Any:
    return core.fma(x, y, z)


def absolute(x: Any) -> Any:
    return core.abs(x)


def root(x: Any) -> Any:
    """The square root, correctly rounded."""
    return core.sqrt_rn(x)


def greater(x: Any, y: Any) -> Any:
    return core.maximum(x, y)


def lesser(x: Any, y: Any) -> Any:
    return core.minimum(x, y)


def cast(x: Any, dtype: DType) -> Any:
    return semantic.cast(x, dtype)


def bitcast(x: Any, dtype: DType) -> Any:
    return semantic.cast(x, dtype, bitcast=True)


def nearest(x: Any) -> Any:
    """The nearest whole number, ties to the even one."""
    return float_function(OPS["round_even"], x)


def truncated(x: Any) -> Any:
    return float_function(OPS["trunc"], x)


def negative(x: Any) -> Any:
    """Whether the sign bit of an f64 is set."""
    return bitcast(x, int64) < 0


def with_sign(size: Any, x: Any) -> Any:
    """A number that is not negative, with the sign of `x`."""
    sign = bitcast(x, int64) & -(2**63)
    return bitcast(bitcast(size, int64) | sign, float64)


# Sums and products with what rounding lost
def two_sum(x: Any, y: Any) -> Pair:
    total = x + y
    back = total - x
    return Pair(total, (x - (total - back)) + (y - back))


def fast_two_sum(x: Any, y: Any) -> Pair:
    """`x` is 0 or not smaller than `y`."""
    total = x + y
    return Pair(total, y - (total - x))


def two_product(x: Any, y: Any) -> Pair:
    product = fma(x, y, -0.0)  # a multiplication that no compiler joins with the addition after it
    return Pair(product, fma(x, y, -product))


def pair_product(x: Pair, y: Pair) -> Pair:
    high, low = two_product(x.high, y.high)
    return fast_two_sum(high, low + fma(x.high, y.low, x.low * y.high))


def pair_times(x: Pair, y: Any) -> Pair:
    high, low = two_product(x.high, y)
    return fast_two_sum(high, fma(x.low, y, low))


def pair_sum(x: Pair, y: Pair) -> Pair:
    high, low = two_sum(x.high, y.high)
    return fast_two_sum(high, low + (x.low + y.low))


def quotient(x: Pair, y: Pair) -> Pair:
    high = x.high / y.high
    rest = fma(-high, y.high, x.high) + fma(-high, y.low, x.low)
    return Pair(high, rest / y.high)


def value(x: Pair) -> Any:
    """One f64, rounded."""
    return x.high + x.low


# Polynomials and powers of two
def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """``c0 + c1 x + c2 x^2 ...`` by Horner's rule, one fused step each."""
    *rest, last = coefficients
    total: Any = filled(last, x)
    for coefficient in reversed(rest):
        total = fma(total, x, coefficient)
    return total


def filled(constant: float, like: Any) -> Any:
    """An f64 constant in every element of a shape."""
    return constant_tile(constant, like.tile.with_element(float64))


def power_of_two(whole: Any) -> Any:
    """``2^n`` of an f64 that holds a whole number from -1022 to 1023."""
    return bitcast(bitcast(whole + (SHIFTER + EXPONENT_BIAS), int64) << 52, float64)


def as_bits(whole: Any) -> Any:
    """A small whole number that an f64 holds, in the lowest bits of an i64."""
    return bitcast(whole + SHIFTER, int64)


def exponent_of(x: Any) -> Any:
    """The exponent of a normal f64's absolute value as a whole number in f64."""
    return cast(((bitcast(x, int64) >> 52) & 2047) - EXPONENT_BIAS, float64)
