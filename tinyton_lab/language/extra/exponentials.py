"""Powers and logarithms of the device library: computed in f64, for f64 arguments with the exponent or the logarithm
kept to twice that precision."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float64, int32, int64
from tinyton_lab.language import functions
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.extra import coefficients as fits
from tinyton_lab.language.extra.arguments import alike_in_shape, narrowed, widened
from tinyton_lab.language.extra.pairs import (
    INF,
    NAN,
    TINY,
    Pair,
    absolute,
    bitcast,
    cast,
    fast_two_sum,
    fma,
    nearest,
    negative,
    pair_times,
    polynomial,
    power_of_two,
    root,
    two_product,
    two_sum,
    value,
    where,
    with_sign,
)
from tinyton_lab.language.value import TileValue

LOG2_E = 1.4426950408889634
# ln 2 in two parts; products of the first, which is short, with exponents are exact.
LN2 = 0.693147180559663, 2.8235290563031577e-13
TWO_THIRDS = 0.6666666666666666, 3.700743415417188e-17
LN_2 = 0.6931471805599453, 2.3190468138462996e-17
LN_10 = 2.302585092994046, -2.1707562233822494e-16
LOG10_E = 0.4342944819032518, 1.098319650216765e-17
LOG10_2 = 0.3010299956639812
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
FURTHEST = 1400.0  # beyond, a power of e is 0 or inf


# Building blocks on f64
def reduced(x: Pair) -> tuple[Any, Pair]:
    """``k`` and ``r`` with ``x = k ln 2 + r``, for x up to some thousands."""
    k = nearest(x.high * LOG2_E)
    first = fma(k, -LN2[0], x.high)
    product, lost = two_product(k, LN2[1])
    r, rest = two_sum(first, -product)
    return k, two_sum(r, rest - lost + x.low)


def scaled(x: Any, k: Any) -> Any:
    """``x 2^k`` rounded once, also where the result is subnormal or infinite, for k up to 2040."""
    half = nearest(k * 0.5)
    return x * power_of_two(half) * power_of_two(k - half)


def power_of_e(x: Pair) -> Any:
    """e to the power of a pair, within 0.6 ulp."""
    high = where(x.high < -FURTHEST, -FURTHEST, where(x.high > FURTHEST, FURTHEST, x.high))
    low = where(absolute(x.high) > FURTHEST - 1.0, 0.0, x.low)
    k, r = reduced(Pair(high, low))
    curve = r.high * r.high * polynomial(r.high, fits.EXPM1.wide)
    total, lost = fast_two_sum(1.0, r.high)
    return scaled(total + (lost + (r.low + curve)), k)


def logarithm(x: Any, tail: Any = None) -> Pair:
    """The natural logarithm of ``x + tail`` as a pair; -inf for 0, NaN below."""
    small = x < TINY
    normal = where(small, x * 2.0**54, x)
    bits = bitcast(normal, int64)
    shift = (bits - ROOT_HALF_BITS) >> 52
    f = bitcast(bits - (shift << 52), float64) - 1.0
    exponent = cast(shift, float64) - where(small, 54.0, 0.0)
    s = _quotient_of(f)
    square, rest = two_product(s.high, s.high)
    rest = fma(s.high * 2.0, s.low, rest)
    first, lost = two_product(square, TWO_THIRDS[0])
    lost = fma(square, TWO_THIRDS[1], fma(rest, TWO_THIRDS[0], lost))
    curve, more = fast_two_sum(first, square * square * polynomial(square, fits.LOG.wide))
    cube, cube_rest = two_product(s.high, curve)
    cube_rest = cube_rest + fma(s.high, more + lost, s.low * curve)
    head, head_rest = fast_two_sum(exponent * LN2[0], s.high * 2.0)
    total, total_rest = fast_two_sum(head, cube)
    low = total_rest + head_rest + (fma(exponent, LN2[1], s.low * 2.0) + cube_rest)
    result = fast_two_sum(total, low if tail is None else low + tail / x)
    special = (x == 0.0) | (x == INF) | (x != x) | (x < 0.0)
    limit = where(x == 0.0, -INF, where(x < 0.0, NAN, x))
    return Pair(where(special, limit, result.high), where(special, 0.0, result.low))


def _quotient_of(f: Any) -> Pair:
    """``f / (2 + f)``."""
    below = f + 2.0
    lost = f - (below - 2.0)
    high = f / below
    return Pair(high, (fma(-high, below, f) - high * lost) / below)


def logarithm_of_one_plus(x: Any, tail: Any = 0.0) -> Pair:
    """``ln(1 + x + tail)`` as a pair."""
    near, lost = two_sum(x, 1.0)
    result = logarithm(near, where(absolute(near) == INF, 0.0, lost + tail))
    small = absolute(x) < 2.0**-60
    return Pair(where(small, x, result.high), where(small, 0.0, result.low))


def power_of_e_minus_one(x: Any) -> Pair:
    """``e^x - 1`` as a pair, for any x but infinity."""
    x = where(x < -60.0, -60.0, where(x > 710.0, 710.0, x))
    k, r = reduced(Pair(x, 0.0))
    curve = r.low + r.high * r.high * polynomial(r.high, fits.EXPM1.wide)
    # One power of two is put off, for that of infinity is none.
    half = power_of_two(where(k > 1023.0, k - 1.0, k))
    more = where(k > 1023.0, 2.0, 1.0)
    base, lost = two_sum(half, -1.0 / more)
    total, rest = two_sum(base, half * r.high)
    high, low = fast_two_sum(total, rest + lost + half * curve)
    return Pair(high * more, where(high * more == INF, 0.0, low * more))


# The functions
@builtin
def exp10(x: Any) -> Any:
    """10 to the power of a float; exact where the result is a whole number."""
    dtype, wide = widened("exp10", x)
    product, lost = two_product(wide, LN_10[0])
    power = power_of_e(Pair(product, fma(wide, LN_10[1], lost)))
    return narrowed(where(absolute(wide) == INF, where(wide < 0.0, 0.0, wide), power), dtype)


@builtin
def expm1(x: Any) -> Any:
    """``exp(x) - 1``, also of small `x`."""
    dtype, wide = widened("expm1", x)
    return narrowed(where((wide == 0.0) | (wide == INF), wide, value(power_of_e_minus_one(wide))), dtype)


@builtin
def log10(x: Any) -> Any:
    """Logarithm to base 10; exact for powers of 10."""
    dtype, wide = widened("log10", x)
    if dtype is not float64:
        binary: Any = functions.log2(wide)
        return narrowed(binary * LOG10_2, dtype)
    plain = logarithm(wide)
    result = value(_times(plain, LOG10_E))
    return where(absolute(plain.high) == INF, plain.high, result)


def _times(x: Pair, constant: tuple[float, float]) -> Pair:
    high, low = two_product(x.high, constant[0])
    return Pair(high, low + fma(x.high, constant[1], x.low * constant[0]))


@builtin
def log1p(x: Any) -> Any:
    """``log(1 + x)``, also of small `x`."""
    dtype, wide = widened("log1p", x)
    return narrowed(where(wide == 0.0, wide, _log1p(wide, dtype is float64)), dtype)


def _log1p(x: Any, precise: bool, tail: Any = 0.0) -> Any:
    if precise:
        return value(logarithm_of_one_plus(x, tail))
    near, lost = two_sum(x, 1.0)
    plain = plain_log(near)
    return where(absolute(plain) < INF, plain + (lost + tail) / near, plain)


@builtin
def pow(x: Any, y: Any) -> Any:
    """`x` to the power of `y`; a negative `x` needs a whole `y`, else the result is NaN."""
    dtype, (base, exponent) = _base_and_exponent(x, y)
    magnitude = absolute(base)
    if dtype is float64:
        size = _power(logarithm(magnitude), exponent)
    else:
        size = plain_exp(plain_log(magnitude) * exponent)
    size = where((exponent == 0.0) | (base == 1.0), 1.0, size)
    size = where((magnitude == 1.0) & (absolute(exponent) == INF), 1.0, size)
    half = exponent * 0.5
    whole = nearest(exponent) == exponent
    odd = whole & (nearest(half) != half) & (absolute(exponent) < INF)
    signed = where(odd & negative(base) & (size == size), with_sign(size, base), size)
    invalid = (base < 0.0) & (magnitude < INF) & (nearest(exponent) != exponent) & (exponent == exponent)
    return narrowed(where(invalid, NAN, signed), dtype)


def _power(x: Pair, exponent: Any) -> Any:
    product = pair_times(x, exponent)
    far = absolute(x.high * exponent) > 1.0e4
    return power_of_e(Pair(where(far, x.high * exponent, product.high), where(far, 0.0, product.low)))


def _base_and_exponent(x: Any, y: Any) -> tuple[Any, Any]:
    """A float and its exponent, which may be an int32."""
    if not isinstance(y, TileValue) or y.tile.is_pointer or y.element is not int32:
        return widened("pow", x, y)
    dtype, base = widened("pow", x)
    return dtype, alike_in_shape(base, cast(y, float64))


# Hyperbolic functions
@builtin
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    dtype, wide = widened("sinh", x)
    size = absolute(wide)
    half = _half_power(size)
    square = wide * wide
    small = fma(wide * square, polynomial(square, fits.SINH.of(dtype is float64)), wide)
    large = with_sign(half - 0.25 / half, wide)
    return narrowed(where(wide != wide, wide, where(size < 1.0, where(size == 0.0, wide, small), large)), dtype)


@builtin
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    dtype, wide = widened("cosh", x)
    half = _half_power(absolute(wide))
    return narrowed(half + 0.25 / half, dtype)


def _half_power(size: Any) -> Any:
    """``e^x / 2``, which is finite as long as the hyperbolic functions are."""
    high, low = two_sum(size, -LN_2[0])
    return where(size == INF, size, power_of_e(Pair(high, low - LN_2[1])))


@builtin
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine."""
    dtype, wide = widened("asinh", x)
    size = absolute(wide)
    far = size > 2.0**30
    near = where(far, 1.0, size)
    square = near * near
    grown, lost = fast_two_sum(near, square / (1.0 + root(square + 1.0)))
    result = where(far, _log(size, dtype is float64) + LN_2[0], _log1p(grown, dtype is float64, lost))
    return narrowed(where((size == 0.0) | (size == INF) | (wide != wide), wide, with_sign(result, wide)), dtype)


