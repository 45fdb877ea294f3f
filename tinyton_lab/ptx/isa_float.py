"""Rows of table T7: floating point arithmetic of all widths (PTX ISA 9.7.3 to 9.7.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.ptx import approximate
from tinyton_lab.ptx.isa import Form, LaneFunction, Slot, pure, row
from tinyton_lab.ptx.numerics import (
    F32,
    F64,
    add32,
    add64,
    canonical,
    div32,
    div64,
    flush,
    flush16,
    fma32,
    fma64,
    fma_odd,
    from_bf16,
    mul32,
    mul64,
    odd32,
    rectify,
    saturate,
    sqrt32,
    sqrt64,
    to_bf16,
    to_f16,
)

Array = Any
_U16, _U32 = np.uint16, np.uint32
_ROUND = Slot("rounding", ("rn", "rz", "rm", "rp"))
_FTZ, _SAT, _NAN = Slot("ftz", ("ftz",)), Slot("sat", ("sat",)), Slot("nan", ("NaN",))
_RELU = Slot("sat", ("sat", "relu"))
_HALVES = "f16 bf16 f16x2 bf16x2"


def _finished(form: Form, function: LaneFunction) -> LaneFunction:
    """Wrap an f32 or f64 lane function with the form's flushing and saturation."""
    ftz, sat = form.has("ftz") and form.type.name == "f32", form.has("sat")
    if not ftz and not sat:
        return function

    def run(*values: Array) -> Array:
        result = function(*(flush(v) for v in values)) if ftz else function(*values)
        result = saturate(result) if sat else result
        return flush(result) if ftz else result

    return run


def _full(plain: LaneFunction, single: LaneFunction, double: LaneFunction) -> Callable[[Form], LaneFunction]:
    """`run` of an f32/f64 row: `plain` rounds to nearest, the others take a rounding word."""

    def make(form: Form) -> LaneFunction:
        rounding = form["rounding"]
        if rounding in ("", "rn"):
            return _finished(form, plain)
        directed = single if form.type.bits == 32 else double
        return _finished(form, lambda *values: directed(*map(np.asarray, values), rounding))

    return make


def _fma(form: Form) -> LaneFunction:
    rounding, function = form["rounding"] or "rn", fma32 if form.type.bits == 32 else fma64
    return _finished(form, lambda a, b, c: function(a, b, c, rounding))


# 16-bit formats: computed wider, rounded once.
def _decode(x: Array, name: str) -> Array:
    return from_bf16(x) if name == "bf16" else np.asarray(x).astype(F32)


def _encode(x: Array, name: str) -> Array:
    """An f64 (exact or rounded to odd) or f32 value to f16, or to bf16 bits."""
    if name == "f16":
        return to_f16(x)
    return to_bf16(odd32(x) if x.dtype == F64 else x)


def split(x: Array, name: str) -> tuple[Array, Array]:
    """The low and high half of packed lanes, as f16 values or bf16 bits."""
    x = np.asarray(x)
    low, high = x.astype(_U16), (x >> _U32(16)).astype(_U16)
    return (low, high) if name == "bf16" else (low.view(np.float16), high.view(np.float16))


def join(low: Array, high: Array) -> Array:
    """Packed lanes from two 16-bit halves."""
    parts = [canonical(h) if h.dtype == np.float16 else h for h in (low, high)]
    return parts[0].astype(_U32) | (parts[1].astype(_U32) << _U32(16))


def half(core: Callable[..., Array]) -> Callable[[Form], LaneFunction]:
    """`run` of a 16-bit row from a function on f32 values, applied to both halves of packed types."""

    def make(form: Form) -> LaneFunction:
        name = form.type.name.removesuffix("x2")

        ftz = form.has("ftz") and name == "f16"

        def one(*values: Array) -> Array:
            inputs = [_decode(v, name) for v in values]
            wide = core(*map(flush16, inputs) if ftz else inputs)
            if form["sat"] == "sat":
                wide = saturate(wide)
            elif form["sat"] == "relu":
                wide = rectify(wide)
            result = _encode(wide, name)
            return flush16(result) if ftz else result

        if form.type.kind != "packed":
            return one
        return lambda *values: join(*(one(*parts) for parts in zip(*(split(v, name) for v in values))))

    return make


def _product(a: Array, b: Array) -> Array:
    return np.multiply(a, b, dtype=F64)


def _wide_sum(sign: int) -> LaneFunction:
    # Exact in f64 for both 16-bit formats up to a sticky bit: rounding to odd keeps it.
    return lambda a, b: fma_odd(a, np.float32(1), b if sign > 0 else -b)


