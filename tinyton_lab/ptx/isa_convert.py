"""Rows of table T7: `cvt` between every pair of number formats (PTX ISA 9.7.9.21)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.ptx.isa import Form, LaneFunction, Slot, row
from tinyton_lab.ptx.isa_float import join, split
from tinyton_lab.ptx.numerics import (
    F16,
    F32,
    F64,
    flush,
    from_bf16,
    from_fp8,
    narrow,
    odd32,
    rectify,
    round_to_odd,
    saturate,
    step_by_error,
    to_bf16,
    to_f16,
    to_fp8,
    to_tf32,
    two_sum,
)
from tinyton_lab.ptx.types import PtxType

Array = Any
_INTEGERS = "u8 u16 u32 u64 s8 s16 s32 s64"
_FLOATS = "f16 bf16 f32 f64"
_TO_INTEGER: dict[str, LaneFunction] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_ROUNDING = Slot("rounding", ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna"))
_TO_WHOLE, _TO_FLOAT = Slot("rounding", tuple(_TO_INTEGER)), Slot("rounding", ("rn", "rz", "rm", "rp"))
_FTZ, _SAT, _RELU = Slot("ftz", ("ftz",)), Slot("sat", ("sat",)), Slot("relu", ("relu",))
_FINITE = Slot("finite", ("satfinite",))


def _value(type_: PtxType, ftz: bool) -> Callable[[Array], Array]:
    """How to read a float source: f16 and bf16 widen to f32 exactly."""
    if type_.name == "bf16":
        return from_bf16
    if type_.name == "f16":
        return lambda x: np.asarray(x).astype(F32)
    return flush if ftz and type_.name == "f32" else np.asarray


def _integer_to_integer(form: Form) -> LaneFunction:
    target, source = form.types
    low, high = _limits(target)
    if not form.has("sat"):
        return lambda x: x.astype(target.raw).view(target.compute) if x.ndim else x.astype(target.compute)
    least, most = (int(v) for v in (np.iinfo(source.compute).min, np.iinfo(source.compute).max))
    low, high = max(low, least), min(high, most)
    return lambda x: np.clip(x, source.compute.type(low), source.compute.type(high)).astype(target.compute)


def _limits(type_: PtxType) -> tuple[int, int]:
    info = np.iinfo(type_.compute)
    return int(info.min), int(info.max)


def _float_to_integer(form: Form) -> LaneFunction:
    target, source = form.types
    low, high = _limits(target)
    read, to_whole = _value(source, form.has("ftz")), _TO_INTEGER[form["rounding"] or "rzi"]

    def run(x: Array) -> Array:
        whole = to_whole(read(x)).astype(F64)
        # Floats at or beyond the limits saturate; in between the conversion is exact.
        inside = np.where(np.isnan(whole) | (whole < low) | (whole >= float(high)), 0.0, whole).astype(target.compute)
        result = np.where(whole < low, target.compute.type(low), inside)
        result = np.where(whole >= float(high), target.compute.type(high), result)
        return np.where(np.isnan(whole), target.compute.type(0), result)

    return run


def _integer_to_float(form: Form) -> LaneFunction:
    convert = _integer_rounded(form)
    if not form.has("sat"):
        return convert
    return lambda x: convert(np.where(x > 0, np.minimum(x, x.dtype.type(1)), x.dtype.type(0)))


def _integer_rounded(form: Form) -> LaneFunction:
    target, rounding = form.type, form["rounding"] or "rn"
    if target.name == "f64" and (rounding == "rn" or form.types[1].bits < 64):
        return lambda x: x.astype(F64)
    if target.name == "f32" and rounding == "rn":
        return lambda x: x.astype(F32)

    def run(x: Array) -> Array:
        low = x & x.dtype.type(0x7FF if x.dtype.itemsize == 8 else 0)
        s, e = two_sum((x - low).astype(F64), low.astype(F64))
        if target.name == "f64":
            return step_by_error(s, e, rounding)
        return _encode(round_to_odd(s, e), target, rounding)

    return run


def _encode(exact: Array, target: PtxType, rounding: str) -> Array:
    """An f64 value, exact or rounded to odd, to a float format."""
    if target.name == "f32":
        return narrow(exact, rounding)
    if target.name == "f16":
        return to_f16(exact, rounding)
    if target.name == "bf16":
        return to_bf16(odd32(exact), rounding)
    return exact


def _float_to_float(form: Form) -> LaneFunction:
    target, source = form.types
    rounding = form["rounding"] or "rn"
    ftz = form.has("ftz")
    read = _value(source, ftz)

    def run(x: Array) -> Array:
        value = read(x)
        if rounding in _TO_INTEGER:
            value = np.copysign(_TO_INTEGER[rounding](value), value)
        if form.has("sat"):
            value = saturate(value)
        if form.has("relu"):
            value = rectify(value)
        if form.has("finite"):
            value = _finite(value, target.name)
        result = _cast(value, target, rounding)
        return flush(result) if ftz and target.name == "f32" else result

    return run


_LARGEST = {
    "f16": 65504.0,
    "bf16": float(np.array(0x7F7F0000, np.uint32).view(F32)),
    "tf32": float(np.array(0x7F7FE000, np.uint32).view(F32)),
}


def _finite(value: Array, name: str) -> Array:
    limit = value.dtype.type(_LARGEST.get(name, np.finfo(F32).max))
    return np.where(np.isnan(value), value, np.clip(value, -limit, limit))


def _cast(value: Array, target: PtxType, rounding: str) -> Array:
    if rounding in _TO_INTEGER:
        rounding = "rn"
    if target.name == "f64":
        return value.astype(F64)
    if target.name == "f32":
        return value if value.dtype == F32 else narrow(value, rounding)
    if target.name == "f16":
        return to_f16(value, rounding)
    return to_bf16(odd32(value) if value.dtype == F64 else value, rounding)


def _pack(form: Form) -> LaneFunction:
    """Two f32 sources: the first goes to the upper half."""
    name, rounding = form.type.name.removesuffix("x2"), form["rounding"] or "rn"

    def one(x: Array) -> Array:
        x = rectify(x) if form.has("relu") else np.asarray(x)
        x = _finite(x, name) if form.has("finite") else x
        return to_bf16(x, rounding) if name == "bf16" else to_f16(x, rounding)

    return lambda a, b: join(one(b), one(a))


def _pack_fp8(form: Form) -> LaneFunction:
    name = form.type.name.removesuffix("x2")

    def one(x: Array) -> Array:
        x = rectify(x) if form.has("relu") else np.asarray(x)
        return to_fp8(x, name).astype(np.uint16)

    if len(form.row.roles) == 3:
        return lambda a, b: one(b) | (one(a) << np.uint16(8))

    def from_pair(a: Array) -> Array:
        low, high = (half.astype(F32) for half in split(a, "f16"))
        return one(low) | (one(high) << np.uint16(8))

    return from_pair


def _unpack_fp8(form: Form) -> LaneFunction:
    name = form.types[1].name.removesuffix("x2")

    def run(a: Array) -> Array:
        pair = [from_fp8(part, name) for part in (a & np.uint16(255), a >> np.uint16(8))]
        if form.has("relu"):
            pair = [rectify(x) for x in pair]
        return join(*(x.astype(F16) for x in pair))

    return run


def _tensor_float(form: Form) -> LaneFunction:
    rounding = form["rounding"]

    def run(x: Array) -> Array:
        x = rectify(x) if form.has("relu") else x
        return to_tf32(_finite(x, "tf32") if form.has("finite") else x, rounding)

    return run


_SECTION = "9.7.9.21"
row(
    "cvt",
    ">d=T0+ a=T1+",
    (_INTEGERS, _INTEGERS),
    (_SAT,),
    _integer_to_integer,
    section=_SECTION,
    doc="Between integers: extend, truncate, or saturate.",
)
row(
    "cvt",
    ">d=T0+ a=T1+",
    (_INTEGERS, _FLOATS),
    (_TO_WHOLE, _FTZ, _SAT),
    _float_to_integer,
    section=_SECTION,
    doc="Float to integer: rounds as named, saturates, NaN gives 0.",
)
row(
    "cvt",
    ">d=T0+ a=T1+",
    (_FLOATS, _INTEGERS),
    (_TO_FLOAT, _FTZ, _SAT),
    _integer_to_float,
    section=_SECTION,
    doc="Integer to float: rounds as named.",
)
row(
    "cvt",
    ">d=T0+ a=T1+",
    (_FLOATS, _FLOATS),
    (_ROUNDING, _FTZ, _SAT, _RELU, _FINITE),
    _float_to_float,
    section=_SECTION,
    doc="Between floats, or to an integral value of the same format.",
)
row(
    "cvt",
    ">d=T0 a=T1 b=T1",
    ("f16x2 bf16x2", "f32"),
    (_TO_FLOAT, _RELU, _FINITE),
    _pack,
    section=_SECTION,
    doc="Two f32 values to a pair; the first is the upper half.",
)
row(
    "cvt",
    ">d=T0 a=T1 b=T1",
    ("e4m3x2 e5m2x2", "f32"),
    (Slot("rounding", ("rn",), True), _FINITE, _RELU),
    _pack_fp8,
    section=_SECTION,
    doc="Two f32 values to a pair of fp8.",
)
row(
    "cvt",
    ">d=T0 a=T1",
    ("e4m3x2 e5m2x2", "f16x2"),
    (Slot("rounding", ("rn",), True), _FINITE, _RELU),
    _pack_fp8,
    section=_SECTION,
    doc="A pair of f16 to a pair of fp8.",
)
row(
    "cvt",
    ">d=T0 a=T1",
    ("f16x2", "e4m3x2 e5m2x2"),
    (Slot("rounding", ("rn",), True), _RELU),
    _unpack_fp8,
    section=_SECTION,
    doc="A pair of fp8 to a pair of f16.",
)
row(
    "cvt",
    ">d=T0 a=T1",
    ("tf32", "f32"),
    (_ROUNDING, _RELU, _FINITE),
    _tensor_float,
    section=_SECTION,
    doc="f32 to tf32: 10 mantissa bits in an f32.",
)


def _pack_integers(form: Form) -> LaneFunction:
    target, _ = form.types[:2]
    low, high = _limits(target)

    def run(a: Array, b: Array, c: Array | None = None) -> Array:
        one, two = (
            np.clip(x.astype(np.int64), low, high).astype(np.uint64) & np.uint64((1 << target.bits) - 1) for x in (a, b)
        )
        packed = ((one << np.uint64(target.bits)) | two).astype(np.uint32)
        return packed if c is None else packed | (c << np.uint32(2 * target.bits))

    return run


row(
    "cvt",
    ">d=b32 a=T1 b=T1",
    ("u16 s16", "s32"),
    (Slot("pack", ("pack",), True), Slot("sat", ("sat",), True)),
    _pack_integers,
    section="9.7.9.22",
    doc="Two integers, saturated and packed.",
)
row(
    "cvt",
    ">d=b32 a=T1 b=T1 c=T2",
    ("u8 s8", "s32", "b32"),
    (Slot("pack", ("pack",), True), Slot("sat", ("sat",), True)),
    _pack_integers,
    section="9.7.9.22",
    doc="Two integers, saturated and packed below others.",
)
