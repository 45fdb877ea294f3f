"""Products of scaled small floats (the OCP microscaling formats), written in the language on top of `dot`."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base import dtypes
from tinyton_lab.base.protocol import Constexpr as constexpr
from tinyton_lab.language import core
from tinyton_lab.language.arranging import join
from tinyton_lab.language.builtin import LibraryFunction, constexpr_function

FORMATS = {"e4m3": dtypes.float8e4nv, "e5m2": dtypes.float8e5, "bf16": dtypes.bfloat16, "fp16": dtypes.float16}


@constexpr_function
def dtype_of(format: str) -> Any:
    """The dtype of a format whose elements fill bytes, or None."""
    return FORMATS.get(format)


@LibraryFunction
def from_e2m1(code: Any) -> Any:
    """The numbers of 4-bit codes: a sign, two bits of exponent, one of fraction."""
    exponent = (code >> 1) & 3
    half = code & 1
    magnitude = core.where(exponent == 0, half * 2, (2 + half) << exponent)
    return core.where((code & 8) != 0, -0.25, 0.25) * magnitude.to(dtypes.float32)


@LibraryFunction
def from_e8m0(scale: Any) -> Any:
    """The powers of two of 8-bit exponents, 1 being 127; 255 is NaN."""
    code = scale.to(dtypes.int32)
    bits = core.where(code == 0, 0x00400000, core.where(code == 255, 0x7FC00000, code << 23))
    return bits.to(dtypes.float32, bitcast=True)


@LibraryFunction
def unpacked(x: Any, k_pack: constexpr) -> Any:
    """Two 4-bit codes of each byte as neighbours along the last axis (K), or along the first; the low one first."""
    low = x & 15
    both = join(from_e2m1(low.to(dtypes.int32)), from_e2m1((x >> 4).to(dtypes.int32)))
    if k_pack:
        return core.reshape(both, (x.shape[0], 2 * x.shape[1]))
    return core.reshape(core.permute(both, (0, 2, 1)), (2 * x.shape[0], x.shape[1]))


@LibraryFunction
def scaled(x: Any, scale: Any, format: constexpr, k_pack: constexpr) -> Any:
    """A matrix with K along its last axis in f32, times the power of two of each group of 32."""
    core.static_assert(
        format == "e2m1" or dtype_of(format) is not None, "the formats are e2m1, e4m3, e5m2, bf16 and fp16"
    )
    if format == "e2m1":
        value = unpacked(x.to(dtypes.uint8, bitcast=True), k_pack)
    elif x.dtype == dtypes.uint8:
        value = x.to(dtype_of(format), bitcast=True).to(dtypes.float32)
    else:
        value = x.to(dtypes.float32)
    if scale is None:
        return value
    rows: constexpr = value.shape[0]
    groups: constexpr = value.shape[1] // 32
    factor = core.broadcast_to(core.expand_dims(from_e8m0(scale), 2), (rows, groups, 32))
    return value * core.reshape(factor, (rows, value.shape[1]))


@LibraryFunction
def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: constexpr,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: constexpr,
    acc: Any = None,
    fast_math: constexpr = False,
    lhs_k_pack: constexpr = True,
    rhs_k_pack: constexpr = True,
    out_dtype: constexpr = dtypes.float32,
) -> Any:
    """Product of matrices in small floats, each group of 32 elements along K times a power of two.

    A format is ``e2m1`` (two to a byte, along K unless ``k_pack`` is False), ``e4m3``, ``e5m2``, ``bf16`` or ``fp16``.
    A scale (an 8-bit exponent, e8m0) has the shape [M, K / 32] or [N, K / 32], or is None. Elements and scales become
    f32, which holds each product of the two exactly, and the matrices are multiplied and added up in f32.
    """
    left = scaled(lhs, lhs_scale, lhs_format, lhs_k_pack)
    right = scaled(core.trans(rhs), rhs_scale, rhs_format, rhs_k_pack)
    total = core.dot(left, core.trans(right), input_precision="ieee")
    if acc is not None:
        total += acc
    return total.to(out_dtype)
