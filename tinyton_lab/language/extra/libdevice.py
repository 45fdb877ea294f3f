"""The device library, `tl.extra.libdevice`: its functions by other names or written in the language, no op of its own.

Functions whose names end in ``_rn`` round to nearest even, as all arithmetic does; those that begin with ``fast_`` are
the ordinary ones, which `math="approx"` makes fast.
"""

# Values of a kernel get their operators from a class above this floor's types.
# pyright: reportOperatorIssue=false, reportUnnecessaryComparison=false

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float32, float64, int1, int16, int32, int64, uint32
from tinyton_lab.language import core
from tinyton_lab.language.builtin import LibraryFunction, builtin
from tinyton_lab.language.core import abs, cast, ceil, div_rn, fdiv, floor, fma, maximum, minimum, sqrt, sqrt_rn, where
from tinyton_lab.language.functions import cos, erf, exp, exp2, log, log2, rsqrt, sin, tanh
from tinyton_lab.language.semantic import float_function
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import OPS

__all__ = [
    "abs", "add_rn", "ceil", "copysign", "cos", "cosh", "div_rn", "double_as_longlong", "erf", "erfc", "exp", "exp10",
    "exp2", "expm1", "fast_cosf", "fast_dividef", "fast_exp10f", "fast_expf", "fast_log10f", "fast_log2f", "fast_logf",
    "fast_powf", "fast_sinf", "fast_tanf", "fast_tanhf", "fdim", "finitef", "float2int_rn", "float2int_rz",
    "float_as_int", "float_as_uint", "floor", "fma", "fma_rn", "hypot", "int2float_rn", "int_as_float",
    "isfinited", "isinf", "isnan", "llrint", "llround", "log", "log10", "log1p", "log2", "longlong_as_double", "mul_rn",
    "mulhi", "nearbyint", "pow", "rcp_rn", "rint", "round", "rsqrt", "rsqrt_rn", "saturatef", "signbit", "sin", "sinh",
    "sqrt", "sqrt_rn", "sub_rn", "tan", "tanh", "trunc", "uint2float_rn", "uint_as_float",
]  # fmt: skip

_LOG2_10 = 3.321928094887362
_LOG10_2 = 0.30102999566398120


@builtin
def trunc(x: Any) -> TileValue:
    """Round toward 0."""
    return float_function(OPS["trunc"], x)


@builtin
def rint(x: Any) -> TileValue:
    """Round to the nearest whole number, ties to the even one."""
    return float_function(OPS["round_even"], x)


nearbyint = rint
mulhi = core.umulhi
add_rn, sub_rn, mul_rn, fma_rn = core.add, core.sub, core.mul, fma
fast_cosf, fast_sinf, fast_tanhf = cos, sin, tanh
fast_expf, fast_logf, fast_log2f, fast_dividef = exp, log, log2, fdiv


@LibraryFunction
def round(x: Any) -> Any:
    """Round to the nearest whole number, ties away from 0."""
    whole = trunc(x)
    return where(abs(x - whole) >= 0.5, whole + copysign(1.0, x), whole)


@LibraryFunction
def llrint(x: Any) -> Any:
    """The nearest integer as int64, ties to the even one."""
    return cast(rint(x), int64)


@LibraryFunction
def llround(x: Any) -> Any:
    """The nearest integer as int64, ties away from 0."""
    return cast(round(x), int64)


# Bits
@LibraryFunction
def signbit(x: Any) -> Any:
    """1 where the sign bit is set (-0.0 and negative NaN too), as int32."""
    if x.dtype.primitive_bitwidth == 64:
        bits = cast(x, int64, bitcast=True) >> 63
    elif x.dtype.primitive_bitwidth == 32:
        bits = cast(x, int32, bitcast=True) >> 31
    else:
        bits = cast(x, int16, bitcast=True) >> 15
    return cast(bits & 1, int32)


@LibraryFunction
def copysign(x: Any, y: Any) -> Any:
    """The magnitude of `x` with the sign of `y`."""
    magnitude = abs(x)
    return where(signbit(y) == 1, -magnitude, magnitude)


@LibraryFunction
def float_as_int(x: Any) -> Any:
    """The bits of a float32 as int32."""
    return cast(x, int32, bitcast=True)


@LibraryFunction
def float_as_uint(x: Any) -> Any:
    """The bits of a float32 as uint32."""
    return cast(x, uint32, bitcast=True)


@LibraryFunction
def int_as_float(x: Any) -> Any:
    """The float32 of the bits in an int32."""
    return cast(x, float32, bitcast=True)


uint_as_float = int_as_float


@LibraryFunction
def double_as_longlong(x: Any) -> Any:
    """The bits of a float64 as int64."""
    return cast(x, int64, bitcast=True)


@LibraryFunction
def longlong_as_double(x: Any) -> Any:
    """The float64 of the bits in an int64."""
    return cast(x, float64, bitcast=True)


# Conversions
@LibraryFunction
def int2float_rn(x: Any) -> Any:
    """An integer as float32, rounded to nearest even."""
    return cast(x, float32)


