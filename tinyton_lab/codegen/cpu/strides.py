"""How a tile's values step along an axis, read off its ops: 1 for a range, 0 for a broadcast, None where unknown."""

from __future__ import annotations

from collections.abc import Callable

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Pointer
from tinyton_lab.ops import elementwise, shape

_DEEPEST = 150  # ops that are looked through; what lies deeper counts as unknown


class Strides:
    """The strides of one function's values; each is found once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Value, int], int | None] = {}
        self._depth = 0

    def of(self, value: Value, axis: int) -> int | None:
        """The constant difference between neighbours along `axis` (elements for pointers), or None.

        Integers are taken not to wrap inside a tile. 0 means: the same value all along.
        """
        key = value, axis
        if key not in self._known:
            self._depth += 1
            self._known[key] = self._find(value, axis) if self._depth <= _DEEPEST else None
            self._depth -= 1
        return self._known[key]

    def _find(self, value: Value, axis: int) -> int | None:
        op = value.op
        if value.type.shape[axis] == 1:
            return 0
        if op is None:
            return None
        rule = _RULES.get(op.row)
        if rule is not None:
            return rule(self, op, axis)
        if not op.row.elementwise:
            return None
        return 0 if all(self.of(operand, axis) == 0 for operand in op.inputs) else None


def operand_axis(op: Op, axis: int) -> int | None:
    """The operand's axis that becomes `axis` of a view's result; None where the view made it."""
    if op.row is shape.expand:
        made = op.attrs["axis"]
        return None if axis == made else axis - (axis > made)
    if op.row is shape.transpose:
        return op.attrs["order"][axis]
    return axis


def _view(strides: Strides, op: Op, axis: int) -> int | None:
    (source,) = op.operands
    at = operand_axis(op, axis)
    return 0 if source is None or at is None or source.type.shape[at] == 1 else strides.of(source, at)


def _sum(strides: Strides, op: Op, axis: int) -> int | None:
    first, second = (strides.of(value, axis) for value in op.inputs)
    if first is None or second is None:
        return None
    return first - second if op.row is elementwise.sub else first + second


def _product(strides: Strides, op: Op, axis: int) -> int | None:
    x, y = op.inputs
    for tile, factor in ((x, y), (y, x)):
        step, by = strides.of(tile, axis), constant_of(factor)
        if step is not None and isinstance(by, int):
            return step * by
    return 0 if strides.of(x, axis) == 0 == strides.of(y, axis) else None


def _pointer_cast(strides: Strides, op: Op, axis: int) -> int | None:
    (x,) = op.inputs
    step = strides.of(x, axis)
    if step is None:
        return None
    moved, size = step * _pointee_bytes(x), _pointee_bytes(op.result)
    return moved // size if moved % size == 0 else None


def _pointee_bytes(value: Value) -> int:
    element = value.type.element
    return element.element.bytes if isinstance(element, Pointer) else 1


def _cast(strides: Strides, op: Op, axis: int) -> int | None:
    (x,) = op.inputs
    step = strides.of(x, axis)
    from_type, to = x.type.element, op.attrs["to"]
    widens = isinstance(from_type, DType) and from_type.kind in ("int", "uint") and to.kind in ("int", "uint")
    return step if step == 0 or (widens and to.bits >= from_type.bits) else None


def constant_of(value: Value) -> int | float | None:
    """The compile-time value of a scalar or a tile of equal elements, or None."""
    op = value.op
    while op is not None and op.row in (shape.splat, shape.broadcast, shape.expand, shape.reshape):
        source = op.operands[0]
        op = None if source is None else source.op
    return op.attrs["value"] if op is not None and op.row is shape.constant else None


_RULES: dict[OpDef, Callable[[Strides, Op, int], int | None]] = {
    shape.constant: lambda strides, op, axis: 0,
    shape.splat: lambda strides, op, axis: 0,
    shape.range_: lambda strides, op, axis: 1,
    shape.expand: _view,
    shape.broadcast: _view,
    shape.transpose: _view,
    elementwise.add: _sum,
    elementwise.sub: _sum,
    elementwise.mul: _product,
    elementwise.offset: _sum,
    elementwise.pointer_cast: _pointer_cast,
    elementwise.cast: _cast,
}
