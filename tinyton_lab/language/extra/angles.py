"""Trigonometry of the device library: tangent, angles in half turns, inverse functions."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float32, float64
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.extra import coefficients as fits
from tinyton_lab.language.extra.arguments import narrowed, widened
from tinyton_lab.language.extra.pairs import (
    INF,
    NAN,
    Pair,
    absolute,
    as_bits,
    cast,
    fast_two_sum,
    fma,
    greater,
    lesser,
    nearest,
    negative,
    polynomial,
    quotient,
    root,
    two_product,
    value,
    where,
    with_sign,
)
from tinyton_lab.language.extra.spelled import ValueArithmetic
from tinyton_lab.ops import trigonometry

PI = 3.141592653589793, 1.2246467991473532e-16
HALF_PI = 1.5707963267948966, 6.123233995736766e-17


@builtin
def tan(x: Any) -> Any:
    """Tangent of an angle in radians."""
    dtype, wide = widened("tan", x)
    quarter, sine, cosine = _quarter_sine_cosine(wide, dtype is float64)
    odd = (quarter & 1) == 1
    above = Pair(where(odd, cosine.high, sine.high), where(odd, cosine.low, sine.low))
    below = Pair(where(odd, -sine.high, cosine.high), where(odd, -sine.low, cosine.low))
    result = value(quotient(above, below)) if dtype is float64 else above.high / below.high
    return narrowed(where(wide == 0.0, wide, result), dtype)


def _quarter_sine_cosine(x: Any, precise: bool) -> tuple[Any, Pair, Pair]:
    """The quarter turn an angle lies in, and sine and cosine of the rest; not `precise`, the angle is an f32."""
    a = ValueArithmetic()
    if precise:
        quarter, r, rest = trigonometry.quarter_and_rest(a, x)
    else:
        quarter, r, _ = trigonometry.narrow_remainder(a, cast(x, float32))
        rest = r * 0.0
    return quarter, *_of_small(r, rest)


def sine_and_cosine(x: Any, precise: bool) -> tuple[Any, Any]:
    """Sine and cosine of an f64; of one that is not `precise`, which holds an f32, with less work."""
    quarter, sine, cosine = _quarter_sine_cosine(x, precise)
    return _by_quarter(quarter, sine, cosine), _by_quarter(quarter + 1, sine, cosine)


def _of_small(r: Any, rest: Any) -> tuple[Pair, Pair]:
    """Sine and cosine of ``r + rest``, up to a quarter of pi, as pairs."""
    a = ValueArithmetic()
    return fast_two_sum(*trigonometry.small_sine(a, r, rest)), fast_two_sum(*trigonometry.small_cosine(a, r, rest))


@builtin
def sinpi(x: Any) -> Any:
    """Sine of `x` half turns: ``sin(pi x)``, exact where it is 0 or 1."""
    dtype, wide = widened("sinpi", x)
    quarter, sine, cosine = _half_turns(wide)
    result = _by_quarter(quarter, sine, cosine)
    return narrowed(where(result == 0.0, with_sign(absolute(result), wide), result), dtype)


@builtin
def cospi(x: Any) -> Any:
    """Cosine of `x` half turns: ``cos(pi x)``, exact where it is 0 or 1."""
    dtype, wide = widened("cospi", x)
    quarter, sine, cosine = _half_turns(wide)
    result = _by_quarter(quarter + 1, sine, cosine)
    return narrowed(where(result == 0.0, absolute(result), result), dtype)


def _half_turns(x: Any) -> tuple[Any, Pair, Pair]:
    quarter = nearest(x * 2.0)
    r = x - quarter * 0.5
    angle, lost = two_product(r, PI[0])
    whole = quarter - nearest(quarter * 0.25) * 4.0
    return as_bits(whole), *_of_small(angle, fma(r, PI[1], lost))


def _by_quarter(quarter: Any, sine: Pair, cosine: Pair) -> Any:
    size = where((quarter & 1) == 1, value(cosine), value(sine))
    return where((quarter & 2) == 2, -size, size)


def sine_of_half_turns(x: Any) -> Any:
    """``sin(pi x)`` of an f64."""
    return _by_quarter(*_half_turns(x))


# Inverse functions
@builtin
def atan(x: Any) -> Any:
    """Angle of a tangent, in radians."""
    dtype, wide = widened("atan", x)
    size = absolute(wide)
    steep = size > 1.0
    over = where(steep, 1.0, size)
    under = where(steep, where(size == INF, 1.0, size), 1.0)
    angle = _angle(where(size == INF, 0.0, over), under, dtype is float64)
    turned = _from(HALF_PI, angle, -1.0)
    return narrowed(where(wide != wide, wide, with_sign(where(steep, turned, value(angle)), wide)), dtype)


def _angle(over: Any, under: Any, precise: bool) -> Pair:
    """The angle whose tangent is a quotient from 0 to 1, as a pair."""
    tangent = over / under
    square = tangent * tangent
    curve = tangent * square * polynomial(square, fits.ATAN.of(precise))
    if precise:
        curve = curve + fma(-tangent, under, over) / under / (square + 1.0)
    return Pair(tangent, curve)


def _from(start: tuple[float, float], angle: Pair, sign: float) -> Any:
    """``start +- angle``."""
    high, lost = fast_two_sum(start[0], angle.high * sign)
    return high + (lost + start[1] + angle.low * sign)


@builtin
def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (`x`, `y`) from the positive x axis, in radians from -pi to pi."""
    dtype, (rise, run) = widened("atan2", y, x)
    tall, wide = absolute(rise), absolute(run)
    both = (tall == INF) & (wide == INF)
    tall, wide = where(both, 1.0, tall), where(both, 1.0, wide)
    steep = tall > wide
    under = greater(tall, wide)
    endless = under == INF
    over = where(endless, 0.0, lesser(tall, wide))
    angle = _angle(over, where(endless | (under == 0.0), 1.0, under), dtype is float64)
    back = negative(run)
    flat = where(back, _from(PI, angle, -1.0), value(angle))
    upright = where(back, _from(HALF_PI, angle, 1.0), _from(HALF_PI, angle, -1.0))
    result = with_sign(where(steep, upright, flat), rise)
    return narrowed(where((rise != rise) | (run != run), NAN, result), dtype)


