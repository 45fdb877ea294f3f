"""Roots and lengths of the device library: cube roots, and square roots of sums of squares without overflow."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float64
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.extra.arguments import narrowed, widened
from tinyton_lab.language.extra.exponentials import plain_exp, plain_log
from tinyton_lab.language.extra.pairs import (
    INF,
    Pair,
    absolute,
    fma,
    greater,
    pair_sum,
    pair_times,
    root,
    two_product,
    where,
    with_sign,
)

THIRD = 0.3333333333333333


@builtin
def cbrt(x: Any) -> Any:
    """Cube root."""
    dtype, wide = widened("cbrt", x)
    size = absolute(wide)
    small = size < 2.0**-900
    normal = where(small, size * 2.0**300, size)
    guess = _power_of_third(normal, THIRD)
    cube = pair_times(Pair(*two_product(guess, guess)), guess)
    exact = guess + ((normal - cube.high) - cube.low) / (3.0 * guess * guess)
    result = where(small, exact * 2.0**-100, exact)
    plain = (size == 0.0) | (size == INF) | (wide != wide)
    return narrowed(where(plain, wide, with_sign(result, wide)), dtype)


@builtin
def rcbrt(x: Any) -> Any:
    """One over the cube root."""
    dtype, wide = widened("rcbrt", x)
    size = absolute(wide)
    guess = _power_of_third(size, -THIRD)
    product = pair_times(pair_times(Pair(*two_product(size, guess)), guess), guess)
    exact = fma(guess * THIRD, (1.0 - product.high) - product.low, guess)
    result = where((size == 0.0) | (size == INF), 1.0 / size, exact)
    return narrowed(where(wide != wide, wide, with_sign(result, wide)), dtype)


def _power_of_third(x: Any, third: float) -> Any:
    return plain_exp(plain_log(x) * third)


@builtin
def hypot(x: Any, y: Any) -> Any:
    """``sqrt(x * x + y * y)`` without overflow on the way; infinite where `x` or `y` is."""
    return _length("hypot", False, x, y)


@builtin
def rhypot(x: Any, y: Any) -> Any:
    """One over `hypot`."""
    return _length("rhypot", True, x, y)


@builtin
def norm3d(x: Any, y: Any, z: Any) -> Any:
    """Length of a vector of three; infinite where one of them is."""
    return _length("norm3d", False, x, y, z)


@builtin
def rnorm3d(x: Any, y: Any, z: Any) -> Any:
    """One over `norm3d`."""
    return _length("rnorm3d", True, x, y, z)


@builtin
def norm4d(x: Any, y: Any, z: Any, w: Any) -> Any:
    """Length of a vector of four; infinite where one of them is."""
    return _length("norm4d", False, x, y, z, w)


@builtin
def rnorm4d(x: Any, y: Any, z: Any, w: Any) -> Any:
    """One over `norm4d`."""
    return _length("rnorm4d", True, x, y, z, w)


def _length(name: str, inverse: bool, *operands: Any) -> Any:
    dtype, values = widened(name, *operands)
    if dtype is not float64:
        return narrowed(_narrow_length(values, inverse), dtype)
    sizes = [absolute(value) for value in values]
    largest = sizes[0]
    for size in sizes[1:]:
        largest = greater(largest, size)
    scale = where(largest > 2.0**500, 2.0**-600, where(largest < 2.0**-450, 2.0**600, largest * 0.0 + 1.0))
    scale = where(largest == INF, 1.0, scale)
    total = _squares([size * scale for size in sizes])
    length = root(total.high)
    rest = (fma(-length, length, total.high) + total.low) / (length + length)
    rest = where((length == 0.0) | (length == INF), 0.0, rest)
    if not inverse:
        return where(largest == INF, largest, (length + rest) / scale)
    guess = 1.0 / length
    exact = fma(guess, fma(-guess, length, 1.0) - guess * rest, guess)
    return where(largest == INF, 0.0, where(length == 0.0, guess, exact) * scale)


def _squares(values: list[Any]) -> Pair:
    total = two_product(values[0], values[0])
    for value in values[1:]:
        total = pair_sum(total, two_product(value, value))
    return total


def _narrow_length(values: Any, inverse: bool) -> Any:
    """The same of f32, whose squares are exact in f64 and far from its limits."""
    total, endless = values[0] * values[0], absolute(values[0]) == INF
    for value in values[1:]:
        total, endless = total + value * value, endless | (absolute(value) == INF)
    length = where(endless, INF, root(total))
    return 1.0 / length if inverse else length
