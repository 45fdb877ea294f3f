"""Bessel functions of any whole order, written in the language: recurrences from those of order 0 and 1."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float64, int32
from tinyton_lab.language import core
from tinyton_lab.language.builtin import LibraryFunction, builtin
from tinyton_lab.language.extra.arguments import alike_in_shape, narrowed, of_dtypes, widened
from tinyton_lab.language.extra.bessel import first_kind_of, second_kind_of
from tinyton_lab.language.extra.pairs import cast, filled
from tinyton_lab.language.value import TileValue

SMALL = 1.0e-20


@builtin
def order_and_argument(name: Any, n: Any, x: Any) -> tuple[Any, Any]:
    """The order as i32 and the argument as f64, of one shape. Raises TT2013."""
    order = of_dtypes(name, n, int32)
    _, wide = widened(name, x)
    return alike_in_shape(order, wide)


@builtin
def most(x: Any) -> TileValue:
    """The greatest element, a scalar."""
    value: Any = x
    return core.max(value) if value.shape else value


@builtin
def rounded_as(value: Any, x: Any) -> TileValue:
    """An f64 in the dtype of the argument."""
    dtype, _ = widened("jn", x)
    return narrowed(value, dtype)


@builtin
def zeros_as(x: Any) -> TileValue:
    """Zeros in the shape of an f64."""
    return filled(0.0, x)


@builtin
def as_f64(x: Any) -> TileValue:
    """A value as f64."""
    return cast(x, float64)


@LibraryFunction
def jn(n: Any, x: Any) -> Any:
    """Bessel function of the first kind, order `n`; NaN for negative orders."""
    order, wide = order_and_argument("jn", n, x)
    size = core.abs(wide)
    usual = size < 1.0e300
    inside = core.where(usual, size, 1.0)
    zeroth, first = first_kind(0, inside), first_kind(1, inside)
    wanted = as_f64(order)
    # Upward as long as the order is below the argument, where that is stable.
    below, value = zeroth, first
    result = core.where(order == 0, zeroth, first)
    upward = wanted <= inside
    last = most(core.where(upward, order, 0))
    step = core.to_tensor(1)
    while step < last:
        above = value * (2.0 * as_f64(step)) / inside - below
        below, value = value, above
        step += 1
        result = core.where(order == step, value, result)
    # Else downward from an order so far above that its value is as good as 0, to the known J0 or J1.
    down = (upward == 0) & (order > 1) & (inside > 0.0)
    start = core.where(down, order + 24 + core.cast(core.sqrt_rn(64.0 * wanted), int32), 0)
    divisor = core.where(down, core.maximum(inside, SMALL), 1.0)
    step = most(start)
    above, value, found = zeros_as(wide), zeros_as(wide), zeros_as(wide)
    while step > 0:
        value = core.where(start == step, 1.0e-290, value)
        lower = value * (2.0 * as_f64(step)) / divisor - above
        above, value = value, lower
        step -= 1
        found = core.where(order == step, value, found)
        large = core.abs(value) > 1.0e200
        value = core.where(large, value * 1.0e-200, value)
        above = core.where(large, above * 1.0e-200, above)
        found = core.where(large, found * 1.0e-200, found)
    by_first = core.abs(first) > core.abs(zeroth)
    known = core.where(by_first, first, zeroth) / core.where(down, core.where(by_first, above, value), 1.0)
    result = core.where(down, found * known, result)
    # Very small arguments: the first term of the series.
    small, power = inside < SMALL, inside * 0.5
    for k in core.static_range(2, 17):
        power = power * (inside * 0.5) / k
        result = core.where(small & (order == k), power, result)
    result = core.where(small & (order > 16), 0.0, result)
    result = core.where((inside == 0.0) & (order > 0), 0.0, result)
    result = core.where(usual, result, core.where(size == size, 0.0, size))
    result = core.where((wide < 0.0) & ((order & 1) == 1), -result, result)
    return rounded_as(core.where(order < 0, float("nan"), result), x)


@LibraryFunction
def yn(n: Any, x: Any) -> Any:
    """Bessel function of the second kind, order `n`; NaN below 0 and for negative orders."""
    order, wide = order_and_argument("yn", n, x)
    below, value = second_kind(0, wide), second_kind(1, wide)
    result = core.where(order == 0, below, value)
    last = most(order)
    step = core.to_tensor(1)
    while step < last:
        above = value * (2.0 * as_f64(step) / wide) - below
        below = core.where(core.abs(above) == float("inf"), 0.0, value)
        value = above
        step += 1
        result = core.where(order == step, value, result)
    result = core.where((wide == float("inf")) & (order >= 0), 0.0, result)
    result = core.where((wide == 0.0) & (order >= 0), float("-inf"), result)
    return rounded_as(core.where((order < 0) | (wide < 0.0), float("nan"), result), x)


@builtin
def first_kind(order: Any, x: Any) -> TileValue:
    """J0 or J1 of an f64."""
    return first_kind_of(x, order, True)


@builtin
def second_kind(order: Any, x: Any) -> TileValue:
    """Y0 or Y1 of an f64."""
    return second_kind_of(x, order, True)
