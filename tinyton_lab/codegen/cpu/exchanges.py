"""Gathers in which elements a distance apart change places, as sorting networks do: vectors move, lanes are shuffled.

Knows the pattern and the code of it, no other gather.
"""

from __future__ import annotations

from math import prod

from tinyton_lab.codegen.cpu import arithmetic
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.codegen.cpu.strides import operand_axis
from tinyton_lab.codegen.cpu.values import Buffer, Values
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.llvm.text import Register, vector
from tinyton_lab.ops import collective, elementwise, shape

_VIEWS = (shape.expand, shape.broadcast, shape.transpose)


def distance_of(op: Op) -> Value | None:
    """The scalar `d` of a gather of ``position ^ d`` along the last axis, lengths being powers of two; else None."""
    if op.row is not collective.gather:
        return None
    source, index = op.inputs
    axis = index.type.rank - 1
    lengths = source.type.shape[-1], index.type.shape[-1]
    crossed = index.op is not None and index.op.row is elementwise.xor
    if op.attrs["axis"] != axis or not crossed or any(n < 2 or n & (n - 1) for n in lengths):
        return None
    for place, distance in (pair := list(index.op.inputs if index.op else ()), pair[::-1]):
        if _is_position(place, axis) and distance.op is not None and distance.op.row is shape.splat:
            return next(distance.op.inputs)
    return None


def _is_position(value: Value, axis: int | None) -> bool:
    """Whether each element is its own index along an axis."""
    while value.op is not None and axis is not None and value.op.row in _VIEWS:
        axis, value = operand_axis(value.op, axis), next(value.op.inputs)
    op = value.op
    return axis == 0 and op is not None and op.row is shape.range_ and op.attrs["start"] == 0


def emit(values: Values, op: Op, distance: Value, result: Buffer) -> None:
    """Write such a gather from its source's buffer to its own."""
    b = values.code
    source = values.buffers[next(op.inputs)]
    lanes = min(b.machine.vector_bits // (8 * source.bytes), source.shape[-1], result.shape[-1])
    by = b.widen(values.scalar(distance), arithmetic.is_signed(distance.type.element))
    within = b.binary("and", by, b.i64(lanes - 1))
    for condition in ("eq", "ne"):
        with b.when(b.compare(f"icmp {condition}", within, b.i64(0))):
            _move(b, source, result, lanes, by, within if condition == "ne" else None)


def _move(b: Code, source: Buffer, result: Buffer, lanes: int, by: Register, within: Register | None) -> None:
    """Copy each vector from where it is wanted; its lanes change places where a distance `within` it is given."""
    length = source.shape[-1]
    whole = b.binary("and", by, b.i64(-lanes))
    with b.loop(b.i64(0), b.i64(prod(result.shape[:-1])), 1) as row:
        start = b.offset(b.scratch(source.at), b.binary("mul", row, b.i64(length)), source.type)
        out = b.offset(b.scratch(result.at), b.binary("mul", row, b.i64(result.shape[-1])), result.type)
        with b.loop(b.i64(0), b.i64(result.shape[-1]), lanes) as at:
            place = b.binary("and", b.binary("xor", at, whole), b.i64(length - 1))
            moved = b.load(vector(source.type, lanes), b.offset(start, place, source.type), source.bytes)
            bit = 1
            while within is not None and bit < lanes:
                wanted = b.compare("icmp ne", b.binary("and", within, b.i64(bit)), b.i64(0))
                moved = b.select(wanted, _swapped(b, moved, bit), moved)
                bit *= 2
            b.store(moved, b.offset(out, at, result.type), result.bytes)


def _swapped(b: Code, x: Register, bit: int) -> Register:
    lanes = ", ".join(f"i32 {lane ^ bit}" for lane in range(x.lanes))
    return b.emit(f"shufflevector {x}, {x.type} poison, <{x.lanes} x i32> <{lanes}>", x.type)