# Minimum and maximum.
def _pick(form: Form, values: tuple[Array, Array]) -> Array:
    a, b = values
    smaller = form.row.mnemonic == "min"
    if form.has("nan"):
        result = (np.minimum if smaller else np.maximum)(a, b)
    else:
        result = (np.fmin if smaller else np.fmax)(a, b)
    if (result == 0).any():
        # -0 is smaller than +0 here; numpy takes either.
        sign = np.logical_or if smaller else np.logical_and
        negative = sign(np.signbit(a), np.signbit(b))
        both = (a == 0) & (b == 0)
        result = np.where(both, np.where(negative, result.dtype.type(-0.0), result.dtype.type(0.0)), result)
    return result


def _minmax(form: Form) -> LaneFunction:
    return _finished(form, lambda a, b: _pick(form, (a, b)))


def _minmax_half(form: Form) -> LaneFunction:
    return half(_minmax(form))(form)


def _minmax_with_sign(form: Form) -> LaneFunction:
    """Of the sizes, with the product's sign. Operands are bits: a NaN has a sign, too."""

    def run(a: Array, b: Array) -> Array:
        picked = _pick(form, (np.abs(a), np.abs(b)))
        return np.where(np.signbit(a) != np.signbit(b), -picked, picked)

    inner, compute = _finished(form, run), form.type.compute
    inner = inner if form.type.name == "f32" else half(inner)(form)
    return lambda a, b: inner(a.view(compute), b.view(compute))


# Signs: bits only, so that subnormals and NaN keep theirs.
def _sign(form: Form) -> LaneFunction:
    mnemonic = form.row.mnemonic
    if form.type.bits == 64 or form.type.name == "f32":
        return _finished(form, np.negative if mnemonic == "neg" else np.abs)
    mask = {16: 0x8000, 32: 0x80008000}[form.type.bits]
    raw, ftz = form.type.raw.type, form.has("ftz") and form.type.name.startswith("f16")

    def bits(x: Array) -> Array:
        x = np.asarray(x).view(raw)
        if ftz:
            for half in (0x7FFF << n for n in range(0, form.type.bits, 16)):
                x = np.where((x & raw(half & 0x7C007C00)) == 0, x & ~raw(half), x)
        return np.asarray(x ^ raw(mask) if mnemonic == "neg" else x & ~raw(mask))

    return bits


def _copysign(a: Array, b: Array) -> Array:
    top = a.dtype.type(1 << a.dtype.itemsize * 8 - 1)
    return (a & top) | (b & ~top)


_CLASSES: dict[str, LaneFunction] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda x: ~np.isnan(x),
    "notanumber": np.isnan,
    # Zeros count as normal numbers.
    "normal": lambda x: np.isfinite(x) & ((np.abs(x) >= np.finfo(x.dtype).tiny) | (x == 0)),
    "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny),
}


# Approximate functions: computed in f64 and rounded, well inside the documented bounds.
def _approximate(function: LaneFunction) -> Callable[[Form], LaneFunction]:
    return lambda form: _finished(form, lambda *values: function(*(v.astype(F64) for v in values)).astype(F32))


def _cut64(function: LaneFunction) -> Callable[[Form], LaneFunction]:
    """The f64 approximations read and write only the upper 32 bits (PTX ISA 9.7.3.14)."""
    high = np.uint64(0xFFFFFFFF00000000)

    def run(a: Array) -> Array:
        x = (np.asarray(a).view(np.uint64) & high).view(F64)
        y = function(x)
        return (np.asarray(y).view(np.uint64) & high).view(F64)

    return lambda form: run


def _half(name: str) -> LaneFunction:
    function = approximate.lanes(name)
    return lambda x: function(x.astype(F64))


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _divide_by(x: Array) -> Array:
    return 1 / x


_reciprocal = _full(_divide_by, lambda a, r: div32(np.ones_like(a), a, r), lambda a, r: div64(np.ones_like(a), a, r))
_divide = _full(np.divide, div32, div64)
_ARITHMETIC = (
    ("add", ">d=T0 a=T0 b=T0", _full(np.add, add32, add64), _wide_sum(1), "9.7.3.3", "9.7.4.1", "Add."),
    (
        "sub",
        ">d=T0 a=T0 b=T0",
        _full(np.subtract, lambda a, b, r: add32(a, -b, r), lambda a, b, r: add64(a, -b, r)),
        _wide_sum(-1),
        "9.7.3.4",
        "9.7.4.2",
        "Subtract.",
    ),
    ("mul", ">d=T0 a=T0 b=T0", _full(np.multiply, mul32, mul64), _product, "9.7.3.5", "9.7.4.3", "Multiply."),
    ("fma", ">d=T0 a=T0 b=T0 c=T0", _fma, fma_odd, "9.7.3.6", "9.7.4.4", "Multiply and add with one rounding."),
)
for _name, _operands, _make, _core, _section, _half_section, _doc in _ARITHMETIC:
    row(_name, _operands, ("f32 f64",), (_ROUND, _FTZ, _SAT), _make, pipe="fma", section=_section, doc=_doc)
    row(
        _name,
        _operands,
        (_HALVES,),
        (Slot("rounding", ("rn",)), _FTZ, _RELU),
        half(_core),
        pipe="fma",
        section=_half_section,
        doc=_doc,
    )
