"""Rows of table T7: logic, comparison, selection and permutation of bits (PTX ISA 9.7.5 to 9.7.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.ptx.isa import Form, LaneFunction, Slot, TwoResults, pure, row
from tinyton_lab.ptx.numerics import flush, flush16, from_bf16

Array = Any
_LOGIC = "pred b16 b32 b64"
_NUMBERS = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 f16 bf16"
_FTZ = Slot("ftz", ("ftz",))
_BOOL = Slot("bool", ("and", "or", "xor"))
COMPARISONS = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "lo",
    "ls",
    "hi",
    "hs",
    "equ",
    "neu",
    "ltu",
    "leu",
    "gtu",
    "geu",
    "num",
    "nan",
)
_COMPARE = Slot("compare", COMPARISONS, True)
_INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def float_comparison(word: str) -> LaneFunction:
    """The comparison `word` on float lanes: plain words are false for NaN, those ending in u true."""
    if word in ("num", "nan"):
        return lambda a, b: _unordered(a, b) == (word == "nan")
    if word == "ne":
        return lambda a, b: (a < b) | (a > b)
    if word == "neu":
        return np.not_equal
    if word.endswith("u"):
        # a <= b or unordered is exactly "not a > b".
        opposite = {
            "equ": lambda a, b: (a < b) | (a > b),
            "ltu": np.greater_equal,
            "leu": np.greater,
            "gtu": np.less_equal,
            "geu": np.less,
        }[word]
        return lambda a, b: ~opposite(a, b)
    return _INTEGER[word]


def comparison(form: Form, position: int = 0) -> LaneFunction:
    """The comparison that `form` names on lanes of its type number `position`."""
    type_, word = form.types[position], form["compare"]
    if type_.kind != "float":
        return _INTEGER.get(word, np.equal)
    compare = float_comparison(word)
    if type_.name == "bf16":
        return lambda a, b: compare(from_bf16(a), from_bf16(b))
    if form.has("ftz") and type_.name in ("f16", "f32"):
        zero = flush if type_.name == "f32" else flush16
        return lambda a, b: compare(zero(a), zero(b))
    return compare


def _setp(form: Form) -> TwoResults:
    compare, combine = comparison(form), _COMBINE.get(form["bool"])

    def first(a: Array, b: Array, c: Array = True) -> Array:
        return compare(a, b) if combine is None else combine(compare(a, b), c)

    def both(a: Array, b: Array, c: Array = True) -> Array:
        result = compare(a, b)
        return (result, ~result) if combine is None else (combine(result, c), combine(~result, c))

    return TwoResults(compare if combine is None else first, both)


def _halves(x: Array) -> list[Array]:
    return [np.asarray(x).astype(np.uint16), np.asarray(x >> np.uint32(16)).astype(np.uint16)]


def _pair_values(form: Form, x: Array) -> list[Array]:
    if form.types[-1].name == "bf16x2":
        return [from_bf16(h) for h in _halves(x)]
    halves = [h.view(np.float16) for h in _halves(x)]
    return [flush16(h) for h in halves] if form.has("ftz") else halves


def _setp_pair(form: Form) -> TwoResults:
    compare, combine = float_comparison(form["compare"]), _COMBINE.get(form["bool"])

    def run(a: Array, b: Array, c: Array = True) -> Array:
        results = tuple(compare(x, y) for x, y in zip(_pair_values(form, a), _pair_values(form, b)))
        return results if combine is None else tuple(combine(r, c) for r in results)

    return TwoResults(lambda *values: run(*values)[0], run)


def _set(form: Form) -> LaneFunction:
    compare, combine, target = comparison(form, 1), _COMBINE.get(form["bool"]), form.type

    def run(a: Array, b: Array, c: Array = True) -> Array:
        result = compare(a, b)
        result = result if combine is None else combine(result, c)
        if target.name == "bf16":
            return np.where(result, np.uint16(0x3F80), np.uint16(0))
        if target.kind == "float":
            return result.astype(target.compute)
        return np.where(result, ~target.raw.type(0), target.raw.type(0)).view(target.compute)

    return run


def _set_pair(form: Form) -> LaneFunction:
    compare, combine = float_comparison(form["compare"]), _COMBINE.get(form["bool"])
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(form.type.name, 0xFFFF)

    def run(a: Array, b: Array, c: Array = True) -> Array:
        parts = [compare(x, y) for x, y in zip(_pair_values(form, a), _pair_values(form, b))]
        parts = parts if combine is None else [combine(p, c) for p in parts]
        return np.where(parts[0], np.uint32(one), np.uint32(0)) | np.where(parts[1], np.uint32(one << 16), np.uint32(0))

    return run


def _select(a: Array, b: Array, p: Array) -> Array:
    return np.where(p, a, b)


def _lop3(a: Array, b: Array, c: Array, table: Array) -> Array:
    """The truth table's bit number 4a+2b+c (PTX ISA 9.7.8.5)."""
    code, terms = int(np.asarray(table).flat[0]), []
    for index in range(8):
        if code >> index & 1:
            terms.append((a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c))
    result = a & ~a
    for term in terms:
        result = result | term
    return result