uint2float_rn = int2float_rn


@LibraryFunction
def float2int_rn(x: Any) -> Any:
    """The nearest int32, ties to the even one."""
    return cast(rint(x), int32)


@LibraryFunction
def float2int_rz(x: Any) -> Any:
    """A float as int32, rounded toward 0."""
    return cast(x, int32)


# What kind of number
@LibraryFunction
def isnan(x: Any) -> Any:
    """Whether an element is NaN, as int1."""
    return x != x


@LibraryFunction
def isinf(x: Any) -> Any:
    """Whether an element is infinite, as int1."""
    return abs(x) == float("inf")


@LibraryFunction
def finitef(x: Any) -> Any:
    """Whether an element is neither infinite nor NaN, as int1."""
    return cast(abs(x) < float("inf"), int1)


isfinited = finitef


# Arithmetic
@LibraryFunction
def saturatef(x: Any) -> Any:
    """`x` limited to 0 ... 1; NaN gives 0."""
    return minimum(maximum(x, 0.0), 1.0)


@LibraryFunction
def fdim(x: Any, y: Any) -> Any:
    """``x - y`` where that is positive, else 0."""
    return where(x <= y, 0.0, x - y)


@LibraryFunction
def rcp_rn(x: Any) -> Any:
    """``1 / x``, correctly rounded."""
    return div_rn(1.0, x)


@LibraryFunction
def rsqrt_rn(x: Any) -> Any:
    """``1 / sqrt(x)``, the root and the quotient rounded correctly."""
    return div_rn(1.0, sqrt_rn(x))


@LibraryFunction
def hypot(x: Any, y: Any) -> Any:
    """``sqrt(x * x + y * y)`` without overflow on the way."""
    large, small = maximum(abs(x), abs(y)), minimum(abs(x), abs(y))
    ratio = where(large == 0.0, 0.0, small / large)
    length = large * sqrt_rn(1.0 + ratio * ratio)
    number = where((x != x) | (y != y), float("nan"), length)
    return where((abs(x) == float("inf")) | (abs(y) == float("inf")), float("inf"), number)


# Exponentials
@LibraryFunction
def exp10(x: Any) -> Any:
    """10 to the power of a float."""
    return cast(exp2(cast(x, float64) * _LOG2_10), x.dtype)


@LibraryFunction
def log10(x: Any) -> Any:
    """Logarithm to base 10."""
    return cast(log2(cast(x, float64)) * _LOG10_2, x.dtype)


fast_exp10f, fast_log10f = exp10, log10


@LibraryFunction
def log1p(x: Any) -> Any:
    """``log(1 + x)``, also of small `x`."""
    # What rounding 1 + x lost comes back as the factor x / ((1 + x) - 1).
    near = 1.0 + x
    lost = near - 1.0
    plain = log(near)
    return where((lost == 0.0) | (near == float("inf")), where(lost == 0.0, x, plain), plain * (x / lost))


@LibraryFunction
def expm1(x: Any) -> Any:
    """``exp(x) - 1``, also of small `x`."""
    wide = cast(x, float64)
    series = wide * (1.0 + wide * (0.5 + wide * (1.0 / 6.0 + wide * (1.0 / 24.0 + wide * (1.0 / 120.0)))))
    return cast(where(abs(wide) < 0.001, series, exp(wide) - 1.0), x.dtype)


@LibraryFunction
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    grown = expm1(abs(cast(x, float64)))
    exact = 0.5 * (grown + grown / (grown + 1.0))
    return copysign(cast(where(grown == float("inf"), grown, exact), x.dtype), x)


@LibraryFunction
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    power = exp(abs(cast(x, float64)))
    return cast(0.5 * power + 0.5 / power, x.dtype)


@LibraryFunction
def tan(x: Any) -> Any:
    """Tangent of an angle in radians."""
    wide = cast(x, float64)
    return cast(sin(wide) / cos(wide), x.dtype)


fast_tanf = tan


@LibraryFunction
def erfc(x: Any) -> Any:
    """``1 - erf(x)``; absolutely, not relatively, exact where that is nearly 0."""
    return cast(1.0 - erf(cast(x, float64)), x.dtype)


@LibraryFunction
def pow(x: Any, y: Any) -> Any:
    """`x` to the power of `y`; a negative `x` needs a whole `y`, else the result is NaN."""
    base, exponent = cast(x, float64), cast(y, float64)
    magnitude = abs(base)
    size = exp2(exponent * log2(magnitude))
    size = where((exponent == 0.0) | (magnitude == 1.0), 1.0, size)
    half = exponent * 0.5
    whole = rint(exponent) == exponent
    odd = whole & (rint(half) != half)
    signed = where(odd & (signbit(x) == 1), -size, size)
    invalid = (base < 0.0) & (magnitude < float("inf")) & (whole == 0)
    return cast(where(invalid, float("nan"), signed), x.dtype)


fast_powf = pow
