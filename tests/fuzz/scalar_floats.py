"""What a floating point instruction or conversion of PTX does to one thread's values: exact rationals, rounded once.

Written from the ISA's text (9.7.3 to 9.7.6, 9.7.9.21) for the simulator to be compared with; shares nothing with it.
Operands and results are bit patterns. A NaN that arithmetic gives is canonical; where the ISA leaves a sign or payload
open, the choice of docs/simulator.md holds.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from tests.fuzz.scalar_integers import (
    INTEGERS,
    Meaning,
    Types,
    Words,
    clamp,
    combined,
    comparison,
    set_predicate,
    value,
)
from tests.ptx.exact import FORMATS, encode
from tests.ptx.exact import decode as decoded

NAN = {"f64": 0x7FF8 << 48, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF}
ROUNDINGS = ("rn", "rz", "rm", "rp", "rna")
_WHOLE: dict[str, Callable[[float], int]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
_WIDTH = {"f64": 64, "f32": 32, "tf32": 32, "f16": 16, "bf16": 16}


def is_float(type_: str) -> bool:
    return type_.removesuffix("x2") in FORMATS or type_.startswith("e4m3")


def rounding_of(words: Words) -> str:
    return next((word for word in ROUNDINGS if word in words), "rn")


def decode(bits: int, name: str) -> float:
    if name in ("f32", "tf32"):
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    return struct.unpack("<d", struct.pack("<Q", bits))[0] if name == "f64" else decoded(bits, name)


def sign_of(bits: int, name: str) -> int:
    return bits >> _WIDTH[name] - 1


def infinity(name: str, negative: bool) -> int:
    exponent, mantissa = FORMATS["f32" if name == "tf32" else name]
    return ((1 << exponent) - 1) << mantissa | int(negative) << exponent + mantissa


def encoded(x: float | Fraction, name: str, rounding: str = "rn", negative_zero: bool = False) -> int:
    """The bits of a number rounded once. A float's own sign decides for zero."""
    if isinstance(x, float):
        if math.isnan(x):
            return NAN[name]
        if math.isinf(x):
            return infinity(name, x < 0)
        if rounding == "rn" and name == "f64":
            return struct.unpack("<Q", struct.pack("<d", x))[0]
        if rounding == "rn" and name == "f32" and abs(x) < 3e38:
            return struct.unpack("<I", struct.pack("<f", x))[0]
        negative_zero = math.copysign(1, x) < 0
    bits = encode(Fraction(x), name, rounding, negative_zero)
    return bits << 13 if name == "tf32" else bits


def flushed(bits: int, name: str) -> int:
    """A subnormal becomes a zero of its sign."""
    exponent, mantissa = FORMATS[name]
    return bits if bits >> mantissa & (1 << exponent) - 1 else bits >> exponent + mantissa << exponent + mantissa


def limited(bits: int, name: str, words: Words) -> int:
    """``.sat`` and ``.relu`` on a result: what is not above zero is +0; NaN is +0, or the canonical NaN."""
    if "sat" not in words and "relu" not in words:
        return bits
    x = decode(bits, name)
    if math.isnan(x):
        return 0 if "sat" in words else NAN[name]
    if x <= 0:
        return 0
    return encoded(1.0, name) if "sat" in words and x > 1 else bits


# Arithmetic on values, exact before it is rounded.
def _sum(a: float, b: float, name: str, rounding: str) -> int:
    return _fused(1.0, a, b, name, rounding)


def _fused(a: float, b: float, c: float, name: str, rounding: str) -> int:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        # Infinities and NaN do not depend on magnitudes.
        small = [x if not math.isfinite(x) else math.copysign(1 if x else 0, x) for x in (a, b, c)]
        return encoded(small[0] * small[1] + small[2], name)
    product, negative = Fraction(a) * Fraction(b), math.copysign(1, a) * math.copysign(1, b) < 0
    total = product + Fraction(c)
    if total == 0:
        same = negative == (math.copysign(1, c) < 0)
        return encode(total, name, rounding, negative if same and not product else rounding == "rm")
    return encoded(total, name, rounding)


def _times(a: float, b: float, name: str, rounding: str) -> int:
    if not (math.isfinite(a) and math.isfinite(b)):
        return encoded(a * b, name)
    negative = math.copysign(1, a) * math.copysign(1, b) < 0
    return encoded(Fraction(a) * Fraction(b), name, rounding, negative)


def _quotient(a: float, b: float, name: str, rounding: str) -> int:
    negative = math.copysign(1, a) * math.copysign(1, b) < 0
    if math.isnan(a) or math.isnan(b) or (a == 0 and b == 0) or (math.isinf(a) and math.isinf(b)):
        return NAN[name]
    if math.isinf(a) or b == 0:
        return infinity(name, negative)
    return encoded(Fraction(0) if math.isinf(b) else Fraction(a) / Fraction(b), name, rounding, negative)


