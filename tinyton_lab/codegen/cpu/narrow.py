"""Conversions between f32 and the narrow floats: no library call, an instruction where the processor has one.

A narrow float lives in registers as its bits (i16, i8). Knows single registers and vectors of them, no tiles.
"""

from __future__ import annotations

from tinyton_lab.base.dtypes import DType, bfloat16, float16, float32, float64
from tinyton_lab.codegen import small_floats
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.llvm.text import Register, vector


def is_narrow(dtype: object) -> bool:
    """True for float dtypes below 32 bits."""
    return isinstance(dtype, DType) and dtype.kind == "float" and dtype.bits < 32


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
    return small_floats.widen(b, dtype, x)


def narrow(b: Code, dtype: DType, x: Register, rounding: str | None = None) -> Register:
    """Round an f32 or f64 to a narrow float's bits: to nearest even, or toward zero for ``rtz``."""
    single = small_floats.to_odd(b, x) if x.element == "double" else x
    near = _nearest(b, dtype, single)
    return _step_back(b, dtype, near, single) if rounding == "rtz" else near


def _nearest(b: Code, dtype: DType, x: Register) -> Register:
    if dtype is float16 and b.machine.converts_half:
        return b.convert("bitcast", b.convert("fptrunc", x, "half"), "i16")
    if dtype is bfloat16:
        bits = b.convert("bitcast", x, "i32")
        even = b.binary(
            "and", b.binary("lshr", bits, b.constant_bits(16, "i32", bits.lanes)), b.constant_bits(1, "i32", bits.lanes)
        )
        rounded = b.binary("add", b.binary("add", bits, even), b.constant_bits(0x7FFF, "i32", bits.lanes))
        quiet = b.binary("or", bits, b.constant_bits(1 << 22, "i32", bits.lanes))
        chosen = b.select(b.compare("fcmp uno", x, x), quiet, rounded)
        return b.convert("trunc", b.binary("lshr", chosen, b.constant_bits(16, "i32", bits.lanes)), "i16")
    return small_floats.nearest(b, dtype, x)


def _step_back(b: Code, dtype: DType, near: Register, x: Register) -> Register:
    """From the nearest value to the one toward zero."""
    return small_floats.step_back(b, dtype, near, _widen(b, dtype, near), x)


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
