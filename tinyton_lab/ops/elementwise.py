"""Rows of ops that map elements one to one and are exact on every engine: arithmetic, bits, comparison, casts.

Each row holds its numpy definition and its LLVM lines for one lane or a vector of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DType
from tinyton_lab.base.floats import fma as exact_fma
from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import integer
from tinyton_lab.ops.casts import cast_numpy, emit_cast
from tinyton_lab.ops.table import ANY, INTEGERS, NUMBERS, alike, predicate, row

Emit = Callable[..., Any]


def by_kind(float: str, int: str, uint: str | None = None) -> Emit:
    """Emit a binary instruction chosen by the dtype's kind."""

    def emit(b: Any, dtype: DType, x: Any, y: Any) -> Any:
        return b.binary({"float": float, "int": int}.get(dtype.kind, uint or int), x, y)

    return emit


def compare(ordered: str, signed: str, unsigned: str) -> Emit:
    def emit(b: Any, dtype: DType, x: Any, y: Any) -> Any:
        how = {"float": f"fcmp {ordered}", "int": f"icmp {signed}"}.get(dtype.kind, f"icmp {unsigned}")
        return b.compare(how, x, y)

    return emit


def extreme(float: str, int: str) -> Emit:
    """min and max: an intrinsic for floats, ``llvm.smin``-like for integers."""

    def emit(b: Any, dtype: DType, x: Any, y: Any) -> Any:
        prefix = "s" if dtype.kind == "int" else "u"
        return b.intrinsic(float if dtype.kind == "float" else f"llvm.{prefix}{int}", x, y)

    return emit


def wrapping(floats: Any, bools: Any) -> Any:
    """numpy's operation, except that one-bit integers wrap (True + True is 0)."""
    return lambda x, y: bools(x, y) if x.dtype == np.bool_ else floats(x, y)


def _signed_zero_extreme(choose: Any, zero: Any) -> Any:
    """min or max with -0 < +0 (numpy leaves the sign of a zero result open)."""

    def apply(x: Any, y: Any) -> Any:
        result = choose(x, y)
        if x.dtype.kind in "iub":
            return result
        zeros = (x == 0) & (y == 0)
        return np.where(zeros, zero(x, y), result).astype(x.dtype) if np.any(zeros) else result

    return apply


def _quiet(choose: Any, zero: Any) -> Any:
    """The number-preferring form: a NaN operand gives the other one."""
    signed = _signed_zero_extreme(choose, zero)

    def apply(x: Any, y: Any) -> Any:
        if x.dtype.kind in "iub":
            return choose(x, y)
        result = np.where(np.isnan(x), y, np.where(np.isnan(y), x, signed(x, y)))
        return result.astype(x.dtype)

    return apply


def _positive_zero(x: Any, y: Any) -> Any:
    return np.where(np.signbit(x) & np.signbit(y), x, np.zeros_like(x))


def _negative_zero(x: Any, y: Any) -> Any:
    return np.where(np.signbit(x) | np.signbit(y), -np.zeros_like(x), x)


def _fmod(x: Any, y: Any) -> Any:
    a, b = (v.astype(np.result_type(v, np.float32)) for v in (x, y))  # narrow floats compute in f32, round once
    return exact_fma(-np.trunc(a / b), b, a).astype(x.dtype)


def emit_mod(b: Any, dtype: DType, x: Any, y: Any) -> Any:
    if dtype.kind != "float":
        return integer.emit_remainder(b, dtype, x, y)
    quotient = b.intrinsic("llvm.trunc", b.binary("fdiv", x, y))
    return b.intrinsic("llvm.fma", b.unary("fneg", quotient), y, x)


def emit_neg(b: Any, dtype: DType, x: Any) -> Any:
    return b.unary("fneg", x) if dtype.kind == "float" else b.binary("sub", b.constant(dtype, 0, x), x)


def emit_abs(b: Any, dtype: DType, x: Any) -> Any:
    if dtype.kind == "float":
        return b.intrinsic("llvm.fabs", x)
    if dtype.kind != "int":
        return x
    negative = b.compare("icmp slt", x, b.constant(dtype, 0, x))
    return b.select(negative, b.binary("sub", b.constant(dtype, 0, x), x), x)


def emit_div(b: Any, dtype: DType, x: Any, y: Any) -> Any:
    return b.binary("fdiv", x, y)


