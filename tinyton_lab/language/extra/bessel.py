"""Bessel functions of the device library, of order 0 and 1, by polynomials.

Near their zeros the error is that of a number of size 1, not of the small result.
"""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float64
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.extra import coefficients as fits
from tinyton_lab.language.extra.angles import sine_and_cosine
from tinyton_lab.language.extra.arguments import narrowed, widened
from tinyton_lab.language.extra.exponentials import plain_exp, plain_log, power_of_e
from tinyton_lab.language.extra.pairs import (
    INF,
    NAN,
    Pair,
    absolute,
    lesser,
    polynomial,
    root,
    where,
    with_sign,
)

TWO_OVER_PI = 0.6366197723675814
ROOT_OF_ONE_OVER_PI = 0.5641895835477563
# The first two zeros of J0 and J1, in two parts.
ZEROS_0 = (2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17)
ZEROS_1 = (3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17)


@builtin
def j0(x: Any) -> Any:
    """Bessel function of the first kind, order 0."""
    dtype, wide = widened("j0", x)
    return narrowed(first_kind_of(absolute(wide), 0, dtype is float64), dtype)


@builtin
def j1(x: Any) -> Any:
    """Bessel function of the first kind, order 1."""
    dtype, wide = widened("j1", x)
    size = first_kind_of(absolute(wide), 1, dtype is float64)
    return narrowed(where(wide < 0.0, -size, where(wide == 0.0, wide, size)), dtype)


@builtin
def y0(x: Any) -> Any:
    """Bessel function of the second kind, order 0; NaN below 0."""
    dtype, wide = widened("y0", x)
    return narrowed(second_kind_of(wide, 0, dtype is float64), dtype)


@builtin
def y1(x: Any) -> Any:
    """Bessel function of the second kind, order 1; NaN below 0."""
    dtype, wide = widened("y1", x)
    return narrowed(second_kind_of(wide, 1, dtype is float64), dtype)


def first_kind_of(x: Any, order: int, precise: bool) -> Any:
    """J of a number that is not negative."""
    inside = lesser(x, 8.0)
    value = where(x < 8.0, _near(inside, order, precise), _far(x, order, precise)[0])
    return where(x == INF, 0.0, where(x != x, x, value))


def _near(x: Any, order: int, precise: bool) -> Any:
    """J up to 8: the factors of two zeros, times a polynomial."""
    fit, zeros = ((fits.J0, ZEROS_0), (fits.J1, ZEROS_1))[order]
    value = polynomial(_place(x), fit.of(precise))
    for high, low in zeros:
        value = value * ((x - high) - low) * (x + high)
    return value * x if order else value


def _place(x: Any) -> Any:
    return x * x * (1.0 / 32.0) - 1.0


def _far(x: Any, order: int, precise: bool) -> tuple[Any, Any]:
    """J and Y from 8 on, by Hankel's functions P and Q of the angle."""
    size = where(x < 8.0, 8.0, where(x == INF, 8.0, x))
    inverse = 1.0 / size
    square = inverse * inverse
    p_fit, q_fit = ((fits.P0, fits.Q0), (fits.P1, fits.Q1))[order]
    p = polynomial(square, p_fit.of(precise))
    q = inverse * polynomial(square, q_fit.of(precise))
    sine, cosine = sine_and_cosine(size, precise)
    # sin and cos of x less a quarter or three quarters of pi, times the root of 2.
    a, b = (cosine + sine, sine - cosine) if not order else (sine - cosine, -(sine + cosine))
    scale = ROOT_OF_ONE_OVER_PI / root(size)
    return scale * (p * a - q * b), scale * (p * b + q * a)


def second_kind_of(x: Any, order: int, precise: bool) -> Any:
    inside = where((x > 0.0) & (x < 8.0), x, 8.0)
    logarithm = plain_log(inside)
    first = _near(inside, order, precise)
    rest = polynomial(_place(inside), (fits.Y1 if order else fits.Y0).of(precise))
    if order:
        near = rest * inside + TWO_OVER_PI * (logarithm * first - 1.0 / inside)
    else:
        near = rest + TWO_OVER_PI * logarithm * first
    value = where(x < 8.0, near, _far(x, order, precise)[1])
    value = where(x == INF, 0.0, where(x == 0.0, -INF, value))
    return where(x < 0.0, NAN, where(x != x, x, value))


# Modified functions
@builtin
def cyl_bessel_i0(x: Any) -> Any:
    """Modified Bessel function of the first kind, order 0."""
    dtype, wide = widened("cyl_bessel_i0", x)
    return narrowed(_modified(absolute(wide), 0, dtype is float64), dtype)


@builtin
def cyl_bessel_i1(x: Any) -> Any:
    """Modified Bessel function of the first kind, order 1."""
    dtype, wide = widened("cyl_bessel_i1", x)
    size = _modified(absolute(wide), 1, dtype is float64)
    return narrowed(with_sign(size, wide), dtype)


def _modified(x: Any, order: int, precise: bool) -> Any:
    inside = lesser(x, 8.0)
    near = polynomial(inside * inside, (fits.I1 if order else fits.I0).of(precise))
    near = near * inside if order else near
    size = where(x < 8.0, 8.0, lesser(x, 800.0))
    curve = polynomial(16.0 / size - 1.0, (fits.I1_FAR if order else fits.I0_FAR).of(precise))
    # In two factors: e^x is beyond all numbers where the function is not yet.
    half = power_of_e(Pair(size * 0.5, size * 0.0)) if precise else plain_exp(size * 0.5)
    far = half * (curve / root(size)) * half
    return where(x < 8.0, near, where(x != x, x, where(x == INF, INF, far)))
