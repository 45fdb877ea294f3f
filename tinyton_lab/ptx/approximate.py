"""The functions PTX calls approximate, as f64 polynomials of plain sums and products: any arithmetic gives one result.

They are far more precise than the f32 that results are rounded to (below 2**-27), and exact where people look: powers
of two, zeros, infinities, NaN. Sines of huge arguments are as poor as hardware's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
_ROUND = 6755399441055744.0
_EXP2 = [math.log(2) ** k / math.factorial(k) for k in range(8)]
_LOG2 = [2 / math.log(2) / (2 * k + 1) for k in range(6)]
_SIN = [(-1) ** k / math.factorial(2 * k + 1) for k in range(6)]
_COS = [(-1) ** k / math.factorial(2 * k) for k in range(7)]
# pi / 2 in three parts of few bits, so that small multiples of the first two are exact.
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)


class Numpy:
    """The operations on numpy arrays."""

    def number(self, value: float) -> Any:
        return np.float64(value)

    def whole(self, value: int) -> Any:
        return np.uint64(value)

    def add(self, x: Array, y: Array) -> Array:
        return x + y

    def subtract(self, x: Array, y: Array) -> Array:
        return x - y

    def multiply(self, x: Array, y: Array) -> Array:
        return x * y

    def divide(self, x: Array, y: Array) -> Array:
        return x / y

    def floor(self, x: Array) -> Array:
        return np.floor(x)

    def absolute(self, x: Array) -> Array:
        return np.abs(x)

    def less(self, x: Array, y: Array) -> Array:
        return x < y

    def equal(self, x: Array, y: Array) -> Array:
        return x == y

    def select(self, condition: Array, x: Array, y: Array) -> Array:
        return np.where(condition, x, y)

    def bits(self, x: Array) -> Array:
        return np.asarray(x).view(np.uint64)

    def value(self, bits: Array) -> Array:
        return np.asarray(bits).view(np.float64)

    def integer(self, op: str, x: Array, y: Array) -> Array:
        return _INTEGER[op](x, y)


_INTEGER: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "shl": np.left_shift,
    "lshr": np.right_shift,
}


def _polynomial(m: Any, x: Array, coefficients: list[float]) -> Array:
    """Horner's scheme; the first coefficient is the constant one."""
    total = m.number(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = m.add(m.multiply(total, x), m.number(coefficient))
    return total


def exp2(m: Any, x: Array) -> Array:
    """2 to the power x, for results in the range of f32 (0 and infinity beyond)."""
    x = m.select(m.less(m.number(300.0), x), m.number(300.0), x)
    x = m.select(m.less(x, m.number(-300.0)), m.number(-300.0), x)
    shifted = m.add(x, m.number(_ROUND))
    rest = m.subtract(x, m.subtract(shifted, m.number(_ROUND)))
    power = m.value(m.integer("shl", m.integer("add", m.bits(shifted), m.whole(1023)), m.whole(52)))
    return m.multiply(_polynomial(m, rest, _EXP2), power)


def log2(m: Any, x: Array) -> Array:
    """The binary logarithm of an f32 value."""
    bits = m.bits(x)
    exponent = m.integer("or", m.integer("lshr", bits, m.whole(52)), m.whole(0x4330000000000000))
    exponent = m.subtract(m.value(exponent), m.number(4503599627370496.0 + 1023.0))
    one = m.number(1.0)
    mantissa = m.integer("and", bits, m.whole(0xFFFFFFFFFFFFF))
    mantissa = m.value(m.integer("or", mantissa, m.whole(0x3FF0000000000000)))
    large = m.less(m.number(math.sqrt(2)), mantissa)
    mantissa = m.select(large, m.multiply(mantissa, m.number(0.5)), mantissa)
    exponent = m.select(large, m.add(exponent, one), exponent)
    t = m.divide(m.subtract(mantissa, one), m.add(mantissa, one))
    result = m.add(exponent, m.multiply(t, _polynomial(m, m.multiply(t, t), _LOG2)))
    infinity = m.number(math.inf)
    result = m.select(m.equal(x, m.number(0.0)), m.number(-math.inf), result)
    result = m.select(m.equal(x, infinity), infinity, result)
    # Also NaN itself: it is neither negative, zero nor positive.
    return m.select(m.less(x, m.number(0.0)), m.number(math.nan), m.select(m.equal(x, x), result, x))


def _quarters(m: Any, x: Array, first: float) -> Array:
    """sin(x + first quarter turns)."""
    turns = m.floor(m.add(m.multiply(x, m.number(2 / math.pi)), m.number(0.5)))
    rest = x
    for part in _HALF_PI:
        rest = m.subtract(rest, m.multiply(turns, m.number(part)))
    place = m.add(turns, m.number(first))
    place = m.subtract(place, m.multiply(m.floor(m.multiply(place, m.number(0.25))), m.number(4.0)))
    square = m.multiply(rest, rest)
    sine = m.multiply(rest, _polynomial(m, square, _SIN))
    cosine = _polynomial(m, square, _COS)
    upper = m.less(m.number(1.5), place)
    turned = m.select(upper, m.subtract(place, m.number(2.0)), place)
    value = m.select(m.less(turned, m.number(0.5)), sine, cosine)
    value = m.select(upper, m.subtract(m.number(0.0), value), value)
    # Arguments too large for the reduction still give something in range.
    value = m.select(m.less(m.number(1.0), value), m.number(1.0), value)
    value = m.select(m.less(value, m.number(-1.0)), m.number(-1.0), value)
    return m.select(m.equal(x, m.number(0.0)), m.number(1.0) if first else x, value)


def sin(m: Any, x: Array) -> Array:
    return _quarters(m, x, 0.0)


def cos(m: Any, x: Array) -> Array:
    return _quarters(m, x, 1.0)


def tanh(m: Any, x: Array) -> Array:
    """The hyperbolic tangent; near 0 from its series, which keeps small values and signs."""
    power = exp2(m, m.multiply(x, m.number(2 / math.log(2))))
    far = m.subtract(m.number(1.0), m.divide(m.number(2.0), m.add(power, m.number(1.0))))
    near = m.subtract(x, m.multiply(m.multiply(m.multiply(x, x), x), m.number(1 / 3)))
    return m.select(m.less(m.absolute(x), m.number(1e-3)), near, far)


FUNCTIONS: dict[str, Callable[[Any, Array], Array]] = {"ex2": exp2, "lg2": log2, "sin": sin, "cos": cos, "tanh": tanh}
_NUMPY = Numpy()


def lanes(name: str) -> Callable[[Array], Array]:
    """A function of the table on numpy f64 arrays.

    >>> float(lanes("ex2")(np.float64(10)))
    1024.0
    """
    function = FUNCTIONS[name]
    return lambda x: function(_NUMPY, x)
