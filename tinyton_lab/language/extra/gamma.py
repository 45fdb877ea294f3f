"""The gamma function of the device library and the logarithm of its absolute value."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float64
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.extra import coefficients as fits
from tinyton_lab.language.extra.angles import PI, sine_of_half_turns
from tinyton_lab.language.extra.arguments import narrowed, widened
from tinyton_lab.language.extra.exponentials import logarithm, plain_exp, plain_log, power_of_e
from tinyton_lab.language.extra.pairs import (
    INF,
    NAN,
    Pair,
    absolute,
    fast_two_sum,
    fma,
    lesser,
    nearest,
    pair_times,
    polynomial,
    truncated,
    two_product,
    two_sum,
    value,
    where,
)

STEPS = 10
FAR = 10.5  # from here on Stirling's series
HALF_LOG_2_PI = 0.9189385332046728, -3.8782941580672414e-17


def _log(x: Any, precise: bool) -> Pair:
    return logarithm(x) if precise else Pair(plain_log(x), 0.0)


@builtin
def tgamma(x: Any) -> Any:
    """The gamma function; NaN at negative whole numbers."""
    dtype, wide = widened("tgamma", x)
    precise = dtype is float64
    size = lesser(absolute(wide), 200.0)
    near = _near(size, precise)
    large = _stirling(size, precise)
    # In two factors, for the inverse of one beyond all numbers may be a number.
    half = power_of_e(Pair(large.high * 0.5, large.low * 0.5)) if precise else plain_exp(value(large) * 0.5)
    below = -PI[0] / (size * sine_of_half_turns(size))
    mirrored = where(size < FAR, below / near, below / half / half)
    result = where(wide < 0.0, mirrored, where(size < FAR, near, half * half))
    small = absolute(wide) < 2.0**-60
    result = where(small, 1.0 / wide, where(wide > 180.0, INF, result))
    hole = (wide < 0.0) & (truncated(wide) == wide)
    far_below = (wide < -190.0) & (hole == 0)
    result = where(far_below, 0.0 * size, where(hole, NAN, result))
    return narrowed(where(wide != wide, wide, result), dtype)


def _near(x: Any, precise: bool) -> Any:
    """The gamma function from 0 to `FAR`: that of a number near 1, times those between."""
    whole = nearest(x) - 1.0
    r = (x - 1.0) - whole
    low = where(whole < 0.0, x, r)
    product, lost = low * 0.0 + 1.0, low * 0.0
    for step in range(1, STEPS):
        factor = where(whole >= float(step), x - float(step), 1.0)
        if precise:
            product, lost = pair_times(Pair(product, lost), factor)
        else:
            product = product * factor
    result = (product + lost) / polynomial(low, fits.RGAMMA.of(precise))
    return where(whole < 0.0, result / x, result)


def _stirling(x: Any, precise: bool) -> Pair:
    """The logarithm of the gamma function from `FAR` on."""
    size = where(x < 8.0, 8.0, x)
    logarithm_of = _log(size, precise)
    high, low = two_product(logarithm_of.high, size - 0.5)
    low = fma(logarithm_of.low, size - 0.5, low)
    total, rest = two_sum(high, -size)
    inverse = 1.0 / size
    curve = inverse * polynomial(inverse * inverse, fits.STIRLING.of(precise))
    total, more = fast_two_sum(total, HALF_LOG_2_PI[0])
    return Pair(total, more + (rest + low + (HALF_LOG_2_PI[1] + curve)))


@builtin
def lgamma(x: Any) -> Any:
    """Logarithm of the gamma function's absolute value; infinite at 0 and at negative whole numbers."""
    dtype, wide = widened("lgamma", x)
    precise = dtype is float64
    size = absolute(wide)
    far = size > 2.0**100
    inside = where(far, 16.0, size)
    positive = _positive(inside, precise)
    large = value(_stirling(inside, precise))
    result = where(far, size * (plain_log(size) - 1.0), where(size < FAR, positive, large))
    # gamma(x) gamma(-x) = -pi / (x sin(pi x))
    sine = absolute(sine_of_half_turns(inside))
    mirrored = plain_log(PI[0] / (inside * sine)) - result
    mirrored = where(size < 2.0**-60, result, mirrored)
    hole = (wide <= 0.0) & (truncated(wide) == wide)
    result = where(hole | (size == INF), INF, where(wide < 0.0, mirrored, result)) + 0.0  # no -0 at 1
    return narrowed(where(wide != wide, wide, result), dtype)


def _positive(x: Any, precise: bool) -> Any:
    """The logarithm of the gamma function from 0 to `FAR`."""
    around_one = x < 1.5
    first = where(x < 0.5, x, x - 1.0)
    near = first * polynomial(first, fits.LGAMMA1.of(precise))
    low = where(x < 0.5, 1.0, x)
    whole = nearest(low) - 2.0
    second = (low - 2.0) - where(whole < 0.0, 0.0, whole)
    product = low * 0.0 + 1.0
    for step in range(1, STEPS):
        product = product * where(whole >= float(step), low - float(step), 1.0)
    raised = where(x < 0.5, x, product)
    grown = plain_log(raised)
    upper = second * polynomial(second, fits.LGAMMA2.of(precise)) + grown
    return where(around_one, where(x < 0.5, near - grown, near), upper)
