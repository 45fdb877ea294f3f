"""Floating point as PTX defines it, on numpy arrays: directed rounding, fma, small formats. No opcodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

Array = Any
U8, U16, U32, U64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
F16, F32, F64 = (np.dtype(f"float{n}") for n in (16, 32, 64))
I64 = np.dtype("int64")
_TINY32, _ZERO32 = np.float32(2.0**-126), np.float32(0)


def flush(x: Array) -> Array:
    """Subnormal f32 values become zeros of the same sign (``.ftz``)."""
    return np.where(np.abs(x) < _TINY32, np.copysign(_ZERO32, x), x)


def flush16(x: Array) -> Array:
    """Subnormal f16 values, held wider, become zeros of the same sign."""
    return np.where(np.abs(x) < 2.0**-14, np.copysign(x.dtype.type(0), x), x)


def saturate(x: Array) -> Array:
    """Clip to [+0, 1]; NaN becomes +0 (``.sat``)."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    return np.where(x > one, one, np.where(x > zero, x, zero))


def rectify(x: Array) -> Array:
    """Negative values and -0 become +0; NaN stays (``.relu``)."""
    x = np.asarray(x)
    return np.where((x > 0) | np.isnan(x), x, x.dtype.type(0))


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and its exact error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b in f64 as a rounded product and its exact error (Dekker), away from overflow and underflow."""
    p = a * b
    a_high, b_high = _split(a), _split(b)
    a_low, b_low = a - a_high, b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: Array) -> Array:
    c = a * 134217729.0
    return c - (c - a)


def round_to_odd(s: Array, e: Array) -> Array:
    """The f64 `s` + `e` rounded to odd: a later rounding to a narrower format is then exact (Boldo, Melquiond)."""
    bits = np.asarray(s).view(I64)
    inexact = (e != 0) & np.isfinite(s) & ((bits & 1) == 0)
    step = np.where((e > 0) == (s > 0), 1, -1)
    return np.where(inexact, bits + step, bits).view(F64)


def narrow(s: Array, rounding: str = "rn") -> Array:
    """f64 to f32 in the named rounding (rn rz rm rp); `s` is exact or rounded to odd."""
    r = np.asarray(s).astype(F32)
    if rounding in ("rn", ""):
        return r
    back = r.astype(F64)
    if rounding == "rz":
        return np.where(np.abs(back) > np.abs(s), np.nextafter(r, _ZERO32), r)
    if rounding == "rm":
        return np.where(back > s, np.nextafter(r, np.float32(-np.inf)), r)
    return np.where(back < s, np.nextafter(r, np.float32(np.inf)), r)


def step_by_error(r: Array, e: Array, rounding: str) -> Array:
    """Correct an rn-rounded `r` whose exact value is r + e to rz, rm or rp."""
    low, high = np.array(-np.inf, r.dtype), np.array(np.inf, r.dtype)
    if rounding == "rz":
        return np.where((e != 0) & ((e < 0) == (r > 0)), np.nextafter(r, np.array(0, r.dtype)), r)
    if rounding == "rm":
        return np.where(e < 0, np.nextafter(r, low), r)
    return np.where(e > 0, np.nextafter(r, high), r)


def zero_sum(total: Array, a: Array, b: Array, rounding: str) -> Array:
    """a + b = `total` with the sign of an exact zero: -0 in rm, unless both are +0."""
    if rounding != "rm":
        return total
    return np.where((total == 0) & (np.signbit(a) != np.signbit(b)), total.dtype.type(-0.0), total)


def add32(a: Array, b: Array, rounding: str) -> Array:
    s, e = two_sum(a.astype(F64), b.astype(F64))
    return narrow(round_to_odd(zero_sum(s, a, b, rounding), e), rounding)


def mul32(a: Array, b: Array, rounding: str) -> Array:
    return narrow(a.astype(F64) * b.astype(F64), rounding)


def div32(a: Array, b: Array, rounding: str) -> Array:
    x, y = a.astype(F64), b.astype(F64)
    q = x / y
    # q * y is exact whenever q is an f32 value; only then can the sticky bit decide.
    short = (q.astype(F32).astype(F64) == q) & np.isfinite(q) & np.isfinite(y)
    residual = np.where(short, (x - q * y) * np.sign(y), 0.0)
    return narrow(round_to_odd(q, residual), rounding)


def sqrt32(a: Array, rounding: str) -> Array:
    x = a.astype(F64)
    s = np.sqrt(x)
    short = (s.astype(F32).astype(F64) == s) & np.isfinite(s)
    return narrow(round_to_odd(s, np.where(short, x - s * s, 0.0)), rounding)


def fma_odd(a: Array, b: Array, c: Array, rounding: str = "rn") -> Array:
    """a * b + c of f32 (or narrower) values as an f64 rounded to odd; `rounding` gives the sign of a zero."""
    product = a.astype(F64) * b.astype(F64)
    s, e = two_sum(product, c.astype(F64))
    return round_to_odd(zero_sum(s, product, c, rounding), e)


def fma32(a: Array, b: Array, c: Array, rounding: str = "rn") -> Array:
    """f32 fused multiply-add with one rounding."""
    if rounding != "rn":
        return narrow(fma_odd(a, b, c, rounding), rounding)
    p = np.multiply(a, b, dtype=F64)
    s = p + c
    r = s.astype(F32)
    # Rounding twice differs only where the f64 sum looks like a tie of f32, or where f32 is subnormal.
    doubtful = (s.view(U64) & 0x1FFFFFFF) == 0x10000000
    doubtful |= np.abs(s) < 2.0**-126
    if doubtful.any():
        doubtful &= s != 0
        if doubtful.any():
            return np.where(doubtful, narrow(fma_odd(np.asarray(a), np.asarray(b), np.asarray(c))), r)
    return r


def fma64(a: Array, b: Array, c: Array, rounding: str = "rn") -> Array:
    """f64 fused multiply-add with one rounding; lanes near the ends of the range go through exact rationals."""
    a, b, c = np.broadcast_arrays(a, b, c)
    ph, pl = two_product(a, b)
    th, tl = two_sum(c, pl)
    vh, vl = two_sum(ph, th)
    z = round_to_odd(*two_sum(tl, vl))
    result, rest = two_sum(vh, z)
    if rounding != "rn":
        result = step_by_error(result, rest, rounding)
    plain = np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, a * b + c)
    size = np.abs(ph)
    safe = (size < 1e300) & (size > 1e-250) & (np.abs(c) < 1e300) & (np.abs(a) < 1e290) & (np.abs(b) < 1e290)
    zero = (ph == 0) & ((a == 0) | (b == 0))
    # What rounds to zero has its own sign, and only an exact zero has that of the rounding.
    result = zero_sum(np.where(safe, result, plain), np.copysign(1.0, a) * np.copysign(1.0, b), c, rounding)
    return _exactly(result, safe | zero, rounding, lambda x, y, w: x * y + w, a, b, c)


def _exactly(result: Array, known: Array, rounding: str, function: Callable[..., Fraction], *args: Array) -> Array:
    """`result`, with what is not `known` in it (near the ends of the range) computed with rationals."""
    doubtful = ~known
    for values in args:
        doubtful = doubtful & np.isfinite(values)
    if not doubtful.any():
        return result
    result, args = np.array(result), np.broadcast_arrays(*args)
    for index in zip(*np.nonzero(np.broadcast_to(doubtful, result.shape))):
        exact = function(*(Fraction(float(values[index])) for values in args))
        result[index] = _rounded(exact, rounding, float(result[index]))
    return result


def _rounded(value: Fraction, rounding: str, plain: float) -> float:
    """`value` rounded once; `plain` gives the sign of a zero."""
    if value == 0:
        return plain if plain == 0 else 0.0
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if rounding == "rn" or (math.isfinite(near) and Fraction(near) == value):
        return near
    above = near == math.inf or (math.isfinite(near) and Fraction(near) > value)
    wanted_above = rounding == "rp" or (rounding == "rz" and value < 0)
    if above == wanted_above:
        return near
    stepped = math.nextafter(near, math.inf if wanted_above else -math.inf)
    return math.copysign(stepped, value) if stepped == 0 else stepped


def add64(a: Array, b: Array, rounding: str) -> Array:
    s, e = two_sum(a, b)
    result = np.where(np.isfinite(s), step_by_error(s, e, rounding), s)
    result = _exactly(result, np.isfinite(s), rounding, lambda x, y: x + y, a, b)
    return zero_sum(result, a, b, rounding)


def _ordinary(*args: Array) -> Array:
    """Whether values are so far from the ends of the range that products of two of them keep all their bits."""
    good: Array = np.True_
    for x in args:
        size = np.abs(x)
        good = good & (size > 1e-140) & (size < 1e140)
    return good


def mul64(a: Array, b: Array, rounding: str) -> Array:
    p, e = two_product(a, b)
    safe = _ordinary(a, b)
    result = np.where(safe, step_by_error(p, e, rounding), p)
    return _exactly(result, safe | (a == 0) | (b == 0), rounding, lambda x, y: x * y, a, b)


def div64(a: Array, b: Array, rounding: str) -> Array:
    q = a / b
    p, e = two_product(q, b)
    residual = ((a - p) - e) * np.sign(b)
    safe = _ordinary(a, b)
    result = np.where(safe, step_by_error(q, residual, rounding), q)
    return _exactly(result, safe | (a == 0) | (b == 0), rounding, lambda x, y: x / y, a, b)


def sqrt64(a: Array, rounding: str) -> Array:
    # Scaled by an even power of two where the square would lose bits.
    scale = np.where(a < 1e-250, 2.0**400, np.where(a > 1e250, 2.0**-400, 1.0))
    root = np.where(a < 1e-250, 2.0**-200, np.where(a > 1e250, 2.0**200, 1.0))
    x = a * scale
    s = np.sqrt(x)
    p, e = two_product(s, s)
    return np.where(np.isfinite(s), step_by_error(s, (x - p) - e, rounding), s) * root


# bf16: the upper half of an f32.
def from_bf16(x: Array) -> Array:
    return (np.asarray(x).astype(U32) << np.uint32(16)).view(F32)


def to_bf16(x: Array, rounding: str = "rn") -> Array:
    """f32 (exact or rounded to odd) to bf16 bits."""
    bits = np.asarray(x, F32).view(U32)
    if rounding == "rz":
        short = bits >> np.uint32(16)
    elif rounding in ("rm", "rp"):
        up = ((bits & np.uint32(0xFFFF)) != 0) & ((bits >> np.uint32(31) == 0) == (rounding == "rp"))
        short = (bits >> np.uint32(16)) + up
    else:
        short = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), short.astype(U16))


def odd32(s: Array) -> Array:
    """f64 rounded to odd, to f32 rounded to odd."""
    r = narrow(s, "rz")
    inexact = (r.astype(F64) != s) & np.isfinite(s)
    return np.where(inexact, r.view(U32) | np.uint32(1), r.view(U32)).view(F32)


def to_f16(s: Array, rounding: str = "rn") -> Array:
    """f64 (or narrower; exact or rounded to odd) to f16."""
    r = np.asarray(s).astype(F16)
    if rounding in ("rn", ""):
        return r
    back, exact = r.astype(F64), np.asarray(s).astype(F64)
    if rounding == "rz":
        return np.where(np.abs(back) > np.abs(exact), np.nextafter(r, np.float16(0)), r)
    if rounding == "rm":
        return np.where(back > exact, np.nextafter(r, np.float16(-np.inf)), r)
    return np.where(back < exact, np.nextafter(r, np.float16(np.inf)), r)


def to_tf32(x: Array, rounding: str = "rna") -> Array:
    """f32 to tf32: the low 13 bits become zero. `rna` rounds ties away from zero."""
    bits = np.asarray(x, F32).view(U32)
    if rounding == "rna":
        bits = bits + np.uint32(0x1000)
    elif rounding == "rn":
        bits = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    return np.where(np.isfinite(x), bits & np.uint32(0xFFFFE000), np.asarray(x, F32).view(U32)).view(F32)


# fp8 through tables: 128 magnitudes each.
def _magnitudes(exponent_bits: int, mantissa_bits: int) -> Array:
    codes = np.arange(128)
    exponent, mantissa = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    bias, one = (1 << (exponent_bits - 1)) - 1, 1 << mantissa_bits
    scale = np.exp2(np.maximum(exponent, 1) - bias - mantissa_bits)
    return np.where(exponent == 0, mantissa, mantissa + one) * scale


def _table(name: str) -> tuple[Array, int, Array]:
    values = _magnitudes(4, 3) if name == "e4m3" else _magnitudes(5, 2)
    last = 126 if name == "e4m3" else 123
    decoded = values.copy()
    decoded[last + 1 :] = np.nan
    if name == "e5m2":
        decoded[124] = np.inf
    both = np.concatenate([decoded, -decoded]).astype(F32)
    return values[: last + 1], last, both


_FP8 = {name: _table(name) for name in ("e4m3", "e5m2")}


def from_fp8(x: Array, name: str) -> Array:
    return _FP8[name][2][np.asarray(x).astype(np.intp)]


def to_fp8(x: Array, name: str) -> Array:
    """f32 to fp8 bits, nearest even, saturating to the largest finite value; NaN becomes 0x7F."""
    values, last, _ = _FP8[name]
    size = np.abs(np.asarray(x).astype(F64))
    middles = (values[:-1] + values[1:]) / 2
    code = np.searchsorted(middles, np.where(np.isnan(size), 0, size), side="left")
    tie = (code < last) & (middles[np.minimum(code, last - 1)] == size) & (code & 1 == 1)
    code = (code + tie).astype(U8) | (np.signbit(x).astype(U8) << np.uint8(7))
    return np.where(np.isnan(x), np.uint8(0x7F), code)


def canonical(x: Array) -> Array:
    """The float lanes' bits as integers, every NaN being the canonical one (f64 keeps its payload)."""
    x = np.asarray(x)
    if x.dtype == F64:
        return x.view(U64)
    raw, nan = (U32, np.uint32(0x7FFFFFFF)) if x.dtype == F32 else (U16, np.uint16(0x7FFF))
    bits, wrong = x.view(raw), np.isnan(x)
    return np.where(wrong, nan, bits) if wrong.any() else bits
