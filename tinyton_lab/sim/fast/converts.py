"""Emitters of ``cvt`` and ``set`` (PTX ISA 9.7.6, 9.7.9.21), with the bits of the lane functions in `ptx`."""

from __future__ import annotations

import numpy as np

from tinyton_lab.llvm.text import Builder, Register
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.types import PtxType
from tinyton_lab.sim.fast.directed import rounded
from tinyton_lab.sim.fast.emission import (
    Unsupported,
    as_bits,
    as_float,
    canonical,
    const,
    emits,
    flush,
    real,
    resize,
)
from tinyton_lab.sim.fast.floats import (
    BYTES,
    compare_floats,
    from_byte,
    joined,
    narrowed,
    rectified,
    saturated,
    to_byte,
    to_half,
    widened,
)
from tinyton_lab.sim.fast.integers import combined, compare_integers
from tinyton_lab.sim.fast.packed import pack_integers, set_pair

_ROUNDS = {"rni": "llvm.rint", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}
_INTEGERS = ("bits", "signed", "unsigned")
_SHORT = ("f16", "bf16")


def _limits(type_: PtxType) -> tuple[int, int]:
    if type_.kind == "signed":
        return -(1 << type_.bits - 1), (1 << type_.bits - 1) - 1
    return 0, (1 << type_.bits) - 1


@emits("cvt", "int f16 bf16 f32 f64 f16x2 bf16x2 tf32 e4m3x2 e5m2x2")
def convert(b: Builder, form: Form, x: Register, *more: Register) -> Register:
    target, source = form.types[0], form.types[1]
    if form.has("pack"):
        return pack_integers(b, form, x, *more)
    if target.kind == "packed":
        return _pack(b, form, x, *more)
    if target.name == "tf32":
        return _tensor_float(b, form, x)
    if source.kind in _INTEGERS:
        return _from_integer(b, form, x) if target.kind == "float" else _between_integers(b, form, x)
    return _to_integer(b, form, x) if target.kind in _INTEGERS else _between_floats(b, form, x)


def _between_integers(b: Builder, form: Form, x: Register) -> Register:
    target, source = form.types
    if form.has("sat"):
        (least, most), (low, high) = _limits(source), _limits(target)
        kind = "s" if source.kind == "signed" else "u"
        x = b.intrinsic(f"llvm.{kind}max", x, const(max(low, least), x))
        x = b.intrinsic(f"llvm.{kind}min", x, const(min(high, most), x))
    return resize(b, x, target.bits, source.kind == "signed")


def _value(b: Builder, type_: PtxType, ftz: bool, x: Register) -> Register:
    """A float source: 16-bit formats widen to f32."""
    if type_.name in _SHORT:
        return widened(b, x, type_.name)
    value = as_float(b, x)
    return flush(b, value) if ftz and type_.name == "f32" else value


def _to_integer(b: Builder, form: Form, x: Register) -> Register:
    target, source = form.types
    rounding = form["rounding"] or "rzi"
    if rounding not in _ROUNDS:
        raise Unsupported(form.opcode)
    whole = b.intrinsic(_ROUNDS[rounding], _value(b, source, form.has("ftz"), x))
    kind = "s" if target.kind == "signed" else "u"
    to = whole.type.replace(whole.element, f"i{target.bits}")
    return b.intrinsic(f"llvm.fpto{kind}i.sat", whole, type=to, overloads=(to, whole.type))


def _from_integer(b: Builder, form: Form, x: Register) -> Register:
    target, source = form.types
    if form.has("sat"):
        # Of whole numbers, only 0 and 1 are between 0 and 1.
        positive = b.compare("icmp sgt" if source.kind == "signed" else "icmp ne", x, const(0, x))
        x = b.select(positive, const(1, x), const(0, x))
    rounding, op = form["rounding"].removeprefix("rn"), "sitofp" if source.kind == "signed" else "uitofp"
    if target.name == "f64" and (not rounding or source.bits < 64):
        return b.convert(op, x, "double")
    if target.name == "f32" and not rounding:
        return b.convert(op, x, "float")
    if target.name == "f64":
        return rounded(b, op, rounding, x)
    exact = _odd_double(b, op, x) if source.bits == 64 else b.convert(op, x, "double")
    return narrowed(b, exact, rounding) if target.name == "f32" else to_half(b, exact, target.name, rounding)


# The largest finite numbers; those of the others are f32's.
_LARGEST = {
    "f16": 65504.0,
    "bf16": float(np.array(0x7F7F0000, np.uint32).view(np.float32)),
    "tf32": float(np.array(0x7F7FE000, np.uint32).view(np.float32)),
}


def limited(b: Builder, x: Register, name: str) -> Register:
    """Numbers beyond the largest finite one of a format become that; NaN stays."""
    most = real(_LARGEST.get(name, float(np.finfo(np.float32).max)), x)
    x = b.select(b.compare("fcmp ogt", x, most), most, x)
    least = b.unary("fneg", most)
    return b.select(b.compare("fcmp olt", x, least), least, x)


