"""Elementwise ops, register by register, from the rows' LLVM columns. Narrow floats compute in f32 and round back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyton_lab.base.dtypes import DType, bfloat16, float16, float32, float64, uint64
from tinyton_lab.codegen import small_floats
from tinyton_lab.codegen.gpu.state import GLOBAL_POINTER, State, memory_type, register_count
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Pointer
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import elementwise
from tinyton_lab.ops.casts import compute_dtype

NATIVE = (elementwise.add, elementwise.sub, elementwise.mul, elementwise.fma)
BITWISE = (elementwise.select, elementwise.bitcast)
COMPARISONS = (elementwise.eq, elementwise.ne, elementwise.lt, elementwise.le, elementwise.gt, elementwise.ge)


def lower_elementwise(state: State, op: Op) -> None:
    """Apply an op to each register; pairs of f16 (and of bf16 where it is native) go as one packed instruction."""
    columns = [state.get(value) for value in op.inputs]
    special = _POINTERS.get(op.row)
    if special is not None:
        state.values[op.result] = [special(state, op, *x) for x in zip(*columns, strict=True)]
    elif packs(state, op):
        state.values[op.result] = _packed(state, op, columns)
    else:
        state.values[op.result] = [apply(state, op, x) for x in zip(*columns, strict=True)]


def element_dtype(value: Value | None) -> DType:
    """The dtype an op works on; addresses compare as 64-bit integers."""
    if value is None:
        raise RuntimeError("llvm: an operand is absent")
    return uint64 if isinstance(value.type.element, Pointer) else value.type.element


def packs(state: State, op: Op) -> bool:
    """Whether two registers of the op make one 32-bit instruction with the same bits as two."""
    dtype = element_dtype(op.operands[0])
    native = dtype is float16 or (dtype is bfloat16 and state.target.native_bf16)
    return native and op.row in NATIVE and register_count(op.result.type) > 1


def _packed(state: State, op: Op, columns: Sequence[Sequence[Register]]) -> list[Register]:
    made: list[Register] = []
    for at in range(0, len(columns[0]), 2):
        pairs = [state.builder.pack(column[at : at + 2]) for column in columns]
        made += state.builder.unpack(emit_row(state, op.row, element_dtype(op.operands[0]), pairs, op.attrs))
    return made


def apply(state: State, op: Op, registers: Sequence[Register]) -> Register:
    """One element of an op: widened to the dtype it computes in, and rounded back."""
    dtype = element_dtype(op.operands[0])
    if op.row is elementwise.cast:
        return cast(state, registers[0], dtype, op.attrs["to"], op.attrs.get("rounding"))
    compute = compute_dtype(dtype)
    if op.row is elementwise.fma and dtype is bfloat16:
        return _fma_bf16(state, registers)
    native = dtype is float16 and op.row in NATIVE
    if compute is dtype or native or op.row in BITWISE:
        return emit_row(state, op.row, dtype, list(registers), op.attrs)
    wide = [cast(state, register, dtype, compute, None) for register in registers]
    result = emit_row(state, op.row, compute, wide, op.attrs)
    return result if op.row in COMPARISONS else cast(state, result, compute, dtype, None)


def _fma_bf16(state: State, registers: Sequence[Register]) -> Register:
    """Multiply and add, rounded once: by the instruction, or in f32 rounded to odd, which rounds to bf16 exactly."""
    b = state.builder
    if state.target.capability >= 80:
        return b.intrinsic("llvm.fma", *registers)
    wide = [b.convert("fpext", register, "float") for register in registers]
    down, up, zero = (
        b.pure_ptx(f"fma.{way}.f32 $0, $1, $2, $3;", "=f,f,f,f", wide, "float") for way in ("rm", "rp", "rz")
    )
    odd = b.binary("or", b.convert("bitcast", zero, "i32"), Register("1", "i32"))
    exact = b.compare("fcmp ueq", down, up)
    return b.convert("fptrunc", b.select(exact, zero, b.convert("bitcast", odd, "float")), "bfloat")


def emit_row(state: State, row: OpDef, dtype: DType, registers: Sequence[Register], attrs: Any) -> Register:
    """The LLVM lines of a row, by its fast column where fast mathematics are asked for and it has one."""
    emit = row.approx if state.builder.fast and row.approx is not None and dtype is float32 else row.emit
    if emit is None:
        raise RuntimeError(f"llvm: {row.name} has no code for {dtype}")
    known = {attribute.name: attrs[attribute.name] for attribute in row.attributes if attribute.name in attrs}
    return emit(state.builder, dtype, *registers, **known)


def cast(state: State, x: Register, dtype: DType, to: DType, rounding: str | None) -> Register:
    """Convert one element; integers reach narrow floats, and narrow floats each other, through f32."""
    b = state.builder
    if to is dtype:
        return x
    if dtype.storage_only:
        return cast(state, small_floats.widen(b, dtype, x), float32, to, rounding)
    if to.storage_only:
        return _rounded_small(state, x, dtype, to, rounding)
    narrow = [side for side in (dtype, to) if side.kind == "float" and side.bits < 32]
    if not narrow and rounding is None:
        return emit_row(state, elementwise.cast, dtype, [x], {"to": to})
    if dtype in narrow and to is float32:
        return b.convert("fpext", x, to.llvm)
    if dtype in narrow:
        return cast(state, b.convert("fpext", x, "float"), float32, to, rounding)
    if dtype is float32 or dtype is float64:
        return _rounded(state, x, dtype, to, rounding) if to.kind == "float" else cast(state, x, dtype, to, None)
    return cast(state, cast(state, x, dtype, float32, None), float32, to, rounding)


def _rounded_small(state: State, x: Register, dtype: DType, to: DType, rounding: str | None) -> Register:
    """Round to a float of 8 bits, once: an f64 goes through an f32 made odd."""
    b = state.builder
    single = small_floats.to_odd(b, x) if dtype is float64 else cast(state, x, dtype, float32, None)
    near = small_floats.nearest(b, to, single)
    if rounding != "rtz":
        return near
    return small_floats.step_back(b, to, near, small_floats.widen(b, to, near), single)


def _rounded(state: State, x: Register, dtype: DType, to: DType, rounding: str | None) -> Register:
    """Narrow a float, to nearest or (``rtz``) toward zero; truncating twice is truncating once."""
    b = state.builder
    if rounding != "rtz" or to.bits >= dtype.bits:
        return b.convert("fptrunc" if to.bits < dtype.bits else "fpext", x, to.llvm)
    if to is float16:
        raw = b.pure_ptx(f"cvt.rz.f16.{dtype.ptx} $0, $1;", f"=h,{'f' if dtype is float32 else 'd'}", [x], "i16")
        return b.convert("bitcast", raw, "half")
    if dtype is float64:
        single = b.pure_ptx("cvt.rz.f32.f64 $0, $1;", "=f,d", [x], "float")
        return single if to is float32 else _rounded(state, single, float32, to, rounding)
    upper = b.emit(f"lshr i32 {b.convert('bitcast', x, 'i32').text}, 16", "i32")
    cut = b.convert("bitcast", b.convert("trunc", upper, "i16"), "bfloat")
    return b.select(b.compare("fcmp uno", x, x), b.constant(bfloat16, float("nan")), cut)


# -- addresses --------------------------------------------------------------------------------------------------------
def displaced_pointer(state: State, value: Value, pointer: Register, distance: Register, signed: bool) -> Register:
    """The address `distance` elements after `pointer`."""
    if not isinstance(value.type.element, Pointer):
        raise RuntimeError(f"llvm: {value.type} is no pointer")
    step = memory_type(value.type.with_element(value.type.element.element))
    if not signed and distance.type != "i64":
        distance = state.builder.convert("zext", distance, "i64")
    return state.builder.emit(f"getelementptr {step}, {pointer}, {distance}", GLOBAL_POINTER)


def _offset(state: State, op: Op, pointer: Register, distance: Register) -> Register:
    value, by = op.operands
    if value is None:
        raise RuntimeError("llvm: an operand is absent")
    return displaced_pointer(state, value, pointer, distance, element_dtype(by).signed)


def _pointer_to_int(state: State, op: Op, pointer: Register) -> Register:
    return state.builder.convert("ptrtoint", pointer, op.result.type.dtype.llvm)


def _int_to_pointer(state: State, op: Op, number: Register) -> Register:
    dtype = element_dtype(op.operands[0])
    wide = number if dtype.bits == 64 else state.builder.convert("sext" if dtype.signed else "zext", number, "i64")
    return state.builder.convert("inttoptr", wide, GLOBAL_POINTER)


def _pointer_comparison(state: State, op: Op, x: Register, y: Register) -> Register:
    if x.type == GLOBAL_POINTER:
        x, y = (state.builder.convert("ptrtoint", side, "i64") for side in (x, y))
        return emit_row(state, op.row, uint64, [x, y], {})
    return apply(state, op, (x, y))


_POINTERS: dict[OpDef, Any] = {
    elementwise.offset: _offset,
    elementwise.pointer_to_int: _pointer_to_int,
    elementwise.int_to_pointer: _int_to_pointer,
    elementwise.pointer_cast: lambda state, op, x: x,
} | dict.fromkeys(COMPARISONS, _pointer_comparison)
