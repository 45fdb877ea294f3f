"""Spell scans in gathers and elementwise ops: by doubling, each step combines with what lies 1, 2, 4 ... before."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.rewrite import Rewriter
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops import collective, elementwise, shape


def spell_scans(function: Function) -> Function:
    """Replace every `scan`; its block consists of elementwise ops and constants."""
    if all(op.row is not collective.scan for op in function.walk()):
        return function
    return Rewriter(function).run(_rule)


def _rule(rewriter: Rewriter, op: Op) -> tuple[Value, ...] | None:
    if op.row is not collective.scan:
        return None
    b, axis, backward = rewriter.builder, op.attrs["axis"], op.attrs["reverse"]
    values, tile = list(op.inputs), next(op.inputs).type.shape
    place, length = _place(b, tile, axis), tile[axis]
    distance = 1
    while distance < length:
        step = _filled(b, place.type, distance)
        source = b.value(elementwise.add if backward else elementwise.sub, place, step)
        before = [b.value(collective.gather, value, source, axis=axis) for value in values]
        combined = applied(b, op.blocks[0], [*before, *values], tile)
        if backward:
            inside = b.value(elementwise.lt, place, _filled(b, place.type, length - distance))
        else:
            inside = b.value(elementwise.ge, place, step)
        values = [b.value(elementwise.select, inside, new, old) for new, old in zip(combined, values, strict=True)]
        distance *= 2
    return tuple(values)


def _place(b: Builder, tile: tuple[int, ...], axis: int) -> Value:
    """The index along an axis, in every element of a tile."""
    value = b.value(shape.range_, start=0, end=tile[axis])
    for other in range(len(tile)):
        if other != axis:
            value = b.value(shape.expand, value, axis=other)
    return value if value.type.shape == tile else b.value(shape.broadcast, value, shape=tile)


def _filled(b: Builder, type: Tile, number: int) -> Value:
    return b.value(shape.constant, value=number, type=type)


def applied(b: Builder, block: Block, arguments: Sequence[Value], tile: tuple[int, ...]) -> list[Value]:
    """The ops of a block of scalars, carried out on tiles; values from outside are the same in every element."""
    known: dict[Value, Value] = dict(zip(block.args, arguments, strict=True))

    def on_tile(value: Value) -> Value:
        if value not in known:
            known[value] = b.value(shape.splat, value, shape=tile)
        return known[value]

    for op in block.ops[:-1]:
        if op.row is shape.constant:
            known[op.result] = _filled(b, op.result.type.with_shape(tile), op.attrs["value"])
        else:
            operands = [None if value is None else on_tile(value) for value in op.operands]
            known[op.result] = b.emit(op.row, operands, op.attrs).result
    return [on_tile(value) for value in block.terminator.inputs]