def _root(a: float, name: str, rounding: str) -> int:
    if math.isnan(a) or a < 0:
        return NAN[name]
    if a == 0 or math.isinf(a):
        return encoded(a, name)
    exact, scale = Fraction(a), 1 << 700
    whole = exact * scale * scale
    root = math.isqrt(whole.numerator // whole.denominator)
    # A half more where the root goes on: it is never on the edge between two results.
    rest = Fraction(0) if root * root == whole else Fraction(1, 2)
    return encoded((root + rest) / scale, name, rounding)


_ARITHMETIC: dict[str, Callable[..., int]] = {
    "add": _sum,
    "sub": lambda a, b, name, rounding: _sum(a, -b, name, rounding),
    "mul": _times,
    "fma": _fused,
    "mad": _fused,
    "div": _quotient,
    "rcp": lambda a, name, rounding: _quotient(1.0, a, name, rounding),
    "sqrt": _root,
}
# One rounding to double and one to f32 is the same as one to f32: 53 bits are more than twice 24 (Figueroa 1995).
_QUICK: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
}  # fmt: skip


def _arithmetic(mnemonic: str) -> Callable[[Words, Types], Meaning]:
    def make(words: Words, types: Types) -> Meaning:
        name, rounding = types[0].removesuffix("x2"), rounding_of(words)
        function, quick = _ARITHMETIC[mnemonic], _QUICK.get(mnemonic)

        def one(*args: int) -> int:
            if "ftz" in words:
                args = tuple(flushed(x, name) for x in args)
            numbers = [decode(x, name) for x in args]
            if quick is not None and rounding == "rn" and name in ("f32", "f64"):
                result = encoded(quick(*numbers), name)
            else:
                result = function(*numbers, name, rounding)
            result = limited(result, name, words)
            return flushed(result, name) if "ftz" in words else result

        return one if name == types[0] else pairwise(one)

    return make


def pairwise(one: Callable[..., int]) -> Meaning:
    """A function of 16-bit values on both halves of 32-bit ones."""

    def run(*args: int) -> int:
        low, high = (one(*(x >> n & 0xFFFF for x in args)) for n in (0, 16))
        return high << 16 | low

    return run


def _chosen(smaller: bool) -> Callable[[Words, Types], Meaning]:
    def make(words: Words, types: Types) -> Meaning:
        name = types[0].removesuffix("x2")
        top = 1 << _WIDTH[name] - 1

        def pick(a: int, b: int) -> int:
            x, y = decode(a, name), decode(b, name)
            if math.isnan(x) or math.isnan(y):
                if "NaN" in words or (math.isnan(x) and math.isnan(y)):
                    return NAN[name]
                return b if math.isnan(x) else a
            if x == y:
                # -0 is less than +0.
                return max(a, b) if smaller else min(a, b)
            return a if (x < y) == smaller else b

        def one(a: int, b: int) -> int:
            if "ftz" in words:
                a, b = flushed(a, name), flushed(b, name)
            if "xorsign" not in words:
                return pick(a, b)
            result = pick(a & ~top, b & ~top)
            return NAN[name] if math.isnan(decode(result, name)) else result | (a ^ b) & top

        return one if name == types[0] else pairwise(one)

    return make


def _signed(mnemonic: str) -> Callable[[Words, Types], Meaning]:
    def make(words: Words, types: Types) -> Meaning:
        name = types[0].removesuffix("x2")
        top = 1 << _WIDTH[name] - 1

        def one(a: int) -> int:
            a = flushed(a, name) if "ftz" in words else a
            if name == "f32" and math.isnan(decode(a, name)):
                return NAN[name]
            return a ^ top if mnemonic == "neg" else a & ~top

        return one if name == types[0] else pairwise(one)

    return make


def _copysign(words: Words, types: Types) -> Meaning:
    top = 1 << _WIDTH[types[0]] - 1
    return lambda a, b: b & ~top | a & top


def _class(words: Words, types: Types) -> Meaning:
    name = types[0]

    def run(a: int) -> bool:
        x = decode(a, name)
        subnormal = x != 0 and flushed(a, name) != a
        return {
            "finite": math.isfinite(x),
            "infinite": math.isinf(x),
            "number": not math.isnan(x),
            "notanumber": math.isnan(x),
            # Zeros count as normal numbers.
            "normal": math.isfinite(x) and not subnormal,
            "subnormal": subnormal,
        }[next(word for word in words)]

    return run