def _lop3_predicate(form: Form) -> TwoResults:
    combine = _COMBINE[form["bool"]]

    def run(a: Array, b: Array, c: Array, table: Array, q: Array) -> Array:
        result = _lop3(a, b, c, table)
        return result, combine(result != 0, q)

    return TwoResults(lambda *values: run(*values)[0], run)


_PERMUTE_MODES = {
    "f4e": lambda s: (s, s + 1, s + 2, s + 3),
    "b4e": lambda s: (s, s + 7, s + 6, s + 5),
    "rc8": lambda s: (s, s, s, s),
    "ecl": lambda s: tuple(np.maximum(s, k) for k in range(4)),
    "ecr": lambda s: tuple(np.minimum(s, k) for k in range(4)),
    "rc16": lambda s: ((s & 1) * 2, (s & 1) * 2 + 1, (s & 1) * 2, (s & 1) * 2 + 1),
}


def _permute(form: Form) -> LaneFunction:
    mode = form["mode"]

    def run(a: Array, b: Array, c: Array) -> Array:
        both = (np.asarray(b).astype(np.uint64) << np.uint64(32)) | a
        result: Array = np.uint32(0)
        chosen = _PERMUTE_MODES[mode]((c & np.uint32(3)).astype(np.int64)) if mode else None
        for place in range(4):
            nibble = (c >> np.uint32(4 * place)) & np.uint32(15) if chosen is None else chosen[place]
            source = (nibble & np.asarray(7, np.asarray(nibble).dtype)).astype(np.uint64)
            byte = ((both >> (source * np.uint64(8))) & np.uint64(255)).astype(np.uint32)
            if chosen is None:
                sign = np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0))
                byte = np.where(nibble & np.uint32(8), sign, byte)
            result = result | (byte << np.uint32(8 * place))
        return result

    return run


def _slct(form: Form) -> LaneFunction:
    flushing = form.has("ftz") and form.types[1].name == "f32"
    return lambda a, b, c: np.where((flush(c) if flushing else c) >= 0, a, b)


row("and", ">d=T0 a=T0 b=T0", (_LOGIC,), (), pure(np.bitwise_and), section="9.7.8.1", doc="Bitwise and.")
row("or", ">d=T0 a=T0 b=T0", (_LOGIC,), (), pure(np.bitwise_or), section="9.7.8.2", doc="Bitwise or.")
row("xor", ">d=T0 a=T0 b=T0", (_LOGIC,), (), pure(np.bitwise_xor), section="9.7.8.3", doc="Bitwise exclusive or.")
row("not", ">d=T0 a=T0", (_LOGIC,), (), pure(np.bitwise_not), section="9.7.8.4", doc="Bitwise complement.")
row(
    "cnot",
    ">d=T0 a=T0",
    ("b16 b32 b64",),
    (),
    pure(lambda a: (a == 0).astype(a.dtype)),
    section="9.7.8.5",
    doc="1 where the value is 0.",
)
row(
    "lop3",
    ">d=T0 a=T0 b=T0 c=T0 table=b32",
    ("b32",),
    (),
    pure(_lop3),
    section="9.7.8.6",
    doc="Any function of 3 bits.",
)
row(
    "lop3",
    ">d|p=T0|pred a=T0 b=T0 c=T0 table=b32 q=pred",
    ("b32",),
    (Slot("bool", ("and", "or"), True),),
    _lop3_predicate,
    section="9.7.8.6",
    doc="Any function of 3 bits, and whether it is not 0.",
)
row(
    "prmt",
    ">d=T0 a=T0 b=T0 c=b32",
    ("b32",),
    (Slot("mode", tuple(_PERMUTE_MODES)),),
    _permute,
    section="9.7.9.7",
    doc="Pick bytes from a pair of registers.",
)
row(
    "setp",
    ">p|q=pred a=T0 b=T0 c?=pred",
    (_NUMBERS,),
    (_COMPARE, _BOOL, _FTZ),
    _setp,
    section="9.7.6.2",
    doc="Compare into a predicate.",
)
row(
    "setp",
    ">p|q=pred a=T0 b=T0 c?=pred",
    ("f16x2 bf16x2",),
    (_COMPARE, _BOOL, _FTZ),
    _setp_pair,
    section="9.7.7.2",
    doc="Compare pairs into two predicates.",
)
row(
    "set",
    ">d=T0 a=T1 b=T1 c?=pred",
    ("u32 s32 f32 f16 bf16 u16 s16", _NUMBERS),
    (_COMPARE, _BOOL, _FTZ),
    _set,
    section="9.7.6.1",
    doc="Compare into a number: all ones or 1.0 where true.",
)
row(
    "set",
    ">d=b32 a=T1 b=T1 c?=pred",
    ("f16x2 bf16x2 u32", "f16x2 bf16x2"),
    (_COMPARE, _BOOL, _FTZ),
    _set_pair,
    section="9.7.7.1",
    doc="Compare pairs into a pair.",
)
row("selp", ">d=U0 a=U0 b=U0 p=pred", (_NUMBERS,), (), pure(_select), section="9.7.6.3", doc="Select by a predicate.")
row("slct", ">d=U0 a=U0 b=U0 c=T1", (_NUMBERS, "s32 f32"), (_FTZ,), _slct, section="9.7.6.4", doc="Select by a sign.")
