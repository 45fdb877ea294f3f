"""What an integer or logic instruction of PTX does to one thread's values, on Python integers (PTX ISA 9.7.1-9.7.9).

Written from the ISA's text for the simulator to be compared with; shares nothing with it. Functions take operands as
bit patterns and return integers of any sign and size, of which a register keeps its low bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Words = frozenset[str]
Types = tuple[str, ...]
Meaning = Callable[..., Any]
ONES = 0xFFFFFFFF


def width(type_: str) -> int:
    """The bits of a type by its name."""
    if type_ == "pred":
        return 1
    if type_.startswith(("e4m3", "e5m2")):
        return 16
    if type_.endswith("x2"):
        return 32
    return {"bf16": 16, "tf32": 32}.get(type_) or int(type_.lstrip("busf"))


def value(bits: int, type_: str) -> int:
    """The number that a bit pattern means: signed for ``s`` types."""
    n = width(type_)
    bits &= (1 << n) - 1
    return bits - (1 << n) if type_[0] == "s" and bits >> (n - 1) else bits


def clamp(x: int, type_: str) -> int:
    n = width(type_)
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if type_[0] == "s" else (0, (1 << n) - 1)
    return min(max(x, low), high)


def _typed(function: Callable[..., int]) -> Callable[[Words, Types], Meaning]:
    """A row whose operands are all numbers of its first type."""
    return lambda words, types: lambda *args: function(*(value(x, types[0]) for x in args))


def _add(words: Words, types: Types, sign: int = 1) -> Meaning:
    type_ = types[0]
    if type_.endswith("x2"):
        return _halves(lambda a, b: a + b, type_)
    if "sat" in words:
        return lambda a, b: clamp(value(a, type_) + sign * value(b, type_), type_)
    return lambda a, b: a + sign * b


def _halves(function: Callable[[int, int], int], type_: str) -> Meaning:
    half = type_[:-2]

    def run(a: int, b: int) -> int:
        low, high = (function(value(a >> n, half), value(b >> n, half)) & 0xFFFF for n in (0, 16))
        return high << 16 | low

    return run


def _product(words: Words, type_: str) -> Callable[[int, int], int]:
    n = width(type_)

    def run(a: int, b: int) -> int:
        full = value(a, type_) * value(b, type_)
        return full >> n if "hi" in words else full

    return run


def _mul(words: Words, types: Types) -> Meaning:
    return _product(words, types[0])


def _mad(words: Words, types: Types) -> Meaning:
    multiply, type_ = _product(words, types[0]), types[0]
    if "sat" in words:
        return lambda a, b, c: clamp(multiply(a, b) + value(c, type_), type_)
    return lambda a, b, c: multiply(a, b) + c


def _mul24(words: Words, types: Types) -> Meaning:
    def narrow(x: int) -> int:
        x &= 0xFFFFFF
        return x - (1 << 24) if types[0] == "s32" and x >> 23 else x

    def run(a: int, b: int, c: int = 0) -> int:
        full = narrow(a) * narrow(b)
        # The upper 32 of the 48 bits.
        return (full >> 16 if "hi" in words else full) + c

    return run


def _divide(a: int, b: int) -> int:
    # By zero: the ISA leaves the value open; all ones, as the table says.
    quotient = -1 if b == 0 else abs(a) // abs(b)
    return -quotient if b and (a < 0) != (b < 0) else quotient


def _remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * _divide(a, b)


def _picked(pick: Callable[[int, int], int]) -> Callable[[Words, Types], Meaning]:
    def make(words: Words, types: Types) -> Meaning:
        if types[0].endswith("x2"):
            return _halves(pick, types[0])
        return lambda a, b: pick(value(a, types[0]), value(b, types[0]))

    return make


# Carries: the carry comes last and goes out as a second result.
def _carried(sign: int, chained: bool) -> Callable[[Words, Types], Meaning]:
    def make(words: Words, types: Types) -> Meaning:
        n = width(types[0])

        def run(a: int, b: int, carry: int = 0) -> Any:
            total = a + sign * (b + (carry if chained else 0))
            return (total, int(not 0 <= total < 1 << n)) if "cc" in words else total

        return run

    return make


def _mad_carried(words: Words, types: Types) -> Meaning:
    n, multiply = width(types[0]), _product(words, types[0])

    def run(a: int, b: int, c: int, carry: int = 0) -> Any:
        total = (multiply(a, b) & ((1 << n) - 1)) + c + carry
        return (total, total >> n) if "cc" in words else total

    return run


def _sum_or_carry(sign: int) -> Callable[[Words, Types], Meaning]:
    return lambda words, types: _carried(sign, False)(words, types) if "cc" in words else _add(words, types, sign)


def _mad_or_carry(words: Words, types: Types) -> Meaning:
    return _mad_carried(words, types) if "cc" in words else _mad(words, types)


# Bits.
def _leading(words: Words, types: Types) -> Meaning:
    return lambda a: width(types[0]) - a.bit_length()


def _find(words: Words, types: Types) -> Meaning:
    type_ = types[0]

    def run(a: int) -> int:
        x = value(a, type_)
        place = (~x if x < 0 else x).bit_length() - 1
        return ONES if place < 0 else width(type_) - 1 - place if "shiftamt" in words else place

    return run


def _reverse(words: Words, types: Types) -> Meaning:
    return lambda a: int(f"{a:0{width(types[0])}b}"[::-1], 2)


def _extract(words: Words, types: Types) -> Meaning:
    top = width(types[0]) - 1

    def run(a: int, b: int, c: int) -> int:
        position, length = b & 255, c & 255
        sign = 0 if types[0][0] == "u" or length == 0 else a >> min(position + length - 1, top) & 1
        bits = [a >> position + i & 1 if i < length and position + i <= top else sign for i in range(top + 1)]
        return sum(bit << i for i, bit in enumerate(bits))

    return run


def _insert(words: Words, types: Types) -> Meaning:
    top = width(types[0]) - 1

    def run(a: int, b: int, c: int, d: int) -> int:
        position, length = c & 255, d & 255
        for i in range(length):
            if position + i > top:
                break
            b = b & ~(1 << position + i) | (a >> i & 1) << position + i
        return b

    return run


def _extend(words: Words, types: Types) -> Meaning:
    def run(a: int, b: int) -> int:
        too_large, n = b >= 32 and "clamp" in words, b & 31
        mask = 0 if too_large else ONES << n & ONES
        if n == 0 or too_large or types[0] != "s32":
            sign = 0
        else:
            sign = a >> (n - 1) & 1
        return a & ~mask | (mask if sign else 0)

    return run


def _mask(words: Words, types: Types) -> Meaning:
    def run(a: int, b: int) -> int:
        a1, b1 = a & 31, b & 31
        low, high = ONES << a1 & ONES, 0 if a1 + b1 >= 32 else ONES << (a1 + b1) & ONES
        if "clamp" in words:
            low, high = (0 if a >= 32 else low), (0 if a >= 32 or b >= 32 else high)
        return low & ~high

    return run


def _byte(x: int, number: int, type_: str, bits: int = 8) -> int:
    return value(x >> bits * number, type_[0] + str(bits))


def _dot4(words: Words, types: Types) -> Meaning:
    return lambda a, b, c: c + sum(_byte(a, i, types[0]) * _byte(b, i, types[1]) for i in range(4))


def _dot2(words: Words, types: Types) -> Meaning:
    first = 2 if "hi" in words else 0
    return lambda a, b, c: c + sum(_byte(a, i, types[0], 16) * _byte(b, first + i, types[1]) for i in range(2))


def _absolute_differences(words: Words, types: Types) -> Meaning:
    def run(a: int, b: int, c: int) -> int:
        found = [abs(_byte(a, i, types[1]) - _byte(b, i, types[2])) for i in range(4)]
        return c + sum(found) if "add" in words else sum((x & 255) << 8 * i for i, x in enumerate(found))

    return run


def _left(words: Words, types: Types) -> Meaning:
    return lambda a, b: a << b if b < width(types[0]) else 0


def _right(words: Words, types: Types) -> Meaning:
    return lambda a, b: value(a, types[0]) >> min(b, width(types[0]))


def _funnel(words: Words, types: Types) -> Meaning:
    def run(a: int, b: int, c: int) -> int:
        n, both = min(c, 32) if "clamp" in words else c & 31, b << 32 | a
        return (both << n) >> 32 if "l" in words else both >> n

    return run


_PERMUTED = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


def _permute(words: Words, types: Types) -> Meaning:
    table = next((rows for mode, rows in _PERMUTED.items() if mode in words), None)

    def run(a: int, b: int, c: int) -> int:
        bytes_ = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]
        if table is not None:
            return sum(bytes_[source] << 8 * i for i, source in enumerate(table[c & 3]))
        result = 0
        for i in range(4):
            nibble = c >> 4 * i & 15
            byte = bytes_[nibble & 7]
            result |= ((255 if byte >> 7 else 0) if nibble & 8 else byte) << 8 * i
        return result

    return run


# Logic.
def combined(words: Words, result: bool, c: bool | int) -> bool:
    """A comparison's result combined with the predicate `c`."""
    if "and" in words:
        return result and bool(c)
    if "or" in words:
        return result or bool(c)
    return result != bool(c) if "xor" in words else result


