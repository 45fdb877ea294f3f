"""Parts and neighbours of floats in the device library: signs, exponents, whole numbers, remainders, kinds."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DTYPES, float64, int1, int32, int64
from tinyton_lab.language import core
from tinyton_lab.language.builtin import LibraryFunction, builtin
from tinyton_lab.language.extra.arguments import alike_in_shape, floats, narrowed, of_dtypes, widened
from tinyton_lab.language.extra.pairs import (
    INF,
    NAN,
    TINY,
    absolute,
    bitcast,
    cast,
    exponent_of,
    fma,
    greater,
    lesser,
    nearest,
    power_of_two,
    root,
    truncated,
    where,
)
from tinyton_lab.language.value import TileValue

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


def bits_of(x: Any) -> Any:
    """The bits of a float as a signed integer."""
    return bitcast(x, DTYPES[f"i{x.element.bits}"])


# Whole numbers
@builtin
def trunc(x: Any) -> Any:
    """Round toward 0."""
    return truncated(*floats("trunc", x))


@builtin
def rint(x: Any) -> Any:
    """Round to the nearest whole number, ties to the even one."""
    return nearest(*floats("rint", x))


@builtin
def nearbyint(x: Any) -> Any:
    """Round to the nearest whole number, ties to the even one."""
    return nearest(*floats("nearbyint", x))


@builtin
def round(x: Any) -> Any:
    """Round to the nearest whole number, ties away from 0."""
    (value,) = floats("round", x)
    whole = truncated(value)
    return where(absolute(value - whole) >= 0.5, whole + _signed(1.0, value), whole)


@builtin
def llrint(x: Any) -> Any:
    """The nearest integer as int64, ties to the even one."""
    return cast(nearest(*floats("llrint", x)), int64)


@builtin
def llround(x: Any) -> Any:
    """The nearest integer as int64, ties away from 0."""
    return cast(round(x), int64)


# Signs and kinds
@builtin
def signbit(x: Any) -> Any:
    """1 where the sign bit is set (-0.0 and negative NaN too), as int32."""
    return cast(bits_of(*floats("signbit", x)) < 0, int32)


@builtin
def copysign(x: Any, y: Any) -> Any:
    """The magnitude of `x` with the sign of `y`."""
    return _signed(*floats("copysign", x, y))


def _signed(size: Any, like: Any) -> Any:
    """The magnitude of a number or value with the sign of a value."""
    magnitude = absolute(size) if isinstance(size, TileValue) else size
    return where(bits_of(like) < 0, -magnitude, magnitude)


@builtin
def isnan(x: Any) -> Any:
    """Whether an element is NaN, as int1."""
    (value,) = floats("isnan", x)
    return value != value


@builtin
def isinf(x: Any) -> Any:
    """Whether an element is infinite, as int1."""
    return absolute(*floats("isinf", x)) == INF


@builtin
def finitef(x: Any) -> Any:
    """Whether an element is neither infinite nor NaN, as int1."""
    return cast(absolute(*floats("finitef", x)) < INF, int1)


@builtin
def isfinited(x: Any) -> Any:
    """Whether an element is neither infinite nor NaN, as int1."""
    return cast(absolute(*floats("isfinited", x)) < INF, int1)


# Exponents
@builtin
def ilogb(x: Any) -> Any:
    """The exponent as int32; the least int32 for 0 and NaN, the greatest for infinity."""
    _, wide = widened("ilogb", x)
    exponent = cast(_exponent(wide), int32)
    exponent = where(absolute(wide) == INF, INT_MAX, exponent)
    return where((wide == 0.0) | (wide != wide), INT_MIN, exponent)


@builtin
def logb(x: Any) -> Any:
    """The exponent as a float; -inf for 0, inf for infinity."""
    dtype, wide = widened("logb", x)
    size = absolute(wide)
    result = where(size == 0.0, -INF, where(size < INF, _exponent(wide), size))
    return narrowed(result, dtype)


def _exponent(x: Any) -> Any:
    small = absolute(x) < TINY
    return exponent_of(where(small, x * 2.0**54, x)) - where(small, 54.0, 0.0)


@builtin
def ldexp(x: Any, n: Any) -> Any:
    """``x * 2**n`` with an int32 `n`, rounded once."""
    dtype, wide = widened("ldexp", x)
    wide, whole = alike_in_shape(wide, cast(of_dtypes("ldexp", n, int32), float64))
    if dtype is not float64:
        return narrowed(wide * power_of_two(lesser(greater(whole, -800.0), 800.0)), dtype)
    # Downward only the last step may round.
    for _ in range(2):
        up, down = whole > 1023.0, whole < -1022.0
        wide = where(up, wide * 2.0**1023, where(down, wide * 2.0**-969, wide))
        whole = where(up, whole - 1023.0, where(down, whole + 969.0, whole))
    return wide * power_of_two(lesser(greater(whole, -1022.0), 1023.0))


@builtin
def scalbn(x: Any, n: Any) -> Any:
    """``x * 2**n`` with an int32 `n`, rounded once."""
    return ldexp(x, n)


@builtin
def nextafter(x: Any, y: Any) -> Any:
    """The number next to `x` in the direction of `y`; `y` where both are equal."""
    x, y = floats("nextafter", x, y)
    bits = bits_of(x)
    outward = (x < y) == (bits >= 0)
    moved = where(outward, bits + 1, bits - 1)
    least = (bits_of(y) & -(1 << (x.element.bits - 1))) | 1
    result = bitcast(where(x == 0.0, least, moved), x.element)
    return where((x != x) | (y != y), x + y, where(x == y, y, result))


@builtin
def saturatef(x: Any) -> Any:
    """`x` limited to 0 ... 1; NaN gives 0."""
    (value,) = floats("saturatef", x)
    return lesser(greater(value, 0.0), 1.0)


@builtin
def fdim(x: Any, y: Any) -> Any:
    """``x - y`` where that is positive, else 0; NaN where one of them is."""
    x, y = floats("fdim", x, y)
    return where(x <= y, 0.0, x - y)


# Remainders, exact: the quotient is taken from its upper bits on, some fifty at a time.
@builtin
def dividend_and_divisor(name: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The magnitudes of two floats as f64; 0 and 1 where there is no remainder to find."""
    _, (above, below) = widened(name, x, y)
    valid = (absolute(above) < INF) & (below != 0.0) & (absolute(below) < INF)
    return where(valid, absolute(above), 0.0), where(valid, absolute(below), 1.0)