def approx_div(b: Any, dtype: DType, x: Any, y: Any) -> Any:
    if dtype.name != "f32":
        return b.binary("fdiv", x, y)
    return b.intrinsic("llvm.nvvm.div.full", x, y, overloads=())


def round_with(intrinsic: str) -> Emit:
    return lambda b, dtype, x: b.intrinsic(intrinsic, x) if dtype.kind == "float" else x


add = row(
    "add",
    "x y",
    infer=alike,
    elementwise=True,
    emit=by_kind("fadd", "add"),
    numpy=wrapping(np.add, np.logical_xor),
    laws=("commutative", "identity 0", "associative"),
    example="x + y",
    doc="Sum. Integers wrap.",
)
sub = row(
    "sub",
    "x y",
    infer=alike,
    elementwise=True,
    emit=by_kind("fsub", "sub"),
    numpy=wrapping(np.subtract, np.logical_xor),
    laws=("right identity 0", "self-inverse"),
    example="x - y",
    doc="Difference. Integers wrap.",
)
mul = row(
    "mul",
    "x y",
    infer=alike,
    elementwise=True,
    emit=by_kind("fmul", "mul"),
    numpy=wrapping(np.multiply, np.logical_and),
    laws=("commutative", "identity 1", "associative", "absorbing 0"),
    example="x * y",
    doc="Product. Integers wrap.",
)
div = row(
    "div",
    "x y",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    emit=emit_div,
    approx=approx_div,
    numpy=np.divide,
    laws=("right identity 1",),
    example="x / y",
    doc="Quotient of floats: correctly rounded; with fast instructions within 2 ulp (f32).",
)
div_rn = row(
    "div_rn",
    "x y",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    emit=emit_div,
    numpy=np.divide,
    laws=("right identity 1",),
    example="tl.div_rn(x, y)",
    doc="Quotient of floats, correctly rounded always.",
)
idiv = row(
    "idiv",
    "x y",
    infer=alike,
    accepts=("int", "uint"),
    elementwise=True,
    emit=integer.emit_quotient,
    numpy=integer.quotient,
    laws=("right identity 1",),
    example="x // y",
    doc="Integer quotient toward zero. x // 0 is -1 (all ones); the least integer // -1 is itself.",
)
mod = row(
    "mod",
    "x y",
    infer=alike,
    accepts=NUMBERS,
    elementwise=True,
    emit=emit_mod,
    numpy=lambda x, y: _fmod(x, y) if x.dtype.kind not in "iu" else integer.remainder(x, y),
    example="x % y",
    doc="Remainder with the sign of x. Floats: x - trunc(x / y) * y, the last step fused. Integers: x % 0 is x.",
)
neg = row(
    "neg",
    "x",
    infer=alike,
    accepts=NUMBERS,
    elementwise=True,
    emit=emit_neg,
    numpy=np.negative,
    example="-x",
    doc="Negation; flips the sign of zero and NaN for floats, wraps for integers.",
)
abs_ = row(
    "abs",
    "x",
    infer=alike,
    accepts=NUMBERS,
    elementwise=True,
    emit=emit_abs,
    numpy=np.abs,
    example="tl.abs(x)",
    doc="Absolute value; the least integer is its own.",
)
fma = row(
    "fma",
    "x y z",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    numpy=exact_fma,
    example="tl.fma(x, y, z)",
    emit=lambda b, dtype, x, y, z: b.intrinsic("llvm.fma", x, y, z),
    doc="x * y + z, rounded once.",
)
max_ = row(
    "max",
    "x y",
    infer=alike,
    elementwise=True,
    emit=extreme("llvm.maximumnum", "max"),
    numpy=_quiet(np.maximum, _positive_zero),
    laws=("commutative", "idempotent", "associative"),
    example="tl.maximum(x, y)",
    doc="The greater element; a NaN gives the other operand; -0 < +0.",
)
min_ = row(
    "min",
    "x y",
    infer=alike,
    elementwise=True,
    emit=extreme("llvm.minimumnum", "min"),
    numpy=_quiet(np.minimum, _negative_zero),
    laws=("commutative", "idempotent", "associative"),
    example="tl.minimum(x, y)",
    doc="The lesser element; a NaN gives the other operand; -0 < +0.",
)
max_nan = row(
    "max_nan",
    "x y",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    emit=extreme("llvm.maximum", "max"),
    numpy=_signed_zero_extreme(np.maximum, _positive_zero),
    laws=("commutative", "idempotent"),
    example="tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)",
    doc="The greater element; NaN if either is.",
)
min_nan = row(
    "min_nan",
    "x y",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    emit=extreme("llvm.minimum", "min"),
    numpy=_signed_zero_extreme(np.minimum, _negative_zero),
    laws=("commutative", "idempotent"),
    example="tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)",
    doc="The lesser element; NaN if either is.",
)
floor = row(
    "floor",
    "x",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    emit=round_with("llvm.floor"),
    numpy=np.floor,
    laws=("idempotent",),
    example="tl.floor(x)",
    doc="Round toward minus infinity.",
)
ceil = row(
    "ceil",
    "x",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    emit=round_with("llvm.ceil"),
    numpy=np.ceil,
    laws=("idempotent",),
    example="tl.ceil(x)",
    doc="Round toward plus infinity.",
)
trunc = row(
    "trunc",
    "x",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    emit=round_with("llvm.trunc"),
    numpy=np.trunc,
    laws=("idempotent",),
    doc="Round toward zero.",
)
round_even = row(
    "round_even",
    "x",
    infer=alike,
    accepts=("float",),
    elementwise=True,
    emit=round_with("llvm.rint"),
    numpy=np.rint,
    laws=("idempotent",),
    doc="Round to the nearest integer, ties to even.",
)

