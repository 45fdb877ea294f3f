"""Conversions between dtypes, in numpy and in LLVM. The rules are PTX's: saturate floats to integers, NaN to 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DType, float32, integer_range, of_numpy
from tinyton_lab.base.floats import narrowed


def cast_numpy(x: Any, *, to: DType, rounding: str | None = None) -> Any:
    """Convert an array to dtype `to`; `rounding` ``"rtz"`` truncates float narrowing, None rounds to nearest even."""
    if to.kind == "bool":
        return x != 0
    if x.dtype.kind == "b":
        return x.astype(np.uint8).astype(to.numpy)
    floating = x.dtype.kind not in "iub"
    if floating and to.kind != "float":
        return _saturate(x, to)
    if to.kind == "float" and rounding == "rtz":
        return _truncate(x, to)
    if not floating and to.kind == "float" and to.bits <= 16:
        return _integer_to_narrow(x, to)
    if x.dtype == np.float64 and to.bits <= 16:
        return narrowed(x, to.numpy)
    return x.astype(to.numpy)


def _saturate(x: Any, to: DType) -> Any:
    low, high = integer_range(to)
    wide = np.trunc(x.astype(np.float64))
    inside = np.where(np.isnan(wide) | (wide >= float(high)) | (wide <= float(low)), 0.0, wide)
    result = inside.astype(to.numpy)
    result = np.where(wide >= float(high), np.asarray(high, to.numpy), result)
    return np.where(wide <= float(low), np.asarray(low, to.numpy), result).astype(to.numpy)


def _integer_to_narrow(x: Any, to: DType) -> Any:
    """Integers to f16, bf16, fp8 go through f32, as every engine does (documented: two roundings above 2**24)."""
    return x.astype(np.float32).astype(to.numpy)


def _truncate(x: Any, to: DType) -> Any:
    """Round toward zero: take the nearest, step back where it went outward, or was NaN for want of an infinity."""
    near = x.astype(to.numpy)
    wide, exact = near.astype(np.float64), x.astype(np.float64)
    outward = np.abs(wide) > np.abs(exact)
    integer = np.dtype(f"u{to.bytes}")
    bits = near.view(integer)
    result = np.where(outward, bits - integer.type(1), bits).astype(integer).view(to.numpy)
    result = np.where(outward & np.isnan(result.astype(np.float32)), np.zeros_like(result), result)  # there is no -0
    lost = np.isnan(wide) & np.isfinite(exact)
    if not lost.any():
        return result
    every = np.arange(1 << (to.bits - 1), dtype=integer).view(to.numpy)
    top = every[np.isfinite(every.astype(np.float64))][-1]
    return np.where(lost, np.copysign(np.float32(top), exact.astype(np.float32)).astype(to.numpy), result)


def emit_cast(b: Any, dtype: DType, x: Any, *, to: DType, rounding: str | None = None) -> Any:
    """LLVM of a conversion among i1, integers, f32 and f64; narrow floats are the engines' own business."""
    if to is dtype:
        return x
    if to.kind == "bool":
        how = "fcmp une" if dtype.kind == "float" else "icmp ne"
        return b.compare(how, x, b.constant(dtype, 0, x))
    if dtype.kind == "float":
        return _emit_from_float(b, dtype, x, to)
    if to.kind == "float":
        return b.convert("sitofp" if dtype.signed else "uitofp", x, to.llvm)
    if to.bits == dtype.bits:
        return x
    extend = "sext" if dtype.signed else "zext"
    return b.convert("trunc" if to.bits < dtype.bits else extend, x, to.llvm)


def _emit_from_float(b: Any, dtype: DType, x: Any, to: DType) -> Any:
    if to.kind == "float":
        return b.convert("fptrunc" if to.bits < dtype.bits else "fpext", x, to.llvm)
    name = "llvm.fptosi.sat" if to.signed else "llvm.fptoui.sat"
    result = f"<{x.lanes} x {to.llvm}>" if x.lanes else to.llvm
    return b.intrinsic(name, x, type=result, overloads=(result, x.type))


def compute_dtype(dtype: DType) -> DType:
    """The dtype that arithmetic on `dtype` runs in before rounding back: f32 for the narrow floats, else itself.

    Exact for + - * / and sqrt, because f32 has more than twice the significant bits of f16 plus two.
    """
    return float32 if dtype.kind == "float" and dtype.bits < 32 else dtype


def numpy_dtype(array: Any) -> DType:
    """The element dtype of an array."""
    found = of_numpy(array.dtype.name)
    if found is None:
        raise TypeError(f"no element type holds {array.dtype}")
    return found
