"""Conversions between f32 and floats of 16 and 8 bits, spelled in integer arithmetic: the same bits on every engine.

A narrow float is its bits here. Knows single registers and vectors of them, no engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.base.dtypes import DType, float32
from tinyton_lab.llvm.text import Builder, Register

_F32_MANTISSA, _F32_BIAS, _F32_INFINITY = 23, 127, 0x7F800000
_INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Format:
    """What the bits of a narrow float mean, beyond its field widths.

    `top` is the greatest finite magnitude's bits; one above lie infinity (where there is one) or NaN. `nan` is the
    quiet NaN's magnitude; with `unsigned_zero` there is no -0 and its bits are the only NaN.
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    top: int
    infinity: bool
    unsigned_zero: bool

    @property
    def magnitude_bits(self) -> int:
        return self.exponent_bits + self.mantissa_bits


def format_of(dtype: DType) -> Format:
    """The format of a narrow float dtype."""
    exponent, mantissa = dtype.exponent_bits, dtype.mantissa_bits
    finite_only, unsigned_zero = dtype.numpy_name.endswith("fn"), dtype.numpy_name.endswith("fnuz")
    bias = 11 if "b11" in dtype.numpy_name else (1 << (exponent - 1)) - (0 if unsigned_zero else 1)
    everything = (1 << (exponent + mantissa)) - 1
    top = everything if unsigned_zero else everything - 1 if finite_only else everything - (1 << mantissa)
    return Format(exponent, mantissa, bias, top, not finite_only and not unsigned_zero, unsigned_zero)


def _bits(b: Builder, value: int, like: Register) -> Register:
    return b.constant_bits(value, "i32", like.lanes)


def widen(b: Builder, dtype: DType, x: Register) -> Register:
    """The f32 value of a narrow float's bits."""
    form = format_of(dtype)
    bits = b.convert("zext", x, "i32")
    magnitude = b.binary("and", bits, _bits(b, (1 << form.magnitude_bits) - 1, bits))
    shifted = b.binary("shl", magnitude, _bits(b, _F32_MANTISSA - form.mantissa_bits, bits))
    scale = b.constant(float32, 2.0 ** (_F32_BIAS - form.bias), x)
    finite = b.convert("bitcast", b.binary("fmul", b.convert("bitcast", shifted, "float"), scale), "i32")
    if form.unsigned_zero:
        is_nan = b.compare("icmp eq", bits, _bits(b, 1 << form.magnitude_bits, bits))
        value = b.select(is_nan, _bits(b, 0x7FC00000, bits), finite)
    else:
        beyond = b.compare("icmp ugt", magnitude, _bits(b, form.top, bits))
        special = b.binary("or", shifted, _bits(b, _F32_INFINITY if form.infinity else 0x7FC00000, bits))
        value = b.select(beyond, special, finite)
    sign = b.binary("shl", b.binary("lshr", bits, _bits(b, form.magnitude_bits, bits)), _bits(b, 31, bits))
    return b.convert("bitcast", b.binary("or", value, sign), "float")