@builtin
def reduced_once(rest: Any, divisor: Any) -> Any:
    """``rest`` less a multiple of the divisor: what is left is below it, or the quotient lost its upper 50 bits."""
    small = divisor < TINY
    exponent = exponent_of(where(small, divisor * 2.0**54, divisor)) - where(small, 54.0, 0.0)
    distance = greater(exponent_of(rest) - exponent - 51.0, 0.0)
    half = truncated(distance * 0.5)
    scaled = divisor * power_of_two(half) * power_of_two(distance - half)
    quotient = truncated(rest / scaled)
    left = fma(-quotient, scaled, rest)
    left = where(left < 0.0, left + scaled, left)
    return where(rest >= divisor, left, rest)


@builtin
def any_of(condition: Any) -> Any:
    """Whether a condition holds anywhere, a scalar."""
    value: Any = cast(condition, int32)
    return (core.max(value) if value.shape else value) != 0


@builtin
def remainder_as(name: Any, rest: Any, x: Any, y: Any) -> Any:
    """A remainder of the magnitudes as that of `x` and `y`, in their dtype; NaN where there is none."""
    dtype, (above, below) = widened(name, x, y)
    invalid = (absolute(above) == INF) | (below == 0.0) | (below != below) | (above != above)
    signed = where(absolute(below) == INF, above, where(bits_of(above) < 0, -rest, rest))
    return narrowed(where(invalid, NAN, signed), dtype)


@builtin
def nearest_remainder(rest: Any, divisor: Any) -> Any:
    """From the remainder by twice the divisor to the one that is least, of an even quotient where two are."""
    lower = rest - divisor
    return where(
        _over_half(rest, divisor, False), where(_over_half(lower, divisor, True), lower - divisor, lower), rest
    )


def _over_half(x: Any, divisor: Any, or_equal: bool) -> Any:
    small = divisor < 2.0**-1000
    double, whole = where(small, x + x, x), where(small, divisor, divisor * 0.5)
    return double >= whole if or_equal else double > whole


@LibraryFunction
def fmod(x: Any, y: Any) -> Any:
    """Remainder with the sign of `x`, exact; NaN for an infinite `x` or a `y` of 0."""
    rest, divisor = dividend_and_divisor("fmod", x, y)
    rest = reduced_once(rest, divisor)
    while any_of(rest >= divisor):
        rest = reduced_once(rest, divisor)
    return remainder_as("fmod", rest, x, y)


@LibraryFunction
def remainder(x: Any, y: Any) -> Any:
    """``x - n * y`` with the nearest whole `n`, ties to the even one, exact; NaN for an infinite `x` or a `y` of 0."""
    rest, divisor = dividend_and_divisor("remainder", x, y)
    twice = divisor + divisor
    rest = reduced_once(rest, twice)
    while any_of(rest >= twice):
        rest = reduced_once(rest, twice)
    return remainder_as("remainder", nearest_remainder(rest, divisor), x, y)


@builtin
def rcp_rn(x: Any) -> Any:
    """``1 / x``, correctly rounded."""
    return core.div_rn(1.0, *floats("rcp_rn", x))


@builtin
def rsqrt_rn(x: Any) -> Any:
    """``1 / sqrt(x)``, the root and the quotient rounded correctly."""
    return core.div_rn(1.0, root(*floats("rsqrt_rn", x)))


@builtin
def rcp64h(x: Any) -> Any:
    """``1 / x`` of a float64 with its lower 32 bits cut; subnormal numbers count as 0."""
    value = of_dtypes("rcp64h", x, float64)
    flushed = where(absolute(value) < TINY, value * 0.0, value)
    return bitcast(bitcast(1.0 / flushed, int64) & -(2**32), float64)
