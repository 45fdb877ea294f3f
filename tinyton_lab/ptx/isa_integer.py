"""Rows of table T7: integer arithmetic, bit fields and shifts (PTX ISA 9.7.1, 9.7.2, 9.7.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.ptx.isa import Form, LaneFunction, Slot, pure, row
from tinyton_lab.ptx.types import doubled

Array = Any
WORDS = "u16 u32 u64 s16 s32 s64"
BITS = "b16 b32 b64"
_SAT = Slot("sat", ("sat",))
_CC = Slot("cc", ("cc",), True)
_U32, _U64 = np.uint32, np.uint64


def _multiply_high64(a: Array, b: Array) -> Array:
    """Upper half of a 64 x 64 unsigned product, from four 32-bit ones."""
    a, b = np.asarray(a), np.asarray(b)
    low, half = _U64(0xFFFFFFFF), _U64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> half) + (other >> half)


def multiply_high(form: Form) -> Callable[[Array, Array], Array]:
    """The function (a, b) -> upper half of the product, for the form's integer type."""
    type_ = form.type
    if type_.bits < 64:
        wide, shift = doubled(type_).compute, type_.bits
        return lambda a, b: ((a.astype(wide) * b.astype(wide)) >> wide.type(shift)).astype(type_.compute)
    if type_.kind == "unsigned":
        return _multiply_high64

    def signed(a: Array, b: Array) -> Array:
        x, y = np.asarray(a).view(np.uint64), np.asarray(b).view(np.uint64)
        high = _multiply_high64(x, y)
        high = high - np.where(a < 0, y, _U64(0)) - np.where(b < 0, x, _U64(0))
        return high.view(np.int64)

    return signed


def _saturating(form: Form, function: LaneFunction) -> LaneFunction:
    def run(a: Array, b: Array) -> Array:
        wide = function(a.astype(np.int64), b.astype(np.int64))
        return np.clip(wide, -(2**31), 2**31 - 1).astype(np.int32)

    return run


def _add(form: Form) -> LaneFunction:
    return _saturating(form, np.add) if form.has("sat") else np.add


def _sub(form: Form) -> LaneFunction:
    return _saturating(form, np.subtract) if form.has("sat") else np.subtract


def _mul(form: Form) -> LaneFunction:
    if form["part"] == "hi":
        return multiply_high(form)
    if form["part"] == "wide":
        wide = doubled(form.type).compute
        return lambda a, b: np.multiply(a, b, dtype=wide)
    return np.multiply


def _mad(form: Form) -> LaneFunction:
    multiply = _mul(form)
    if form.has("sat"):
        add = _saturating(form, np.add)
        return lambda a, b, c: add(multiply(a, b), c)
    return lambda a, b, c: multiply(a, b) + c


def _magnitudes(a: Array, b: Array) -> tuple[Array, Array]:
    raw = np.dtype(f"uint{a.dtype.itemsize * 8}")
    return np.asarray(np.abs(a)).view(raw), np.asarray(np.abs(b)).view(raw)