def nearest(b: Builder, dtype: DType, x: Register) -> Register:
    """Round an f32 to a narrow float's bits, to nearest even."""
    bits = b.convert("bitcast", x, "i32")
    form = format_of(dtype)
    drop = _F32_MANTISSA - form.mantissa_bits
    magnitude = b.binary("and", bits, _bits(b, 0x7FFFFFFF, bits))
    even = b.binary("and", b.binary("lshr", magnitude, _bits(b, drop, bits)), _bits(b, 1, bits))
    rounded = b.binary("add", b.binary("add", magnitude, even), _bits(b, (1 << (drop - 1)) - 1, bits))
    rebias = (_F32_BIAS - form.bias) << form.mantissa_bits
    normal = b.binary("sub", b.binary("lshr", rounded, _bits(b, drop, bits)), _bits(b, rebias, bits))
    # Below the least normal: adding 2**k lets the f32 adder round at the least step of the narrow format.
    magic = (_F32_BIAS - form.bias + drop + 1) << _F32_MANTISSA
    at = b.convert("bitcast", _named(b, _bits(b, magic, bits)), "float")
    lifted = b.binary("fadd", b.convert("bitcast", magnitude, "float"), at)
    tiny = b.binary("sub", b.convert("bitcast", lifted, "i32"), _bits(b, magic, bits))
    least_normal = (_F32_BIAS + 1 - form.bias) << _F32_MANTISSA
    small = b.compare("icmp ult", magnitude, _bits(b, least_normal, bits))
    value = b.select(small, tiny, normal)
    over = _bits(b, form.top + 1, bits)  # infinity, or NaN where the format has none
    value = b.select(b.compare("icmp ugt", value, _bits(b, form.top, bits)), over, value)
    sign = b.binary("lshr", b.binary("and", bits, _bits(b, 1 << 31, bits)), _bits(b, 31 - form.magnitude_bits, bits))
    is_nan = b.compare("fcmp uno", x, x)
    if form.unsigned_zero:
        nan = _bits(b, 1 << form.magnitude_bits, bits)
        invalid = b.binary("or", is_nan, b.compare("icmp ugt", value, _bits(b, form.top, bits)))
        zero = b.compare("icmp eq", value, _bits(b, 0, bits))
        signed = b.select(zero, value, b.binary("or", value, sign))
        return b.convert("trunc", b.select(invalid, nan, signed), f"i{dtype.bits}")
    quiet = form.top + 1 + (1 << (form.mantissa_bits - 1) if form.infinity else 0)
    value = b.select(is_nan, _bits(b, quiet, bits), value)
    return b.convert("trunc", b.binary("or", value, sign), f"i{dtype.bits}")


def _named(b: Builder, x: Register) -> Register:
    """A constant as an instruction, where LLVM takes no constant expression."""
    return b.binary("or", x, x)


def to_odd(b: Builder, x: Register) -> Register:
    """f64 to f32, inexact results made odd, so that rounding once more is exact."""
    near = b.convert("fptrunc", x, "float")
    back = b.convert("fpext", near, "double")
    bits = b.convert("bitcast", near, "i32")
    outward = b.compare("fcmp ogt", b.intrinsic("llvm.fabs", back), b.intrinsic("llvm.fabs", x))
    toward_zero = b.binary("sub", bits, b.convert("zext", outward, "i32"))
    inexact = b.convert("zext", b.compare("fcmp one", back, x), "i32")
    return b.convert("bitcast", b.binary("or", toward_zero, inexact), "float")


def step_back(b: Builder, dtype: DType, near: Register, back: Register, x: Register) -> Register:
    """The bits of the value toward zero, from those of the nearest one; `back` is the nearest as f32, `x` the exact."""
    outward = b.compare("fcmp ogt", b.intrinsic("llvm.fabs", back), b.intrinsic("llvm.fabs", x))
    stepped = b.binary("sub", near, b.convert("zext", outward, near.element))
    form = format_of(dtype)
    if form.infinity:
        return stepped
    # Without an infinity the nearest of what is too large is NaN.
    finite = b.compare("fcmp olt", b.intrinsic("llvm.fabs", x), b.constant(float32, _INFINITY, x))
    lost = b.binary("and", b.compare("fcmp uno", back, back), finite)
    bits = b.convert("bitcast", x, "i32")
    sign = b.binary("lshr", b.binary("and", bits, _bits(b, 1 << 31, bits)), _bits(b, 31 - form.magnitude_bits, bits))
    top = b.convert("trunc", b.binary("or", sign, _bits(b, form.top, bits)), near.element)
    if form.unsigned_zero:  # the bits of -0 are NaN
        least = b.binary("and", outward, b.compare("icmp eq", stepped, b.constant_bits(128, "i8", stepped.lanes)))
        stepped = b.select(least, b.constant_bits(0, "i8", stepped.lanes), stepped)
    return b.select(lost, top, stepped)
