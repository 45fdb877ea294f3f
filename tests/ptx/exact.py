"""Exact references for floating point: rationals rounded once, in any direction, to any of PTX's formats."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

# name: exponent bits, mantissa bits
FORMATS = {"f64": (11, 52), "f32": (8, 23), "tf32": (8, 10), "f16": (5, 10), "bf16": (8, 7), "e5m2": (5, 2)}


def decode(bits: int, name: str) -> float:
    """The value of a bit pattern (NaN and infinities as Python floats)."""
    exponent_bits, mantissa_bits = FORMATS[name]
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent = bits >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = bits & (1 << mantissa_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    if exponent == (1 << exponent_bits) - 1:
        return sign * math.inf if mantissa == 0 else math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp(mantissa | 1 << mantissa_bits, exponent - bias - mantissa_bits)


def encode(value: Fraction, name: str, rounding: str = "rn", negative_zero: bool = False) -> int:
    """The bits of a rational rounded once: rn (ties to even), rz, rm, rp or rna (ties away)."""
    exponent_bits, mantissa_bits = FORMATS[name]
    bias, top = (1 << exponent_bits - 1) - 1, (1 << exponent_bits) - 1
    negative = value < 0 or (value == 0 and negative_zero)
    sign = int(negative) << exponent_bits + mantissa_bits
    size = abs(value)
    if size == 0:
        return sign
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    exponent = max(exponent, 1 - bias)
    units = size / Fraction(2) ** (exponent - mantissa_bits)
    whole = units.numerator // units.denominator
    rest = units - whole
    whole += _up(rest, whole, rounding, negative)
    if whole >> mantissa_bits + 1:
        whole, exponent = whole >> 1, exponent + 1
    if exponent + bias >= top:
        towards_zero = rounding == "rz" or rounding == ("rp" if negative else "rm")
        return sign | (((top << mantissa_bits) - 1) if towards_zero else top << mantissa_bits)
    return sign + (
        whole if exponent == 1 - bias else ((exponent + bias) << mantissa_bits) + whole - (1 << mantissa_bits)
    )


def _up(rest: Fraction, whole: int, rounding: str, negative: bool) -> bool:
    if rounding == "rn":
        return rest > Fraction(1, 2) or (rest == Fraction(1, 2) and bool(whole & 1))
    if rounding == "rna":
        return rest >= Fraction(1, 2)
    return rest > 0 and rounding == ("rm" if negative else "rp")


def float32_bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]