and_ = row(
    "and",
    "x y",
    infer=alike,
    accepts=INTEGERS,
    elementwise=True,
    emit=lambda b, d, x, y: b.binary("and", x, y),
    numpy=np.bitwise_and,
    laws=("commutative", "idempotent", "associative", "identity -1", "absorbing 0"),
    example="x & y",
    doc="Bitwise and.",
)
or_ = row(
    "or",
    "x y",
    infer=alike,
    accepts=INTEGERS,
    elementwise=True,
    emit=lambda b, d, x, y: b.binary("or", x, y),
    numpy=np.bitwise_or,
    laws=("commutative", "idempotent", "identity 0", "associative", "absorbing -1"),
    example="x | y",
    doc="Bitwise or.",
)
xor = row(
    "xor",
    "x y",
    infer=alike,
    accepts=INTEGERS,
    elementwise=True,
    emit=lambda b, d, x, y: b.binary("xor", x, y),
    numpy=np.bitwise_xor,
    laws=("commutative", "identity 0", "associative", "self-inverse"),
    example="x ^ y",
    doc="Bitwise exclusive or.",
)
shl = row(
    "shl",
    "x y",
    infer=alike,
    accepts=("int", "uint"),
    elementwise=True,
    emit=integer.emit_shift("shl"),
    numpy=integer.shift_left,
    laws=("right identity 0",),
    example="x << y",
    doc="Shift left; by the width or more gives 0.",
)
shr = row(
    "shr",
    "x y",
    infer=alike,
    accepts=("int", "uint"),
    elementwise=True,
    emit=integer.emit_shift("shr"),
    numpy=integer.shift_right,
    laws=("right identity 0",),
    example="x >> y",
    doc="Shift right: arithmetic for signed, logical for unsigned; by the width or more gives the sign or 0.",
)
lshr = row(
    "lshr",
    "x y",
    infer=alike,
    accepts=("int", "uint"),
    elementwise=True,
    emit=integer.emit_shift("lshr"),
    numpy=integer.shift_right_logical,
    laws=("right identity 0",),
    doc="Logical shift right whatever the sign.",
)
mulhi = row(
    "mulhi",
    "x y",
    infer=alike,
    accepts=("int", "uint"),
    elementwise=True,
    emit=integer.emit_high_product,
    numpy=integer.high_product,
    laws=("commutative",),
    example="tl.umulhi(x, y)",
    doc="Upper half of the double-width product.",
)

