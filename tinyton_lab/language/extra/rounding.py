"""Sums, products, quotients and roots of the device library in the other rounding modes, exact to the bit.

Each is rounded to nearest first; the sign of what that lost tells whether the neighbour is the answer. Of f32 and f64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyton_lab.base.dtypes import DTYPES, float32, float64
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.emission import fault
from tinyton_lab.language.extra.arguments import floats
from tinyton_lab.language.extra.pairs import (
    INF,
    absolute,
    bitcast,
    cast,
    fma,
    root,
    two_product,
    two_sum,
    where,
    with_sign,
)
from tinyton_lab.language.semantic import divide
from tinyton_lab.language.types import spell
from tinyton_lab.ops import elementwise

ZERO, DOWN, UP = "rz", "rd", "ru"
MODES = {ZERO: "toward 0", DOWN: "down", UP: "up"}


def stepped(near: Any, lost: Any, mode: str) -> Any:
    """`near` or its neighbour, where `lost`, with the sign of the exact result less `near`, says it is on the wrong
    side."""
    bits = bitcast(near, DTYPES[f"i{near.element.bits}"])
    minus = bits < 0
    if mode == ZERO:
        inward = where(minus, lost > 0.0, lost < 0.0)
        return bitcast(where(inward, bits - 1, bits), near.element)
    wrong, outward = (lost < 0.0, minus) if mode == DOWN else (lost > 0.0, minus == 0)
    neighbour = where(outward, bits + 1, bits - 1)
    least = 1 - (1 << (near.element.bits - 1)) if mode == DOWN else 1
    return bitcast(where(wrong, where(near == 0.0, least, neighbour), bits), near.element)


def single(high: Any, low: Any, mode: str) -> Any:
    """A pair of f64 as f32."""
    near = cast(high, float32)
    error = high - cast(near, float64)
    return stepped(near, where(error == 0.0, low, error), mode)


def _operands(name: str, *operands: Any) -> tuple[Any, ...]:
    values = floats(name, *operands)
    if values[0].element.bits < 32:
        raise fault("TT2013", op=name, type=spell(values[0].tile), kinds="float32 or float64")
    return values


def _is_minus(x: Any) -> Any:
    return bitcast(x, DTYPES[f"i{x.element.bits}"]) < 0


def _zero_sign(result: Any, exact: Any, plus: Any, mode: str) -> Any:
    """A sum that is exactly 0 is -0 when rounding down, unless both terms are +0."""
    return where(exact & (plus == 0), -0.0, result) if mode == DOWN else result


def _sum(name: str, mode: str, x: Any, y: Any) -> Any:
    x, y = _operands(name, x, y)
    near = x + y
    swap = absolute(y) > absolute(x)
    large, small = where(swap, y, x), where(swap, x, y)
    result = stepped(near, small - (near - large), mode)
    plus = (x == 0.0) & (_is_minus(x) == 0) & (_is_minus(y) == 0)
    return _zero_sign(result, near == 0.0, plus, mode)


def _difference(name: str, mode: str, x: Any, y: Any) -> Any:
    x, y = _operands(name, x, y)
    return _sum(name, mode, x, -y)


def _product(name: str, mode: str, x: Any, y: Any) -> Any:
    x, y = _operands(name, x, y)
    if x.element is float32:
        return single(cast(x, float64) * cast(y, float64), 0.0, mode)
    near = x * y
    raised = near * 2.0**500 * 2.0**500
    subnormal = where(near == 0.0, _sign_of_product(x, y), fma(x * 2.0**500, y * 2.0**500, -raised))
    lost = where(absolute(near) < 2.0**-960, subnormal, fma(x, y, -near))
    return stepped(near, lost, mode)


def _sign_of_product(x: Any, y: Any) -> Any:
    """A number with the sign of ``x y``, which may be too small for any."""
    return (x * 2.0**600) * (y * 2.0**600)


def _multiply_add(name: str, mode: str, x: Any, y: Any, z: Any) -> Any:
    x, y, z = _operands(name, x, y, z)
    if x.element is float32:
        x, y, z = (cast(value, float64) for value in (x, y, z))
        total = two_sum(x * y, z)
        result, exact = single(total.high, total.low, mode), total.high == 0.0
    else:
        near = fma(x, y, z)
        lost = _lost_by_fma(x, y, z, near)
        result, exact = stepped(near, lost, mode), (near == 0.0) & (lost == 0.0)
    zeros = ((x == 0.0) | (y == 0.0)) & (z == 0.0) & (_is_minus(z) == 0)
    return _zero_sign(result, exact, zeros & (_is_minus(x) == _is_minus(y)), mode)


def _lost_by_fma(x: Any, y: Any, z: Any, near: Any) -> Any:
    """The sign of ``x y + z - near`` of f64, computed far from overflow and subnormals."""
    size = absolute(x * y)
    swap = absolute(x) > absolute(y)
    large, small = where(swap, x, y), where(swap, y, x)
    low, high = size < 2.0**-700, size > 2.0**700
    unit = absolute(large) >= 1.0
    small = where(low, small * 2.0**1000 * where(unit, 2.0**400, absolute(large) * 0.0 + 1.0), small)
    large = where(low & (unit == 0), large * 2.0**400, where(high, large * 2.0**-600, large))
    product, rest = two_product(large, small)
    addend = where(low, z * 2.0**700 * 2.0**700, where(high, z * 2.0**-600, z))
    least = with_sign(absolute(product) * 2.0**-300, z)
    addend = where((z != 0.0) & (absolute(addend) < absolute(least)), least, addend)
    result = where(low, near * 2.0**700 * 2.0**700, where(high, near * 2.0**-600, near))
    first, more = two_sum(addend, rest)
    second, error = two_sum(product, first)
    lost = ((second - result) + error) + more
    lost = where(size < absolute(z) * 2.0**-200, _sign_of_product(x, y), lost)
    finite = (absolute(x) < INF) & (absolute(y) < INF) & (absolute(z) < INF)
    return where(absolute(near) == INF, where(finite, -near, 0.0), lost)


def _quotient(name: str, mode: str, x: Any, y: Any) -> Any:
    x, y = _operands(name, x, y)
    near: Any = divide(elementwise.div_rn, x, y)
    if x.element is float32:
        rest = cast(x, float64) - cast(near, float64) * cast(y, float64)
    else:
        swap = absolute(near) > absolute(y)
        large, small = where(swap, near, y), where(swap, y, near)
        raised = fma(-large, small * 2.0**700, x * 2.0**700)
        rest = where(absolute(x) < 2.0**-700, raised, fma(-near, y, x))
        rest = where(near == 0.0, x, rest)
    lost = where(_is_minus(y), -rest, rest)
    return stepped(near, where(absolute(y) == INF, 0.0, lost), mode)


def _inverse(name: str, mode: str, x: Any) -> Any:
    return _quotient(name, mode, 1.0, x)


def _root(name: str, mode: str, x: Any) -> Any:
    (x,) = _operands(name, x)
    near = root(x)
    if x.element is float32:
        wide = cast(near, float64)
        rest = cast(x, float64) - wide * wide
    else:
        raised = near * 2.0**300
        rest = where(x < 2.0**-900, fma(-raised, raised, x * 2.0**600), fma(-near, near, x))
    return stepped(near, rest, mode)


def _function(word: str, what: str, mode: str, of: Callable[..., Any], count: int) -> Any:
    """A function of the library: its name, its arguments, what it computes and how that is rounded."""
    name = f"{word}_{mode}"
    one, two, three = (lambda x: of(name, mode, x), lambda x, y: of(name, mode, x, y), _three(name, mode, of))
    function: Any = (one, two, three)[count - 1]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, rounded {MODES[mode]}; of float32 or float64."
    return builtin(function)


def _three(name: str, mode: str, of: Callable[..., Any]) -> Any:
    return lambda x, y, z: of(name, mode, x, y, z)


def _functions(word: str, what: str, of: Callable[..., Any], count: int) -> tuple[Any, Any, Any]:
    zero, down, up = (_function(word, what, mode, of, count) for mode in MODES)
    return zero, down, up


add_rz, add_rd, add_ru = _functions("add", "``x + y``", _sum, 2)
sub_rz, sub_rd, sub_ru = _functions("sub", "``x - y``", _difference, 2)
mul_rz, mul_rd, mul_ru = _functions("mul", "``x * y``", _product, 2)
div_rz, div_rd, div_ru = _functions("div", "``x / y``", _quotient, 2)
fma_rz, fma_rd, fma_ru = _functions("fma", "``x * y + z``", _multiply_add, 3)
rcp_rz, rcp_rd, rcp_ru = _functions("rcp", "``1 / x``", _inverse, 1)
sqrt_rz, sqrt_rd, sqrt_ru = _functions("sqrt", "Square root", _root, 1)