# Comparisons.
def _holds(word: str, x: float, y: float) -> bool:
    unordered = math.isnan(x) or math.isnan(y)
    if word in ("num", "nan"):
        return unordered == (word == "nan")
    if unordered:
        return word.endswith("u")
    base = word.removesuffix("u")
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[base]


_FLOAT_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def _float_comparison(words: Words, name: str) -> Callable[[int, int], bool]:
    word = next(word for word in _FLOAT_COMPARISONS if word in words)

    def compare(a: int, b: int) -> bool:
        if "ftz" in words:
            a, b = flushed(a, name), flushed(b, name)
        return _holds(word, decode(a, name), decode(b, name))

    return compare


def _comparison(words: Words, type_: str) -> Callable[[int, int], bool]:
    if not is_float(type_):
        return comparison(words, type_)
    # Only the narrow types are flushed.
    return _float_comparison(words if type_ != "f64" else words - {"ftz"}, type_)


def _set_predicate(words: Words, types: Types) -> Meaning:
    type_ = types[0]
    if not type_.endswith("x2"):
        return set_predicate(_comparison(words, type_), words)
    compare = _float_comparison(words, type_[:-2])

    def run(a: int, b: int, c: int = 0) -> tuple[bool, bool]:
        low, high = (combined(words, compare(a >> n & 0xFFFF, b >> n & 0xFFFF), c) for n in (0, 16))
        return low, high

    return run


def _set(words: Words, types: Types) -> Meaning:
    target, source = types
    if source.endswith("x2"):
        compare = _float_comparison(words, source[:-2])
        one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(target, 0xFFFF)

        def pair(a: int, b: int, c: int = 0) -> int:
            low, high = (combined(words, compare(a >> n & 0xFFFF, b >> n & 0xFFFF), c) for n in (0, 16))
            return (one if low else 0) | (one if high else 0) << 16

        return pair
    compare = _comparison(words, source)
    true = encoded(1.0, target) if is_float(target) else -1
    return lambda a, b, c=0: true if combined(words, compare(a, b), c) else 0


def _select_by_sign(words: Words, types: Types) -> Meaning:
    if types[1] == "s32":
        return lambda a, b, c: a if value(c, "s32") >= 0 else b
    # A subnormal below zero is flushed to -0, which is not below zero.
    return lambda a, b, c: a if decode(flushed(c, "f32") if "ftz" in words else c, "f32") >= 0 else b


# Conversions.
def _whole_word(words: Words) -> str:
    return next((word for word in _WHOLE if word in words), "")


def _to_whole(x: float, word: str) -> int:
    return _WHOLE[word](x)


def _convert(words: Words, types: Types) -> Meaning:
    if "pack" in words:
        return _pack_integers(types)
    target, source = types[0], types[1]
    if target.endswith("x2") or source.endswith("x2"):
        return _convert_pair(words, target, source)
    if not is_float(target):
        if not is_float(source):
            if "sat" in words:
                return lambda a: clamp(value(a, source), target)
            return lambda a: value(a, target) if _narrower(target, source) else value(value(a, source), target)
        return _float_to_integer(words, target, source)
    if not is_float(source):
        return _integer_to_float(words, target, source)
    return _float_to_float(words, target, source)


def _narrower(target: str, source: str) -> bool:
    return int(target[1:]) <= int(source[1:])


def _float_to_integer(words: Words, target: str, source: str) -> Meaning:
    word = _whole_word(words)

    def run(a: int) -> int:
        x = decode(flushed(a, source) if "ftz" in words else a, source)
        if math.isnan(x):
            return 0
        if math.isinf(x):
            return clamp((1 << 70) * (1 if x > 0 else -1), target)
        return clamp(_to_whole(x, word), target)

    return run


def _integer_to_float(words: Words, target: str, source: str) -> Meaning:
    rounding = rounding_of(words)
    return lambda a: limited(encoded(Fraction(value(a, source)), target, rounding), target, words)


_LARGEST = {
    "f16": 65504.0,
    "bf16": decoded(0x7F7F, "bf16"),
    "tf32": decoded(0x3FBFF, "tf32"),
    "e5m2": 57344.0,
    "e4m3": 448.0,
}


def _rounded(x: float, target: str, words: Words) -> int:
    """A number in a narrow format; ``.satfinite`` never gives infinity."""
    result = encoded(x, target, rounding_of(words))
    if "satfinite" in words and not math.isnan(x) and abs(x) > _LARGEST[target]:
        result = encoded(math.copysign(_LARGEST[target], x), target)
    return limited(result, target, words)


