"""Along which axis the elements of a matrix lie side by side in memory, and its transpose. Knows no machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tinyton_lab.codegen.cpu.schedule import address_of
from tinyton_lab.codegen.cpu.strides import Strides
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.ops import memory, shape

_DEEPEST = 50  # ops that are looked through


@dataclass(slots=True)
class Orientation:
    """Knows of each tile along which axis it is dense; `deferred` tells ops whose tiles are computed in passing."""

    strides: Strides
    deferred: Callable[[Op], bool]
    _known: dict[Value, int | None] = field(default_factory=dict[Value, "int | None"])

    def runs_down(self, value: Value) -> bool:
        """Whether neighbours within a column, not within a row, lie side by side in memory."""
        *_, rows, columns = value.type.shape
        return rows > 1 and columns > 1 and self.dense_axis(value) == len(value.type.shape) - 2

    def dense_axis(self, value: Value, depth: int = 0) -> int | None:
        """The axis along which a load steps by one; the last axis of a tile that has memory; None: unknown."""
        if value not in self._known:
            self._known[value] = None if depth > _DEEPEST else self._find(value, depth + 1)
        return self._known[value]

    def _find(self, value: Value, depth: int) -> int | None:
        op, rank = value.op, len(value.type.shape)
        if op is None or not self.deferred(op):
            return rank - 1
        if op.row is memory.load:
            return self._stepping(op)
        if op.row is shape.transpose:
            (source,) = op.inputs
            axis = self.dense_axis(source, depth)
            return None if axis is None else op.attrs["order"].index(axis)
        if op.row.elementwise:
            tiles = (operand for operand in op.inputs if len(operand.type.shape) == rank)
            return next((axis for tile in tiles if (axis := self.dense_axis(tile, depth)) is not None), None)
        return None

    def _stepping(self, load: Op) -> int | None:
        parts = [part for part in address_of(load) if part.type.shape]
        for axis in reversed(range(len(load.result.type.shape))):
            steps = [self.strides.of(part, axis) for part in parts]
            if None not in steps and sum(step or 0 for step in steps) == 1:
                return axis
        return None


def swapped(rank: int) -> tuple[int, ...]:
    """The order of axes that exchanges the last two."""
    return (*range(rank - 2), rank - 1, rank - 2)


def untransposed(value: Value) -> Value | None:
    """What a value is the transpose of, if an op made it so."""
    op = value.op
    exchanged = swapped(len(value.type.shape))
    return next(op.inputs) if op is not None and op.row is shape.transpose and op.attrs["order"] == exchanged else None
