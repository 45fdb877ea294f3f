"""Integer functions of the device library: counts of bits, permutations of bytes, means, products. Written in ordinary
integer arithmetic, which wraps."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import int32, int64, uint32, uint64
from tinyton_lab.language import semantic
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.emission import fault, to_value
from tinyton_lab.language.extra.arguments import alike_in_shape, integers, of_dtypes
from tinyton_lab.language.extra.pairs import bitcast, cast, where
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import elementwise

FIFTHS = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF


def _word(name: str, x: Any) -> tuple[Any, int]:
    """An integer of 32 or 64 bits as unsigned, and its width."""
    value = of_dtypes(name, x, int32, int64)
    bits = value.element.bits
    return bitcast(value, uint32 if bits == 32 else uint64), bits


def _ones(x: Any, bits: int) -> Any:
    """How many bits are set, in the type of `x`."""
    pairs, fours, eights = (mask & ((1 << bits) - 1) for mask in FIFTHS[:3])
    x = x - ((x >> 1) & pairs)
    x = (x & fours) + ((x >> 2) & fours)
    x = (x + (x >> 4)) & eights
    return (x * (0x0101010101010101 & ((1 << bits) - 1))) >> (bits - 8)


@builtin
def popc(x: Any) -> Any:
    """How many bits of an int32 or int64 are set, as int32."""
    return cast(_ones(*_word("popc", x)), int32)


@builtin
def clz(x: Any) -> Any:
    """How many zeros stand before the highest bit set of an int32 or int64, as int32; the width for 0."""
    value, bits = _word("clz", x)
    shift = 1
    while shift < bits:
        value = value | (value >> shift)
        shift *= 2
    return bits - cast(_ones(value, bits), int32)


@builtin
def ffs(x: Any) -> Any:
    """The place of the lowest bit set of an int32 or int64, counted from 1, as int32; 0 for 0."""
    value, bits = _word("ffs", x)
    below = _ones((value & (0 - value)) - 1, bits)
    return where(value == 0, 0, cast(below, int32) + 1)


@builtin
def brev(x: Any) -> Any:
    """The bits of an int32 or int64 in reverse order."""
    value, bits = _word("brev", x)
    for place, mask in enumerate(FIFTHS):
        shift, kept = 1 << place, mask & ((1 << bits) - 1)
        if shift < bits // 2:
            value = ((value >> shift) & kept) | ((value & kept) << shift)
    half = bits // 2
    return bitcast((value >> half) | (value << half), int32 if bits == 32 else int64)


@builtin
def byte_perm(x: Any, y: Any, s: Any) -> Any:
    """Four bytes of the eight in `x` (0 to 3) and `y` (4 to 7), chosen by the lowest hexadecimal digits of `s`."""
    values = alike_in_shape(*(of_dtypes("byte_perm", value, int32) for value in (x, y, s)))
    low, high, chosen = (cast(bitcast(value, uint32), uint64) for value in values)
    both, result = low | (high << 32), low & 0
    for place in range(4):
        index = (chosen >> (4 * place)) & 7
        result = result | (((both >> (index * 8)) & 255) << (8 * place))
    return bitcast(cast(result, uint32), int32)


@builtin
def mulhi(x: Any, y: Any) -> Any:
    """Upper half of the double-width product of integers of one type."""
    return semantic.binary(elementwise.mulhi, x, y)


def _of_32_bits(name: str, *operands: Any) -> tuple[Any, ...]:
    values = integers(name, *operands)
    if values[0].element not in (int32, uint32):
        raise fault("TT2013", op=name, type=spell(values[0].tile), kinds="int32 or uint32")
    return values


@builtin
def mul24(x: Any, y: Any) -> Any:
    """Product of the lower 24 bits of two integers of 32, modulo 2**32."""
    x, y = _of_32_bits("mul24", x, y)
    return ((x << 8) >> 8) * ((y << 8) >> 8)


@builtin
def sad(x: Any, y: Any, z: Any) -> Any:
    """``|x - y| + z``, without overflow in the difference."""
    x, y = _of_32_bits("sad", x, y)
    difference = where(x > y, x - y, y - x)
    extra = to_value(z) if isinstance(z, TileValue) else of_dtypes("sad", z, uint32, int32)
    return cast(difference, x.element) + bitcast(extra, x.element)


@builtin
def hadd(x: Any, y: Any) -> Any:
    """Mean of two integers of 32 bits, rounded down, without overflow."""
    x, y = _of_32_bits("hadd", x, y)
    return (x & y) + ((x ^ y) >> 1)


@builtin
def rhadd(x: Any, y: Any) -> Any:
    """Mean of two integers of 32 bits, rounded up, without overflow."""
    x, y = _of_32_bits("rhadd", x, y)
    return (x | y) - ((x ^ y) >> 1)