row(
    "mad",
    ">d=T0 a=T0 b=T0 c=T0",
    ("f32 f64",),
    (_ROUND, _FTZ, _SAT),
    _fma,
    pipe="fma",
    section="9.7.3.7",
    doc="Multiply and add with one rounding.",
)
for _name, _section in (("min", "9.7.3.11"), ("max", "9.7.3.12")):
    row(
        _name,
        ">d=T0 a=T0 b=T0",
        ("f32 f64",),
        (_FTZ, _NAN),
        _minmax,
        section=_section,
        doc="NaN loses unless .NaN; -0 is less than +0.",
    )
    row(
        _name,
        ">d=T0 a=T0 b=T0",
        (_HALVES,),
        (_FTZ, _NAN),
        _minmax_half,
        section="9.7.4.7",
        doc="NaN loses unless .NaN; -0 is less than +0.",
    )
    row(
        _name,
        ">d=T0 a=U0 b=U0",
        (f"f32 {_HALVES}",),
        (_FTZ, _NAN, Slot("xorsign", ("xorsign",), True), Slot("abs", ("abs",), True)),
        _minmax_with_sign,
        section=_section,
        doc="Of the absolute values, with the sign of the product.",
    )
for _name, _section in (("neg", "9.7.3.10"), ("abs", "9.7.3.9")):
    row(_name, ">d=T0 a=T0", (f"f32 f64 {_HALVES}",), (_FTZ,), _sign, section=_section, doc="Change the sign bit.")
row(
    "copysign",
    ">d=U0 a=U0 b=U0",
    ("f32 f64",),
    (),
    pure(_copysign),
    section="9.7.3.2",
    doc="The value of b, the sign of a.",
)
row(
    "testp",
    ">p=pred a=T0",
    ("f32 f64",),
    (Slot("class", tuple(_CLASSES), True),),
    lambda form: _CLASSES[form["class"]],
    section="9.7.3.1",
    doc="Test for a class of floating point values.",
)
row(
    "div",
    ">d=T0 a=T0 b=T0",
    ("f32 f64",),
    (Slot("rounding", ("rn", "rz", "rm", "rp"), True), _FTZ),
    _divide,
    pipe="xu",
    section="9.7.3.8",
    doc="Divide.",
)
row(
    "div",
    ">d=T0 a=T0 b=T0",
    ("f32",),
    (Slot("approx", ("approx", "full"), True), _FTZ),
    _divide,
    pipe="xu",
    section="9.7.3.8",
    doc="Divide within 2 ulp.",
)
row(
    "rcp",
    ">d=T0 a=T0",
    ("f32 f64",),
    (Slot("rounding", ("rn", "rz", "rm", "rp"), True), _FTZ),
    _reciprocal,
    pipe="xu",
    section="9.7.3.13",
    doc="1 / a.",
)
row(
    "sqrt",
    ">d=T0 a=T0",
    ("f32 f64",),
    (Slot("rounding", ("rn", "rz", "rm", "rp"), True), _FTZ),
    _full(np.sqrt, sqrt32, sqrt64),
    pipe="xu",
    section="9.7.3.15",
    doc="Square root.",
)
for _name, _function, _section in (
    ("rcp", _divide_by, "9.7.3.13"),
    ("sqrt", np.sqrt, "9.7.3.15"),
    ("rsqrt", _rsqrt, "9.7.3.16"),
    ("sin", approximate.lanes("sin"), "9.7.3.18"),
    ("cos", approximate.lanes("cos"), "9.7.3.19"),
    ("lg2", approximate.lanes("lg2"), "9.7.3.20"),
    ("ex2", approximate.lanes("ex2"), "9.7.3.21"),
    ("tanh", approximate.lanes("tanh"), "9.7.3.22"),
):
    row(
        _name,
        ">d=T0 a=T0",
        ("f32",),
        (Slot("approx", ("approx",), True), _FTZ),
        _approximate(_function),
        pipe="xu",
        section=_section,
        doc="A fast approximation.",
    )
for _name, _function, _section in (("rcp", _divide_by, "9.7.3.14"), ("rsqrt", _rsqrt, "9.7.3.17")):
    row(
        _name,
        ">d=T0 a=T0",
        ("f64",),
        (Slot("approx", ("approx",), True), _FTZ),
        _cut64(_function),
        pipe="xu",
        section=_section,
        doc="An approximation from the upper 32 bits.",
    )
for _name, _function, _section in (("ex2", _half("ex2"), "9.7.4.11"), ("tanh", _half("tanh"), "9.7.4.10")):
    row(
        _name,
        ">d=T0 a=T0",
        (_HALVES,),
        (Slot("approx", ("approx",), True), _FTZ),
        half(_function),
        pipe="xu",
        section=_section,
        doc="A fast approximation.",
    )