def _float_to_float(words: Words, target: str, source: str) -> Meaning:
    whole = _whole_word(words)

    def run(a: int) -> int:
        if "ftz" in words and source == "f32":
            a = flushed(a, source)
        x = decode(a, source)
        if whole and math.isfinite(x):
            x = math.copysign(float(_to_whole(x, whole)), x)
        if target == source and not whole and "sat" not in words:
            result = NAN[target] if math.isnan(x) and target != "f64" else a
        else:
            result = _rounded(x, target, words)
        return flushed(result, target) if "ftz" in words and target == "f32" else result

    return run


def _convert_pair(words: Words, target: str, source: str) -> Meaning:
    if target.startswith(("e4m3", "e5m2")):
        name = target[:-2]
        if source == "f32":
            return lambda a, b: _eight(decode(a, "f32"), name, words) << 8 | _eight(decode(b, "f32"), name, words)
        return lambda a: sum(_eight(decode(a >> n & 0xFFFF, "f16"), name, words) << n // 2 for n in (0, 16))
    if source.startswith(("e4m3", "e5m2")):
        name = source[:-2]

        def widen(bits: int) -> int:
            return limited(encoded(_from_eight(bits, name), "f16"), "f16", words)

        return lambda a: widen(a & 255) | widen(a >> 8 & 255) << 16
    name = target[:-2]
    # The first operand goes to the upper half.
    return lambda a, b: _rounded(decode(a, "f32"), name, words) << 16 | _rounded(decode(b, "f32"), name, words)


def _from_eight(bits: int, name: str) -> float:
    if name == "e5m2":
        return decoded(bits, "e5m2")
    sign, exponent, mantissa = -1.0 if bits >> 7 else 1.0, bits >> 3 & 15, bits & 7
    if exponent == 15 and mantissa == 7:
        return math.nan
    return sign * (math.ldexp(mantissa, -9) if exponent == 0 else math.ldexp(8 + mantissa, exponent - 10))


@cache
def _eights(name: str) -> tuple[tuple[Fraction, int], ...]:
    """All finite values of an 8-bit format that are not below zero, with their bits."""
    found = [(_from_eight(bits, name), bits) for bits in range(128)]
    return tuple((Fraction(x), bits) for x, bits in found if math.isfinite(x))


def _eight(x: float, name: str, words: Words) -> int:
    """The nearest value of an 8-bit format, ties to the even pattern; too large ones become the largest."""
    if math.isnan(x):
        return 0x7F
    if "relu" in words and x <= 0:
        return 0
    sign = 0x80 if math.copysign(1, x) < 0 else 0
    if abs(x) >= _LARGEST[name]:
        return sign | _eights(name)[-1][1]
    exact = abs(Fraction(x))
    return sign | min(_eights(name), key=lambda row: (abs(row[0] - exact), row[1] & 1))[1]


def _pack_integers(types: Types) -> Meaning:
    target, n = types[0], int(types[0][1:])

    def run(a: int, b: int, c: int = 0) -> int:
        one, two = (clamp(value(x, "s32"), target) & (1 << n) - 1 for x in (a, b))
        return c << 2 * n | one << n | two

    return run


_FLOATS: dict[str, Callable[[Words, Types], Meaning]] = {
    **{name: _arithmetic(name) for name in _ARITHMETIC},
    "min": _chosen(True),
    "max": _chosen(False),
    "neg": _signed("neg"),
    "abs": _signed("abs"),
    "copysign": _copysign,
    "testp": _class,
}
_BOTH: dict[str, Callable[[Words, Types], Meaning]] = {
    "setp": _set_predicate,
    "set": _set,
    "slct": _select_by_sign,
    "cvt": _convert,
}
_TYPE_NAMES = frozenset(
    "pred b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 tf32 f32 f64 f16x2 bf16x2 u16x2 s16x2 e4m3x2 "
    "e5m2x2".split()
)


@cache
def meaning(opcode: str) -> Meaning:
    """The function of an instruction without effects, by its opcode with all modifiers.

    >>> meaning("add.sat.s32")(0x7FFFFFFF, 1) == 0x7FFFFFFF
    True
    >>> hex(meaning("add.rn.f32")(0x3F800000, 0x3F800000))
    '0x40000000'
    """
    mnemonic, *rest = opcode.split(".")
    types = tuple(word for word in rest if word in _TYPE_NAMES)
    words = frozenset(word for word in rest if word not in _TYPE_NAMES)
    if mnemonic in _BOTH:
        return _BOTH[mnemonic](words, types)
    table: dict[str, Any] = _FLOATS if is_float(types[0]) and mnemonic in _FLOATS else INTEGERS
    return table[mnemonic](words, types)


def known(opcode: str) -> bool:
    """Whether an instruction has a meaning here; approximations have none."""
    try:
        meaning(opcode)
    except (KeyError, StopIteration, ValueError, IndexError):
        return False
    return "approx" not in opcode.split(".") and "full" not in opcode.split(".")