def _lop3(words: Words, types: Types) -> Meaning:
    def run(a: int, b: int, c: int, table: int, *q: int) -> Any:
        result = 0
        for i in range(32):
            result |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i
        return (result, combined(words, result != 0, q[0])) if q else result

    return run


def compared(word: str, a: Any, b: Any) -> bool:
    """An ordered comparison of two numbers."""
    return {"eq": a == b, "ne": a != b, "lt": a < b, "lo": a < b, "le": a <= b, "ls": a <= b, "gt": a > b, "hi": a > b,
            "ge": a >= b, "hs": a >= b}[word]  # fmt: skip


COMPARISONS = ("eq", "ne", "lt", "lo", "le", "ls", "gt", "hi", "ge", "hs")


def comparison(words: Words, type_: str) -> Callable[[int, int], bool]:
    word = next(word for word in COMPARISONS if word in words)
    return lambda a, b: compared(word, value(a, type_), value(b, type_))


def set_predicate(compare: Callable[[int, int], bool], words: Words) -> Meaning:
    def run(a: int, b: int, c: int = 0) -> tuple[bool, bool]:
        found = compare(a, b)
        return combined(words, found, c), combined(words, not found, c)

    return run


def _plain(function: Meaning) -> Callable[[Words, Types], Meaning]:
    return lambda words, types: function