@builtin
def asin(x: Any) -> Any:
    """Angle of a sine, in radians; NaN beyond 1."""
    dtype, wide = widened("asin", x)
    near, far = _arc(wide, dtype is float64)
    size = absolute(wide)
    result = where(size <= 0.5, value(near), _from(HALF_PI, far, -2.0))
    result = where(size > 1.0, NAN, with_sign(result, wide))
    return narrowed(where((wide == 0.0) | (wide != wide), wide, result), dtype)


@builtin
def acos(x: Any) -> Any:
    """Angle of a cosine, in radians from 0 to pi; NaN beyond 1."""
    dtype, wide = widened("acos", x)
    near, far = _arc(wide, dtype is float64)
    signed = where(wide < 0.0, -1.0, 1.0)
    high, lost = fast_two_sum(HALF_PI[0], -(near.high * signed))
    middle = high + (lost + (HALF_PI[1] - near.low * signed))
    outer = where(wide < 0.0, _from(PI, far, -2.0), value(far) * 2.0)
    size = absolute(wide)
    return narrowed(where(size <= 0.5, middle, where(size > 1.0, NAN, where(wide != wide, wide, outer))), dtype)


def _arc(x: Any, precise: bool) -> tuple[Pair, Pair]:
    """The arc sine of ``|x|`` where that is at most 1/2, and of ``sqrt((1 - |x|) / 2)``, as pairs."""
    size = absolute(x)
    square = size * size
    near = Pair(size, size * square * polynomial(square, fits.ASIN.of(precise)))
    half = (1.0 - size) * 0.5
    chord = root(half)
    lost = where(chord == 0.0, 0.0, fma(-chord, chord, half) / (chord + chord)) if precise else 0.0
    return near, Pair(chord, lost + chord * half * polynomial(half, fits.ASIN.of(precise)))