@builtin
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine; NaN below 1."""
    dtype, wide = widened("acosh", x)
    far = wide > 2.0**30
    above = where(far, 1.0, wide - 1.0)
    square, lost = two_product(above, above + 2.0)
    side = root(square)
    rest = where(above > 0.0, (fma(-side, side, square) + lost) / (side + side), 0.0)
    grown, more = two_sum(above, side)
    near = _log1p(grown, dtype is float64, more + rest)
    result = where(far, _log(wide, dtype is float64) + LN_2[0], near)
    return narrowed(where(wide < 1.0, NAN, result), dtype)


@builtin
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; infinite at 1, NaN beyond."""
    dtype, wide = widened("atanh", x)
    size = absolute(wide)
    if dtype is float64:
        above, below = logarithm_of_one_plus(size), logarithm_of_one_plus(-size)
        result = 0.5 * ((above.high - below.high) + (above.low - below.low))
        result = where(size == 1.0, INF, result)
    else:
        result = 0.5 * _log1p(2.0 * size / (1.0 - size), False)
    result = where(size > 1.0, NAN, with_sign(result, wide))
    return narrowed(where((size < 2.0**-30) | (wide != wide), wide, result), dtype)


def _log(x: Any, precise: bool) -> Any:
    return value(logarithm(x)) if precise else plain_log(x)


def plain_log(x: Any) -> Any:
    """The logarithm within 2 ulp."""
    return functions.log(x)


def plain_exp(x: Any) -> Any:
    """The exponential within 2 ulp."""
    return functions.exp(x)
