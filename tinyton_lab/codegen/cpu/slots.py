"""tiny-ton's shared memory in a thread's scratch memory, element by element. Tiles run whole, so lanes never wait.

Slots are empty when a program starts. In checked mode a byte beside each slot tells whether it was stored to.
"""

from __future__ import annotations

from tinyton_lab.codegen.cpu import arithmetic
from tinyton_lab.codegen.cpu.extents import Extents
from tinyton_lab.codegen.cpu.lanes import Lanes
from tinyton_lab.codegen.cpu.values import Values
from tinyton_lab.ir.core import Function, Op
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import shared
from tinyton_lab.runtime import frame

_EMPTY, _FILLED = Register("0", "i8"), Register("1", "i8")


def empty(values: Values, function: Function) -> None:
    """Reserve the slots of a program and empty them."""
    found = shared.slots_of([op.attrs for op in function.walk() if op.row in _ACCESSES])
    if not found:
        return
    b = values.code
    values.slots, values.filled = b.allocate(found * shared.SLOT_BYTES), b.allocate(found)
    with b.loop(b.i64(0), b.i64(found), 1) as at:
        b.store(Register("0", "i32"), b.offset(b.scratch(values.slots), at, "i32"), shared.SLOT_BYTES)
        if values.checked:
            b.store(_EMPTY, b.offset(b.scratch(values.filled), at), 1)


_ACCESSES = (shared.shared_store, shared.shared_load)


def emit(lanes: Lanes, extents: Extents, op: Op) -> None:
    """Write an access, lane after lane; a `sync` is nothing."""
    if op.row is shared.sync:
        return
    index = op.operand("index")
    if index is None:
        raise RuntimeError(f"cpu: {op.row.name} #{op.uid} has no index")
    if not index.type.shape:
        _element(lanes, extents, op, lanes.code.i64(0))
        return
    if op.results:
        lanes.results(op)
    with lanes.code.loop(lanes.code.i64(0), lanes.code.i64(index.type.elements), 1) as at:
        _element(lanes, extents, op, at)


def _element(lanes: Lanes, extents: Extents, op: Op, at: Register) -> None:
    b, mask = lanes.code, op.operand("mask")
    if op.results and mask is not None:
        _give(lanes, op, at, arithmetic.constant(0, op.attrs["element"]))
    if mask is None:
        _access(lanes, extents, op, at)
        return
    with b.when(lanes.get(mask, at)):
        _access(lanes, extents, op, at)


def _access(lanes: Lanes, extents: Extents, op: Op, at: Register) -> None:
    b, index, value = lanes.code, op.operand("index"), op.operand("value") if not op.results else None
    if index is None:
        raise RuntimeError(f"cpu: {op.row.name} #{op.uid} has no index")
    slot = b.widen(lanes.get(index, at), arithmetic.is_signed(index.type.element))
    notes = {frame.FAULT_ARGUMENT: at, frame.FAULT_ADDRESS: slot}
    if lanes.values.checked:
        extents.fail_unless(op, b.compare("icmp ult", slot, b.i64(op.attrs["slots"])), notes)
    filled = b.offset(b.scratch(lanes.values.filled), slot)
    if value is not None:
        x = lanes.get(value, at)
        b.store(x, b.offset(b.scratch(lanes.values.slots), slot, x.type), shared.SLOT_BYTES)
        if lanes.values.checked:
            b.store(_FILLED, filled, 1)
        return
    if lanes.values.checked:
        extents.fail_unless(op, b.compare("icmp eq", b.load("i8", filled, 1), _FILLED), notes)
    type = arithmetic.register_type(op.attrs["element"])
    _give(lanes, op, at, b.load(type, b.offset(b.scratch(lanes.values.slots), slot, type), shared.SLOT_BYTES))


def _give(lanes: Lanes, op: Op, at: Register, x: Register) -> None:
    """Make a number the result of a load, or one element of it."""
    if op.result.type.shape:
        lanes.put(lanes.values.buffers[op.result], at, x)
    else:
        lanes.values.scalars[op.result] = x