_COMPARISON: dict[str, Any] = {"infer": predicate, "elementwise": True, "accepts": ANY}
eq = row(
    "eq",
    "x y",
    emit=compare("oeq", "eq", "eq"),
    numpy=np.equal,
    laws=("commutative", "reflexive"),
    example="x == y",
    doc="Equal; False with a NaN.",
    **_COMPARISON,
)
ne = row(
    "ne",
    "x y",
    emit=compare("une", "ne", "ne"),
    numpy=np.not_equal,
    laws=("commutative", "irreflexive"),
    example="x != y",
    doc="Not equal; True with a NaN.",
    **_COMPARISON,
)
lt = row(
    "lt",
    "x y",
    emit=compare("olt", "slt", "ult"),
    numpy=np.less,
    example="x < y",
    laws=("irreflexive",),
    doc="Less.",
    **_COMPARISON,
)
le = row(
    "le",
    "x y",
    emit=compare("ole", "sle", "ule"),
    numpy=np.less_equal,
    example="x <= y",
    laws=("reflexive",),
    doc="Less or equal.",
    **_COMPARISON,
)
gt = row(
    "gt",
    "x y",
    emit=compare("ogt", "sgt", "ugt"),
    numpy=np.greater,
    example="x > y",
    laws=("irreflexive",),
    doc="Greater.",
    **_COMPARISON,
)
ge = row(
    "ge",
    "x y",
    emit=compare("oge", "sge", "uge"),
    numpy=np.greater_equal,
    example="x >= y",
    laws=("reflexive",),
    doc="Greater or equal.",
    **_COMPARISON,
)


def infer_select(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    condition, x, y = types
    if condition is None or x is None or x != y or condition.shape != x.shape or str(condition.element) != "i1":
        raise Mismatch(f"select needs an i1 condition and two operands of one type, got {', '.join(map(str, types))}")
    return (x,)


def infer_cast(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    (x,) = types
    if x is None or not isinstance(attrs["to"], DType):
        raise Mismatch("cast needs a dtype to cast to")
    return (x.with_element(attrs["to"]),)


def infer_bitcast(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    (x,) = types
    to = attrs["to"]
    if x is None or x.element.bits != to.bits:
        raise Mismatch(f"bitcast from {x} to {to} changes the width")
    return (x.with_element(to),)


def infer_offset(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    pointer, distance = types
    if (
        pointer is None
        or distance is None
        or not pointer.is_pointer
        or distance.is_pointer
        or pointer.shape != distance.shape
    ):
        raise Mismatch(f"offset needs a pointer and integers of one shape, got {pointer} and {distance}")
    return (pointer,)


def infer_to_pointer(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    (x,) = types
    if x is None or not isinstance(attrs["to"], DType) or x.is_pointer:
        raise Mismatch("int_to_pointer takes integers and the dtype pointed to")
    return (x.with_element(Pointer(attrs["to"])),)


def emit_bitcast(b: Any, dtype: DType, x: Any, *, to: DType) -> Any:
    return x if x.element == to.llvm else b.convert("bitcast", x, to.llvm)


select = row(
    "select",
    "condition x y",
    infer=infer_select,
    accepts=ANY,
    elementwise=True,
    example="tl.where(c, x, y)",
    emit=lambda b, dtype, c, x, y: b.select(c, x, y),
    numpy=np.where,
    doc="x where the condition holds, else y; both are evaluated.",
)
cast = row(
    "cast",
    "x",
    "to rounding=",
    infer=infer_cast,
    elementwise=True,
    emit=emit_cast,
    numpy=cast_numpy,
    example="x.to(tl.float16)",
    doc="Convert to another dtype: floats round to nearest even (or `rounding`), float to integer truncates, "
    "saturates and sends NaN to 0, integers wrap, i1 is `x != 0`.",
)
bitcast = row(
    "bitcast",
    "x",
    "to",
    infer=infer_bitcast,
    elementwise=True,
    emit=emit_bitcast,
    numpy=lambda x, *, to: x.view(to.numpy),
    example="x.to(tl.int32, bitcast=True)",
    doc="Reinterpret the bits as another dtype of the same width.",
)
offset = row(
    "offset",
    "pointer distance",
    infer=infer_offset,
    accepts=ANY,
    elementwise=True,
    example="p + i",
    doc="Pointer plus a number of elements.",
)
pointer_to_int = row(
    "pointer_to_int",
    "x",
    "to",
    infer=infer_cast,
    accepts=("pointer",),
    elementwise=True,
    example="p.to(tl.int64)",
    doc="The address as an integer.",
)
int_to_pointer = row(
    "int_to_pointer",
    "x",
    "to",
    infer=infer_to_pointer,
    accepts=("int", "uint"),
    elementwise=True,
    example="i.to(tl.pointer_type(tl.float32))",
    doc="An integer as an address.",
)
pointer_cast = row(
    "pointer_cast",
    "x",
    "to",
    infer=lambda t, a: (t[0].with_element(Pointer(a["to"])),),
    accepts=("pointer",),
    elementwise=True,
    doc="The same address, seen as pointing to another dtype.",
)