INTEGERS: dict[str, Callable[[Words, Types], Meaning]] = {
    "add": _sum_or_carry(1),
    "sub": _sum_or_carry(-1),
    "addc": _carried(1, True),
    "subc": _carried(-1, True),
    "mul": _mul,
    "mad": _mad_or_carry,
    "madc": _mad_carried,
    "mul24": _mul24,
    "mad24": _mul24,
    "sad": _typed(lambda a, b, c: c + abs(a - b)),
    "div": _typed(_divide),
    "rem": _typed(_remainder),
    "abs": _typed(lambda a: abs(a)),
    "neg": _typed(lambda a: -a),
    "min": _picked(min),
    "max": _picked(max),
    "popc": _plain(int.bit_count),
    "clz": _leading,
    "bfind": _find,
    "brev": _reverse,
    "bfe": _extract,
    "bfi": _insert,
    "szext": _extend,
    "bmsk": _mask,
    "dp4a": _dot4,
    "dp2a": _dot2,
    "vabsdiff4": _absolute_differences,
    "shl": _left,
    "shr": _right,
    "shf": _funnel,
    "prmt": _permute,
    "and": _plain(lambda a, b: a & b),
    "or": _plain(lambda a, b: a | b),
    "xor": _plain(lambda a, b: a ^ b),
    "not": _plain(lambda a: ~a),
    "cnot": _plain(lambda a: int(a == 0)),
    "lop3": _lop3,
    "selp": _plain(lambda a, b, p: a if p else b),
    "mov": _plain(lambda a: a),
}