def _odd_double(b: Builder, op: str, x: Register) -> Register:
    """64-bit integers as f64 rounded to odd."""
    cut = rounded(b, op, "rz", x)
    back = b.convert({"sitofp": "fptosi", "uitofp": "fptoui"}[op], cut, "i64")
    bits = as_bits(b, cut)
    odd = b.binary("or", bits, const(1, bits))
    return b.convert("bitcast", b.select(b.compare("icmp ne", back, x), odd, bits), "double")


def _between_floats(b: Builder, form: Form, x: Register) -> Register:
    target, source = form.types
    rounding, ftz = form["rounding"] or "rn", form.has("ftz")
    if rounding == "rna":
        raise Unsupported(form.opcode)
    how = "" if rounding in ("rn", *_ROUNDS) else rounding
    value = _value(b, source, ftz, x)
    if rounding in _ROUNDS:
        value = b.intrinsic("llvm.copysign", b.intrinsic(_ROUNDS[rounding], value), value)
    if form.has("sat"):
        value = saturated(b, value)
    if form.has("relu"):
        value = rectified(b, value)
    if form.has("finite"):
        value = limited(b, value, target.name)
    if target.name in _SHORT:
        return to_half(b, value, target.name, how)
    if target.name == "f64":
        return b.convert("fpext", value, "double") if value.element == "float" else value
    if value.element == "double":
        value = narrowed(b, value, how)
    return flush(b, value) if ftz else value


def _pack(b: Builder, form: Form, x: Register, y: Register | None = None) -> Register:
    """Two f32 sources, or a pair of 8-bit or 16-bit floats: the first source is the upper half."""
    name, source = form.type.name.removesuffix("x2"), form.types[1]
    if source.kind == "packed":
        return _bytes_to_halves(b, form, x) if name == "f16" else _halves_to_bytes(b, form, x)
    if y is None:
        raise Unsupported(form.opcode)

    def one(value: Register) -> Register:
        wide = as_float(b, value)
        wide = rectified(b, wide) if form.has("relu") else wide
        wide = limited(b, wide, name) if form.has("finite") and name not in BYTES else wide
        return to_byte(b, wide, name) if name in BYTES else to_half(b, wide, name, form["rounding"].removeprefix("rn"))

    return _bytes(b, one(y), one(x)) if name in BYTES else joined(b, one(y), one(x))


def _bytes(b: Builder, low: Register, high: Register) -> Register:
    return b.binary("or", low, b.binary("shl", high, const(8, high)))


def _halves_to_bytes(b: Builder, form: Form, x: Register) -> Register:
    name, pair = form.type.name.removesuffix("x2"), list[Register]()
    for place in (0, 16):
        wide = widened(b, resize(b, b.binary("lshr", x, const(place, x)), 16), "f16")
        pair.append(to_byte(b, rectified(b, wide) if form.has("relu") else wide, name))
    return _bytes(b, *pair)


def _bytes_to_halves(b: Builder, form: Form, x: Register) -> Register:
    name, pair = form.types[1].name.removesuffix("x2"), list[Register]()
    for place in (0, 8):
        byte = b.binary("and", b.binary("lshr", x, const(place, x)), const(255, x))
        value = from_byte(b, byte, name)
        pair.append(canonical(b, rectified(b, value) if form.has("relu") else value))
    return joined(b, *pair)


def _tensor_float(b: Builder, form: Form, x: Register) -> Register:
    rounding = form["rounding"]
    value = rectified(b, as_float(b, x)) if form.has("relu") else as_float(b, x)
    value = limited(b, value, "tf32") if form.has("finite") else value
    bits = rounded = as_bits(b, value)
    if rounding == "rna":
        rounded = b.binary("add", bits, const(0x1000, bits))
    elif rounding == "rn":
        odd = b.binary("and", b.binary("lshr", bits, const(13, bits)), const(1, bits))
        rounded = b.binary("add", b.binary("add", bits, const(0xFFF, bits)), odd)
    size = b.binary("and", bits, const(0x7FFFFFFF, bits))
    finite = b.compare("icmp ult", size, const(0x7F800000, bits))
    kept = b.select(finite, b.binary("and", rounded, const(0xFFFFE000, bits)), bits)
    return b.convert("bitcast", kept, "float")


@emits("set", "int f16 bf16 f32 f16x2 bf16x2")
def set_number(b: Builder, form: Form, x: Register, y: Register, *c: Register) -> Register:
    target, source = form.types[0], form.types[-1]
    if source.kind == "packed":
        return set_pair(b, form, x, y, *c)
    if source.kind == "float":
        flag = compare_floats(b, form, source.name, x, y)
    else:
        flag = compare_integers(b, source.kind, form["compare"], x, y)
    flag = combined(b, form, flag, c)
    zero = Register("0", f"i{target.bits}")
    like = zero if not flag.lanes else Register("", f"<{flag.lanes} x i{target.bits}>")
    one = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}.get(target.name, -1)
    return b.select(flag, const(one, like), const(0, like))


@emits("slct", "int f16 bf16 f32 f64")
def select_by_sign(b: Builder, form: Form, x: Register, y: Register, z: Register) -> Register:
    if form.types[1].name == "f32":
        value = flush(b, as_float(b, z)) if form.has("ftz") else as_float(b, z)
        positive = b.compare("fcmp oge", value, real(0.0, value))
    else:
        positive = b.compare("icmp sge", z, const(0, z))
    return b.select(positive, x, y)
