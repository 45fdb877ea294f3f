"""Conversions between f32 and the narrow floats, bit by bit: no library call, the same bits everywhere.

A narrow float lives in registers as its bits (i16, i8). Knows single registers and vectors of them, no tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.base.dtypes import DType, bfloat16, float16, float32, float64
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.llvm.text import Register, vector

_F32_MANTISSA, _F32_BIAS, _F32_INFINITY = 23, 127, 0x7F800000


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


def is_narrow(dtype: object) -> bool:
    """True for float dtypes below 32 bits."""
    return isinstance(dtype, DType) and dtype.kind == "float" and dtype.bits < 32


def _bits(b: Code, value: int, like: Register) -> Register:
    return b.constant_bits(value, "i32", like.lanes)


def widen(b: Code, dtype: DType, x: Register) -> Register:
    """The f32 value of a narrow float's bits."""
    key = f"{dtype} {x}"
    known = b.wide.get(key)
    if known is None:
        known = b.wide[key] = _widen(b, dtype, x)
    return known


def _widen(b: Code, dtype: DType, x: Register) -> Register:
    if dtype is bfloat16:
        high = b.binary("shl", b.convert("zext", x, "i32"), b.constant_bits(16, "i32", x.lanes))
        return b.convert("bitcast", high, "float")
    if dtype is float16 and b.machine.converts_half:
        return b.convert("fpext", b.convert("bitcast", x, "half"), "float")
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


def narrow(b: Code, dtype: DType, x: Register, rounding: str | None = None) -> Register:
    """Round an f32 or f64 to a narrow float's bits: to nearest even, or toward zero for ``rtz``."""
    single = _to_odd(b, x) if x.element == "double" else x
    near = _nearest(b, dtype, single)
    return _step_back(b, dtype, near, single) if rounding == "rtz" else near


def _nearest(b: Code, dtype: DType, x: Register) -> Register:
    if dtype is float16 and b.machine.converts_half:
        return b.convert("bitcast", b.convert("fptrunc", x, "half"), "i16")
    bits = b.convert("bitcast", x, "i32")
    if dtype is bfloat16:
        even = b.binary("and", b.binary("lshr", bits, _bits(b, 16, bits)), _bits(b, 1, bits))
        rounded = b.binary("add", b.binary("add", bits, even), _bits(b, 0x7FFF, bits))
        quiet = b.binary("or", bits, _bits(b, 1 << 22, bits))
        chosen = b.select(b.compare("fcmp uno", x, x), quiet, rounded)
        return b.convert("trunc", b.binary("lshr", chosen, _bits(b, 16, bits)), "i16")
    return _nearest_small(b, dtype, x, bits)


def _nearest_small(b: Code, dtype: DType, x: Register, bits: Register) -> Register:
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


def _named(b: Code, x: Register) -> Register:
    """A constant as an instruction, where LLVM takes no constant expression."""
    return b.binary("or", x, x)


def _to_odd(b: Code, x: Register) -> Register:
    """f64 to f32, inexact results made odd, so that rounding once more is exact."""
    near = b.convert("fptrunc", x, "float")
    back = b.convert("fpext", near, "double")
    bits = b.convert("bitcast", near, "i32")
    outward = b.compare("fcmp ogt", b.intrinsic("llvm.fabs", back), b.intrinsic("llvm.fabs", x))
    toward_zero = b.binary("sub", bits, b.convert("zext", outward, "i32"))
    inexact = b.convert("zext", b.compare("fcmp one", back, x), "i32")
    return b.convert("bitcast", b.binary("or", toward_zero, inexact), "float")


def _step_back(b: Code, dtype: DType, near: Register, x: Register) -> Register:
    """From the nearest value to the one toward zero."""
    back = _widen(b, dtype, near)
    outward = b.compare("fcmp ogt", b.intrinsic("llvm.fabs", back), b.intrinsic("llvm.fabs", x))
    return b.binary("sub", near, b.convert("zext", outward, near.element))


def truncate_double(b: Code, x: Register) -> Register:
    """f64 to f32 toward zero."""
    near = b.convert("fptrunc", x, "float")
    back = b.convert("fpext", near, "double")
    outward = b.compare("fcmp ogt", b.intrinsic("llvm.fabs", back), b.intrinsic("llvm.fabs", x))
    bits = b.binary("sub", b.convert("bitcast", near, "i32"), b.convert("zext", outward, "i32"))
    return b.convert("bitcast", bits, "float")


def raw_type(dtype: DType) -> str:
    """How a value of a dtype lies in a register: narrow floats as their bits."""
    return f"i{dtype.bits}" if is_narrow(dtype) else dtype.llvm


def raw_vector(dtype: DType, lanes: int) -> str:
    return vector(raw_type(dtype), lanes)


WIDE = (float32, float64)
