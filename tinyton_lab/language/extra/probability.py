"""Error functions and the normal distribution of the device library, and their inverses."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float64
from tinyton_lab.language import functions
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.extra import coefficients as fits
from tinyton_lab.language.extra.arguments import narrowed, widened
from tinyton_lab.language.extra.exponentials import logarithm, logarithm_of_one_plus, plain_exp, plain_log, power_of_e
from tinyton_lab.language.extra.pairs import (
    INF,
    NAN,
    Pair,
    absolute,
    fma,
    greater,
    lesser,
    polynomial,
    root,
    two_product,
    two_sum,
    value,
    where,
    with_sign,
)

ROOT_HALF = 0.7071067811865476, -4.833646656726457e-17
ROOT_2 = 1.4142135623730951


@builtin
def erfc(x: Any) -> Any:
    """``1 - erf(x)``, exact to some ulp also where that is nearly 0."""
    dtype, wide = widened("erfc", x)
    return narrowed(complement(Pair(wide, wide * 0.0), dtype is float64), dtype)


def complement(x: Pair, precise: bool) -> Any:
    """``erfc`` of a pair."""
    size = lesser(absolute(x.high), 40.0)
    low = where(x.high < 0.0, -x.low, x.low)
    low = where(absolute(x.high) < 40.0, low, 0.0)
    square, lost = two_product(size, size)
    lost = fma(size * 2.0, low, lost)
    power = power_of_e(Pair(-square, -lost)) if precise else plain_exp(-square - lost)
    tail = power * _scaled(size, precise)
    error: Any = functions.erf(x.high)
    near = absolute(x.high) < 0.5
    result = where(near, 1.0 - error, where(x.high < 0.0, 2.0 - tail, tail))
    return where(x.high != x.high, x.high, result)


def _scaled(size: Any, precise: bool) -> Any:
    """``e^(x^2) erfc(x)`` for x from 0."""
    place = (size - 4.0) / (size + 4.0)
    return polynomial(place, fits.ERFCX.of(precise)) * 0.5 / (size + 0.5)


@builtin
def erfcx(x: Any) -> Any:
    """``exp(x * x) * erfc(x)``, which falls slowly."""
    dtype, wide = widened("erfcx", x)
    precise = dtype is float64
    size = absolute(wide)
    scaled = _scaled(size, precise)
    inside = lesser(size, 30.0)
    square, lost = two_product(inside, inside)
    power = power_of_e(Pair(square, lost)) if precise else plain_exp(square)
    result = where(wide < 0.0, 2.0 * power - scaled, scaled)
    result = where(absolute(wide) == INF, where(wide < 0.0, size, 0.0), result)
    return narrowed(where(wide != wide, wide, result), dtype)


@builtin
def normcdf(x: Any) -> Any:
    """Probability that a normally distributed number is below `x`."""
    dtype, wide = widened("normcdf", x)
    turned = lesser(greater(-wide, -60.0), 60.0)
    high, low = two_product(turned, ROOT_HALF[0])
    result = 0.5 * complement(Pair(high, fma(turned, ROOT_HALF[1], low)), dtype is float64)
    return narrowed(where(wide != wide, wide, result), dtype)


# Inverses
@builtin
def erfinv(x: Any) -> Any:
    """The number whose `erf` is `x`; infinite at 1, NaN beyond."""
    dtype, wide = widened("erfinv", x)
    precise = dtype is float64
    size = absolute(wide)
    depth = _depth(size, 1.0 - size, precise)
    result = with_sign(_inverse(size, depth, precise), wide)
    return narrowed(where((wide == 0.0) | (wide != wide), wide, where(size > 1.0, NAN, result)), dtype)


@builtin
def erfcinv(x: Any) -> Any:
    """The number whose `erfc` is `x`, which lies between 0 and 2."""
    dtype, wide = widened("erfcinv", x)
    return narrowed(_complement_inverse(wide, dtype is float64), dtype)


@builtin
def normcdfinv(x: Any) -> Any:
    """The number below which a normally distributed one is with probability `x`."""
    dtype, wide = widened("normcdfinv", x)
    return narrowed(-ROOT_2 * _complement_inverse(wide * 2.0, dtype is float64), dtype)


def _complement_inverse(x: Any, precise: bool) -> Any:
    size = absolute(1.0 - x)
    rest = lesser(x, 2.0 - x)
    result = _inverse(size, _depth(size, rest, precise), precise)
    result = where(x > 1.0, -result, result)
    return where((x < 0.0) | (x > 2.0) | (x != x), NAN, result)


def _depth(size: Any, rest: Any, precise: bool) -> Any:
    """``-ln(1 - x^2)`` of ``x = 1 - rest``."""
    square, lost = two_product(size, size)
    if precise:
        near = value(logarithm_of_one_plus(-square, -lost))
        far = value(logarithm(rest * (2.0 - rest)))
    else:
        factors = where(size < 0.5, (1.0 - size) * (1.0 + size), rest * (2.0 - rest))
        head, more = two_sum(1.0, -square)
        return -where(size < 0.5, plain_log(head) + more / head, plain_log(factors))
    return -where(size < 0.5, near, far)


def _inverse(size: Any, depth: Any, precise: bool) -> Any:
    """``erfinv`` of a number from 0 to 1 by its depth; infinite at 1."""
    near = size * polynomial(depth * (1.0 / 3.0) - 1.0, fits.CENTRAL.of(precise))
    s = root(depth)
    first = polynomial((s - 3.3) / 0.9, fits.TAIL1.of(precise))
    second = polynomial((s - 6.0) / 1.8, fits.TAIL2.of(precise))
    third = polynomial((s - 17.8) / 10.0, fits.TAIL3.of(precise))
    result = where(s < 4.2, first, where(s < 7.8, second, third))
    return where(depth < 6.0, near, where(depth == INF, INF, result))
