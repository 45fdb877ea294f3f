"""Atomic accesses, element by element: one instruction where the processor has it, else compare and exchange."""

from __future__ import annotations

from collections.abc import Callable

from tinyton_lab.base.dtypes import DType, float32
from tinyton_lab.codegen.cpu import arithmetic, narrow
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.codegen.cpu.extents import Extents
from tinyton_lab.codegen.cpu.lanes import Lanes
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Pointer
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import atomic

ORDERS = {"relaxed": "monotonic"}
AFTER_FAILURE = {"acquire": "acquire", "acq_rel": "acquire"}
INSTRUCTIONS = ("add", "and", "or", "xor")


def emit(lanes: Lanes, extents: Extents, op: Op) -> None:
    """Write an atomic access: each element that the mask leaves on is checked, then changed, in row-major order."""
    b, pointer, result = lanes.code, op.operand("pointer"), op.result
    if pointer is None or not isinstance(pointer.type.element, Pointer):
        raise RuntimeError(f"cpu: {op.row.name} #{op.uid} has no pointer")
    dtype = pointer.type.element.element
    zero = arithmetic.constant(0, dtype)
    if not result.type.shape:
        cell = b.variable(zero)
        _element(lanes, extents, op, dtype, b.i64(0), lambda old: b.set(cell, old))
        lanes.values.scalars[result] = b.get(cell, zero.type)
        return
    (buffer,) = lanes.results(op)
    with b.loop(b.i64(0), b.i64(result.type.elements), 1) as at:
        lanes.put(buffer, at, zero)
        _element(lanes, extents, op, dtype, at, lambda old: lanes.put(buffer, at, old))


def _element(
    lanes: Lanes, extents: Extents, op: Op, dtype: DType, at: Register, keep: Callable[[Register], None]
) -> None:
    b = lanes.code
    mask = op.operand("mask") if op.row is atomic.atomic else None
    if mask is None:
        keep(_changed(lanes, extents, op, dtype, at))
        return
    with b.when(lanes.get(mask, at)):
        keep(_changed(lanes, extents, op, dtype, at))


def _changed(lanes: Lanes, extents: Extents, op: Op, dtype: DType, at: Register) -> Register:
    """Change one element of memory; gives what it was."""
    b, pointer, distance, value = lanes.code, op.operand("pointer"), op.operand("distance"), op.operand("value")
    if pointer is None or value is None:
        raise RuntimeError(f"cpu: {op.row.name} #{op.uid} lacks an operand")
    address = lanes.get(pointer, at)
    if distance is not None:
        moved = arithmetic.scaled(b, lanes.get(distance, at), distance.type.element, pointer.type.element)
        address = b.add(address, moved)
    if lanes.values.checked:
        extents.check_lanes(op, address, None, dtype.bytes)
    place, new, order = b.pointer(address), lanes.get(value, at), op.attrs.get("order") or "acq_rel"
    if op.row is atomic.compare_exchange:
        expected = op.operand("expected")
        old = lanes.get(expected, at) if expected is not None else new
        return _from_bits(b, _exchanged(b, place, _bits(b, old), _bits(b, new), order)[0], new.type)
    return _combined(b, op.attrs["kind"], dtype, place, new, order)


def _combined(b: Code, kind: str, dtype: DType, place: Register, new: Register, order: str) -> Register:
    ordering = ORDERS.get(order, order)
    if kind == "exchange":
        return b.emit(f"atomicrmw xchg {place}, {new} {ordering}", new.type)
    if dtype.kind != "float":
        how = kind if kind in INSTRUCTIONS else kind if dtype.signed else f"u{kind}"
        return b.emit(f"atomicrmw {how} {place}, {new} {ordering}", new.type)
    row = atomic.COMBINES[kind]
    if row is None:
        raise RuntimeError(f"cpu: an atomic {kind} has no lowering")
    return _retried(b, row, dtype, place, new, order)


def _retried(b: Code, row: OpDef, dtype: DType, place: Register, new: Register, order: str) -> Register:
    """Read, combine and write until nobody came between."""
    bits = f"i{dtype.bits}"
    cell = b.variable(b.emit(f"load atomic {bits}, {place} monotonic, align {dtype.bytes}", bits))
    again, done = b.label("again"), b.label("done")
    b.branch(again)
    b.place(again)
    old = b.get(cell, bits)
    with b.scope():
        combined = _apply(b, row, dtype, _from_bits(b, old, new.type), new)
    seen, fine = _exchanged(b, place, old, _bits(b, combined), order)
    b.set(cell, seen)
    b.branch_if(fine, done, again)
    b.place(done)
    return _from_bits(b, old, new.type)


def _apply(b: Code, row: OpDef, dtype: DType, x: Register, y: Register) -> Register:
    if row.emit is None:
        raise RuntimeError(f"cpu: {row.name} has no lowering")
    if not narrow.is_narrow(dtype):
        return row.emit(b, dtype, x, y)
    return narrow.narrow(b, dtype, row.emit(b, float32, narrow.widen(b, dtype, x), narrow.widen(b, dtype, y)))


def _exchanged(b: Code, place: Register, expected: Register, new: Register, order: str) -> tuple[Register, Register]:
    """Compare and exchange integers: what was there, and whether it was as expected."""
    failing = AFTER_FAILURE.get(order, "monotonic")
    text = f"cmpxchg {place}, {expected}, {new} {ORDERS.get(order, order)} {failing}"
    pair = b.emit(text, f"{{ {new.type}, i1 }}")
    return b.emit(f"extractvalue {pair}, 0", new.type), b.emit(f"extractvalue {pair}, 1", "i1")


def _bits(b: Code, x: Register) -> Register:
    wide = {"float": "i32", "double": "i64"}.get(x.type)
    return x if wide is None else b.convert("bitcast", x, wide)


def _from_bits(b: Code, x: Register, type: str) -> Register:
    return x if x.type == type else b.convert("bitcast", x, type)