def _div(form: Form) -> LaneFunction:
    def divide(a: Array, b: Array) -> Array:
        return np.where(b == 0, ~a.dtype.type(0), a // b)

    def signed(a: Array, b: Array) -> Array:
        x, y = _magnitudes(a, b)
        q = (x // y).view(a.dtype)
        return np.where(b == 0, a.dtype.type(-1), np.where((a < 0) != (b < 0), -q, q))

    return signed if form.type.kind == "signed" else divide


def _rem(form: Form) -> LaneFunction:
    def remainder(a: Array, b: Array) -> Array:
        return np.where(b == 0, a, a % b)

    def signed(a: Array, b: Array) -> Array:
        x, y = _magnitudes(a, b)
        r = (x % y).view(a.dtype)
        return np.where(b == 0, a, np.where(a < 0, -r, r))

    return signed if form.type.kind == "signed" else remainder


def _population(x: Array) -> Array:
    return np.bitwise_count(x).astype(np.uint32)


def leading_zeros(x: Array) -> Array:
    """Zero bits above the most significant one; the width for 0."""
    x = np.asarray(x)
    width = x.dtype.itemsize * 8
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < width:
            x = x | (x >> x.dtype.type(shift))
    return _U32(width) - _population(x)


def _find(form: Form) -> LaneFunction:
    width = form.type.bits

    def run(a: Array) -> Array:
        bits = np.where(a < 0, ~a, a).astype(form.type.raw) if form.type.kind == "signed" else a
        zeros = leading_zeros(bits)
        place = zeros if form.has("shift") else _U32(width - 1) - zeros
        return np.where(zeros == width, _U32(0xFFFFFFFF), place)

    return run


def _reverse(x: Array) -> Array:
    x = np.asarray(x)
    one = x.dtype.type
    full = (1 << (x.dtype.itemsize * 8)) - 1
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        keep = one(mask & full)
        x = ((x >> one(shift)) & keep) | ((x & keep) << one(shift))
    return x.byteswap()


def shift_left(a: Array, b: Array) -> Array:
    """a << b, 0 for shifts by the width or more (`b` is u32)."""
    width, one = a.dtype.itemsize * 8, a.dtype.type
    if b.ndim == 0:
        return np.left_shift(a, one(b)) if b < width else np.zeros_like(a)
    return np.where(b < width, a << np.minimum(b, _U32(width - 1)).astype(a.dtype), one(0))


def shift_right(a: Array, b: Array) -> Array:
    """a >> b; shifts by the width or more give 0, or the sign of signed values."""
    width, one = a.dtype.itemsize * 8, a.dtype.type
    signed = a.dtype.kind == "i"
    if b.ndim == 0:
        if b < width or signed:
            return np.right_shift(a, one(min(int(b), width - 1)))
        return np.zeros_like(a)
    moved = a >> np.minimum(b, _U32(width - 1)).astype(a.dtype)
    return moved if signed else np.where(b < width, moved, one(0))


def _funnel(form: Form) -> LaneFunction:
    left, clamp = form["direction"] == "l", form["mode"] == "clamp"

    def run(a: Array, b: Array, c: Array) -> Array:
        n = np.minimum(c, _U32(32)) if clamp else c & _U32(31)
        both = (np.asarray(b).astype(np.uint64) << _U64(32)) | a
        if left:
            return ((both << n.astype(np.uint64)) >> _U64(32)).astype(np.uint32)
        return (both >> n.astype(np.uint64)).astype(np.uint32)

    return run


def _extract(form: Form) -> LaneFunction:
    width, signed = form.type.bits, form.type.kind == "signed"

    def run(a: Array, b: Array, c: Array) -> Array:
        position, length = b & _U32(255), c & _U32(255)
        field = shift_right(a, position)
        if not signed:
            return field & ~shift_left(np.asarray(~a.dtype.type(0)), length)
        top = _U32(width) - np.minimum(length, _U32(width))
        moved = shift_right(shift_left(field, np.asarray(top)), np.asarray(top))
        return np.where(length == 0, a.dtype.type(0), moved)

    return run


def _insert(a: Array, b: Array, c: Array, d: Array) -> Array:
    position, length = c & _U32(255), d & _U32(255)
    mask = shift_left(~shift_left(np.asarray(~a.dtype.type(0)), length), position)
    return (b & ~mask) | (shift_left(np.asarray(a), position) & mask)


def _carry_add(form: Form) -> LaneFunction:
    chained = form.row.mnemonic == "addc"

    def run(a: Array, b: Array, carry: Array = False) -> Array:
        first = a + b
        total = first + np.asarray(carry).astype(a.dtype) if chained else first
        return (total, (first < a) | (total < first)) if form.has("cc") else total

    return run


def _carry_sub(form: Form) -> LaneFunction:
    chained = form.row.mnemonic == "subc"

    def run(a: Array, b: Array, carry: Array = True) -> Array:
        # CC.CF holds "no borrow inverted": the carry flag after a subtraction is the borrow.
        borrow = np.asarray(carry).astype(a.dtype) if chained else a.dtype.type(0)
        total = a - b - borrow
        return (total, (a < b) | ((a == b) & (borrow != 0))) if form.has("cc") else total

    return run


def _carry_mad(form: Form) -> LaneFunction:
    multiply, chained = _mul(form), form.row.mnemonic == "madc"
    raw = form.type.raw

    def run(a: Array, b: Array, c: Array, carry: Array = False) -> Array:
        product, c = np.asarray(multiply(a, b)).view(raw), np.asarray(c).view(raw)
        first = product + c
        total = first + np.asarray(carry).astype(raw) if chained else first
        return (total, (first < c) | (total < first)) if form.has("cc") else total

    return run


def _bytes(x: Array, signed: bool, width: int = 8) -> list[Array]:
    count = 32 // width
    pieces = [(x >> _U32(width * i)).astype(f"uint{width}") for i in range(count)]
    return [(p.view(f"int{width}") if signed else p).astype(np.int64) for p in map(np.asarray, pieces)]


def _dot4(form: Form) -> LaneFunction:
    left, right = (t.kind == "signed" for t in form.types)

    def run(a: Array, b: Array, c: Array) -> Array:
        pairs = zip(_bytes(a, left), _bytes(b, right))
        return (c.astype(np.int64) + sum(x * y for x, y in pairs)).astype(np.uint32)

    return run


def _dot2(form: Form) -> LaneFunction:
    left, right = (t.kind == "signed" for t in form.types)
    first = 0 if form["half"] == "lo" else 2

    def run(a: Array, b: Array, c: Array) -> Array:
        pairs = zip(_bytes(a, left, 16), _bytes(b, right)[first : first + 2])
        return (c.astype(np.int64) + sum(x * y for x, y in pairs)).astype(np.uint32)

    return run


def _absolute_differences(form: Form) -> LaneFunction:
    signs = [t.kind == "signed" for t in form.types[1:]]

    def run(a: Array, b: Array, c: Array) -> Array:
        differences = [np.abs(x - y) for x, y in zip(_bytes(a, signs[0]), _bytes(b, signs[1]))]
        if form.has("add"):
            return (c.astype(np.int64) + sum(differences)).astype(np.uint32)
        return np.asarray(sum((d & 255) << 8 * i for i, d in enumerate(differences))).astype(np.uint32)

    return run


def _halves(function: LaneFunction) -> Callable[[Form], LaneFunction]:
    def make(form: Form) -> LaneFunction:
        short = np.int16 if form.type.name.startswith("s") else np.uint16

        def run(a: Array, b: Array) -> Array:
            parts = [
                np.asarray(
                    function((a >> _U32(n)).astype(np.uint16).view(short), (b >> _U32(n)).astype(np.uint16).view(short))
                )
                .view(np.uint16)
                .astype(np.uint32)
                << _U32(n)
                for n in (0, 16)
            ]
            return parts[0] | parts[1]

        return run

    return make


def _mul24(form: Form) -> LaneFunction:
    high, signed = form["part"] == "hi", form.type.kind == "signed"

    def narrow(x: Array) -> Array:
        wide = x.astype(np.int64) & 0xFFFFFF
        return np.where(wide >= 1 << 23, wide - (1 << 24), wide) if signed else wide

    def run(a: Array, b: Array, c: Array | int = 0) -> Array:
        product = narrow(a) * narrow(b)
        return ((product >> 16 if high else product) + np.asarray(c).astype(np.int64)).astype(np.uint32)

    return run


def _mask(form: Form) -> LaneFunction:
    clamp = form["mode"] == "clamp"

    def run(a: Array, b: Array) -> Array:
        position, length = (a, b) if clamp else (a & _U32(31), b & _U32(31))
        ones = np.asarray(_U32(0xFFFFFFFF))
        return shift_left(~shift_left(ones, np.asarray(length)), np.asarray(position))

    return run


def _extend(form: Form) -> LaneFunction:
    clamp = form["mode"] == "clamp"

    def run(a: Array, b: Array) -> Array:
        length = np.minimum(b, _U32(32)) if clamp else b & _U32(31)
        top = np.asarray(_U32(32) - length)
        moved = shift_right(shift_left(a, top), top)
        return np.where(length == 0, a.dtype.type(0), moved)

    return run


_PART = Slot("part", ("lo", "hi", "wide"), True)
_LOHI = Slot("part", ("lo", "hi"), True)
_MODE = Slot("mode", ("clamp", "wrap"), True)

row("add", ">d=U0 a=U0 b=U0", (WORDS,), (), _add, section="9.7.1.1", doc="Add integers; overflow wraps.")
row("add", ">d=T0 a=T0 b=T0", ("s32",), (Slot("sat", ("sat",), True),), _add, section="9.7.1.1", doc="Add, saturating.")
row("sub", ">d=U0 a=U0 b=U0", (WORDS,), (), _sub, section="9.7.1.2", doc="Subtract integers; overflow wraps.")
row(
    "sub",
    ">d=T0 a=T0 b=T0",
    ("s32",),
    (Slot("sat", ("sat",), True),),
    _sub,
    section="9.7.1.2",
    doc="Subtract, saturating.",
)
row("add", ">d=T0 a=T0 b=T0", ("u16x2 s16x2",), (), _halves(np.add), section="9.7.1.1", doc="Add two 16-bit pairs.")
for _name, _run, _section in (("add", _carry_add, "9.7.2.1"), ("sub", _carry_sub, "9.7.2.3")):
    row(
        _name,
        ">d=U0 a=U0 b=U0 >cf=carry",
        ("u32 u64 s32 s64",),
        (_CC,),
        _run,
        section=_section,
        doc="Set the carry flag as well as the result.",
    )
for _name, _run, _section in (("addc", _carry_add, "9.7.2.2"), ("subc", _carry_sub, "9.7.2.4")):
    row(
        _name,
        ">d=U0 a=U0 b=U0 c=carry >cf=carry",
        ("u32 u64 s32 s64",),
        (_CC,),
        _run,
        section=_section,
        doc="Use and set the carry flag.",
    )
    row(_name, ">d=U0 a=U0 b=U0 c=carry", ("u32 u64 s32 s64",), (), _run, section=_section, doc="Use the carry flag.")
row(
    "mul",
    ">d=U0 a=U0 b=U0",
    (WORDS,),
    (Slot("part", ("lo",), True),),
    _mul,
    section="9.7.1.3",
    doc="Lower half of a product.",
)
row(
    "mul",
    ">d=T0 a=T0 b=T0",
    (WORDS,),
    (Slot("part", ("hi",), True),),
    _mul,
    section="9.7.1.3",
    doc="Upper half of a product.",
)
row(
    "mul",
    ">d=W0 a=T0 b=T0",
    ("u16 u32 s16 s32",),
    (Slot("part", ("wide",), True),),
    _mul,
    section="9.7.1.3",
    doc="The whole product, twice as wide.",
)
row(
    "mad",
    ">d=U0 a=U0 b=U0 c=U0",
    (WORDS,),
    (Slot("part", ("lo",), True),),
    _mad,
    section="9.7.1.4",
    doc="Multiply and add.",
)
row(
    "mad",
    ">d=T0 a=T0 b=T0 c=T0",
    (WORDS,),
    (Slot("part", ("hi",), True), _SAT),
    _mad,
    section="9.7.1.4",
    doc="Add to the upper half of a product.",
)
row(
    "mad",
    ">d=W0 a=T0 b=T0 c=W0",
    ("u16 u32 s16 s32",),
    (Slot("part", ("wide",), True),),
    _mad,
    section="9.7.1.4",
    doc="Multiply and add, twice as wide.",
)
row(
    "mad",
    ">d=U0 a=T0 b=T0 c=U0 >cf=carry",
    ("u32 u64 s32 s64",),
    (_LOHI, _CC),
    _carry_mad,
    section="9.7.2.5",
    doc="Multiply, add, set the carry flag.",
)
row(
    "madc",
    ">d=U0 a=T0 b=T0 c=U0 k=carry >cf=carry",
    ("u32 u64 s32 s64",),
    (_LOHI, _CC),
    _carry_mad,
    section="9.7.2.6",
    doc="Multiply and add with carry, set the carry flag.",
)
row(
    "madc",
    ">d=U0 a=T0 b=T0 c=U0 k=carry",
    ("u32 u64 s32 s64",),
    (_LOHI,),
    _carry_mad,
    section="9.7.2.6",
    doc="Multiply and add with carry.",
)
row("mul24", ">d=U0 a=T0 b=T0", ("u32 s32",), (_LOHI,), _mul24, section="9.7.1.5", doc="Multiply 24-bit integers.")
row(
    "mad24",
    ">d=U0 a=T0 b=T0 c=T0",
    ("u32 s32",),
    (_LOHI,),
    _mul24,
    section="9.7.1.6",
    doc="Multiply 24-bit integers, add.",
)
row(
    "sad",
    ">d=T0 a=T0 b=T0 c=T0",
    (WORDS,),
    (),
    pure(lambda a, b, c: c + np.where(a < b, b - a, a - b)),
    section="9.7.1.7",
    doc="Add the absolute difference.",
)
row(
    "div",
    ">d=T0 a=T0 b=T0",
    (WORDS,),
    (),
    _div,
    pipe="xu",
    section="9.7.1.8",
    doc="Divide towards zero; by zero: all ones.",
)
row(
    "rem",
    ">d=T0 a=T0 b=T0",
    (WORDS,),
    (),
    _rem,
    pipe="xu",
    section="9.7.1.9",
    doc="Remainder, with the dividend's sign.",
)
row("abs", ">d=T0 a=T0", ("s16 s32 s64",), (), pure(np.abs), section="9.7.1.10", doc="Absolute value.")
row("neg", ">d=U0 a=U0", ("s16 s32 s64",), (), pure(np.negative), section="9.7.1.11", doc="Negate.")
row("min", ">d=T0 a=T0 b=T0", (WORDS,), (), pure(np.minimum), section="9.7.1.12", doc="The smaller.")
row("max", ">d=T0 a=T0 b=T0", (WORDS,), (), pure(np.maximum), section="9.7.1.13", doc="The larger.")
row(
    "min",
    ">d=T0 a=T0 b=T0",
    ("u16x2 s16x2",),
    (),
    _halves(np.minimum),
    section="9.7.1.12",
    doc="The smaller of each pair.",
)
row(
    "max",
    ">d=T0 a=T0 b=T0",
    ("u16x2 s16x2",),
    (),
    _halves(np.maximum),
    section="9.7.1.13",
    doc="The larger of each pair.",
)
row(
    "popc", ">d=u32 a=T0", ("b32 b64",), (), pure(_population), pipe="xu", section="9.7.1.14", doc="Count the one bits."
)
row(
    "clz",
    ">d=u32 a=T0",
    ("b32 b64",),
    (),
    pure(leading_zeros),
    pipe="xu",
    section="9.7.1.15",
    doc="Count leading zeros.",
)
row(
    "bfind",
    ">d=u32 a=T0",
    ("u32 u64 s32 s64",),
    (Slot("shift", ("shiftamt",)),),
    _find,
    pipe="xu",
    section="9.7.1.16",
    doc="Position of the most significant bit.",
)
row("brev", ">d=T0 a=T0", ("b32 b64",), (), pure(_reverse), section="9.7.1.18", doc="Reverse the bits.")
row("bfe", ">d=T0 a=T0 b=u32 c=u32", ("u32 u64 s32 s64",), (), _extract, section="9.7.1.19", doc="Extract a bit field.")
row(
    "bfi", ">f=T0 a=T0 b=T0 c=u32 d=u32", ("b32 b64",), (), pure(_insert), section="9.7.1.20", doc="Insert a bit field."
)
row("szext", ">d=T0 a=T0 b=u32", ("u32 s32",), (_MODE,), _extend, section="9.7.1.21", doc="Extend from a bit position.")
row("bmsk", ">d=T0 a=u32 b=u32", ("b32",), (_MODE,), _mask, section="9.7.1.22", doc="Make a bit mask.")
row(
    "dp4a",
    ">d=u32 a=b32 b=b32 c=T0",
    ("u32 s32", "u32 s32"),
    (),
    _dot4,
    section="9.7.1.23",
    doc="Dot product of 4 bytes.",
)
row(
    "dp2a",
    ">d=u32 a=b32 b=b32 c=T0",
    ("u32 s32", "u32 s32"),
    (Slot("half", ("lo", "hi"), True),),
    _dot2,
    section="9.7.1.24",
    doc="Dot product of 2 halves with 2 bytes.",
)
row(
    "vabsdiff4",
    ">d=u32 a=b32 b=b32 c=b32",
    ("u32 s32", "u32 s32", "u32 s32"),
    (Slot("add", ("add",)),),
    _absolute_differences,
    section="9.7.18",
    doc="Absolute differences of 4 bytes.",
)
row(
    "shl",
    ">d=T0 a=T0 b=u32+",
    (BITS,),
    (),
    pure(shift_left),
    section="9.7.8.7",
    doc="Shift left; the width or more gives 0.",
)
row("shr", ">d=T0 a=T0 b=u32+", (BITS + " " + WORDS,), (), pure(shift_right), section="9.7.8.8", doc="Shift right.")
row(
    "shf",
    ">d=T0 a=T0 b=T0 c=u32",
    ("b32",),
    (Slot("direction", ("l", "r"), True), _MODE),
    _funnel,
    section="9.7.8.6",
    doc="Shift a pair of registers.",
)
