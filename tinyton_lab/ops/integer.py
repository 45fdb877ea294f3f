"""Integer arithmetic that needs care, in numpy and in LLVM: division without traps, clamped shifts, wide products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DType, integer_range


def quotient(x: Any, y: Any) -> Any:
    """``x / y`` toward zero; all ones for y = 0; wraps for the least integer / -1."""
    safe = np.where(y == 0, np.ones_like(y), y)
    floor = x // safe
    up = (x - floor * safe != 0) & ((x < 0) != (safe < 0)) if x.dtype.kind == "i" else np.zeros(np.shape(x), bool)
    return np.where(y == 0, ~np.zeros_like(x), floor + up.astype(x.dtype)).astype(x.dtype)


def remainder(x: Any, y: Any) -> Any:
    """``x - quotient(x, y) * y``: the sign of x; x itself for y = 0."""
    return np.where(y == 0, x, x - quotient(x, y) * y).astype(x.dtype)


def shift_left(x: Any, y: Any) -> Any:
    bits = x.dtype.itemsize * 8
    return np.where(_too_far(y, bits), np.zeros_like(x), x << _amount(y, bits)).astype(x.dtype)


def shift_right(x: Any, y: Any) -> Any:
    bits = x.dtype.itemsize * 8
    far = np.where(x < 0, ~np.zeros_like(x), np.zeros_like(x)) if x.dtype.kind == "i" else np.zeros_like(x)
    return np.where(_too_far(y, bits), far, x >> _amount(y, bits)).astype(x.dtype)


def shift_right_logical(x: Any, y: Any) -> Any:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return shift_right(x.astype(unsigned), y.astype(unsigned)).astype(x.dtype)


def _too_far(y: Any, bits: int) -> Any:
    return y.astype(np.dtype(f"u{y.dtype.itemsize}")) >= bits


def _amount(y: Any, bits: int) -> Any:
    return y & np.asarray(bits - 1, y.dtype)


def high_product(x: Any, y: Any) -> Any:
    bits = x.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{x.dtype.kind}{x.dtype.itemsize * 2}")
        return ((x.astype(wide) * y.astype(wide)) >> np.asarray(bits, wide)).astype(x.dtype)
    high = _high_product_u64(x.astype(np.uint64), y.astype(np.uint64)).astype(x.dtype)
    if x.dtype.kind == "u":
        return high
    zero = np.zeros_like(x)
    return high - np.where(x < 0, y, zero) - np.where(y < 0, x, zero)


def _high_product_u64(x: Any, y: Any) -> Any:
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> shift, y & low, y >> shift
    middle = x1 * y0 + (x0 * y0 >> shift)
    other = x0 * y1 + (middle & low)
    return x1 * y1 + (middle >> shift) + (other >> shift)


# The same in LLVM.
def emit_quotient(b: Any, dtype: DType, x: Any, y: Any) -> Any:
    zero, one, ones = (
        b.constant(dtype, 0, x),
        b.constant(dtype, 1, x),
        b.constant(dtype, -1 if dtype.signed else integer_range(dtype)[1], x),
    )
    by_zero = b.compare("icmp eq", y, zero)
    if not dtype.signed:
        return b.select(by_zero, ones, b.binary("udiv", x, b.select(by_zero, one, y)))
    minus = b.compare("icmp eq", y, ones)
    safe = b.select(b.binary("or", by_zero, minus), one, y)
    plain = b.binary("sdiv", x, safe)
    negated = b.select(minus, b.binary("sub", zero, x), plain)
    return b.select(by_zero, ones, negated)


def emit_remainder(b: Any, dtype: DType, x: Any, y: Any) -> Any:
    zero, one = b.constant(dtype, 0, x), b.constant(dtype, 1, x)
    by_zero = b.compare("icmp eq", y, zero)
    if not dtype.signed:
        return b.select(by_zero, x, b.binary("urem", x, b.select(by_zero, one, y)))
    minus = b.compare("icmp eq", y, b.constant(dtype, -1, x))
    safe = b.select(b.binary("or", by_zero, minus), one, y)  # x % -1 is x % 1
    return b.select(by_zero, x, b.binary("srem", x, safe))


def emit_shift(kind: str) -> Callable[..., Any]:
    """``shl``, ``shr`` (by signedness) or ``lshr``, clamped as PTX does."""

    def emit(b: Any, dtype: DType, x: Any, y: Any) -> Any:
        instruction = {"shl": "shl", "lshr": "lshr"}.get(kind, "ashr" if dtype.signed else "lshr")
        limit = b.constant(dtype, dtype.bits - 1, x)
        too_far = b.compare("icmp ugt", y, limit)
        amount = b.select(too_far, limit, y)
        shifted = b.binary(instruction, x, amount)
        return shifted if instruction == "ashr" else b.select(too_far, b.constant(dtype, 0, x), shifted)

    return emit


def emit_high_product(b: Any, dtype: DType, x: Any, y: Any) -> Any:
    wide = f"i{dtype.bits * 2}"
    extend = "sext" if dtype.signed else "zext"
    product = b.binary("mul", b.convert(extend, x, wide), b.convert(extend, y, wide))
    bits = type(x)(f"splat ({wide} {dtype.bits})" if x.lanes else str(dtype.bits), product.type)
    return b.convert("trunc", b.binary("lshr", product, bits), dtype.llvm)
