"""Which integers are never negative: indices counted up from zero, and what is made of them. An analysis.

It takes for granted that an index does not wrap (it would be out of bounds): a program's number times a tile's length,
a loop's counter, an offset that steps through a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ops import control, elementwise, program, shape
from tinyton_lab.passes.constants import constant_of

# An index is at most so large a multiple of a program's number or of a counter, and steps at most so far.
_LARGEST_FACTOR = 1 << 16
_VIEWS = (shape.splat, shape.expand, shape.broadcast, shape.reshape, shape.transpose)


def never_below_zero(function: Function) -> dict[int, bool]:
    """The comparisons with 0 whose outcome is known since the other operand is never negative, by op number.

    >>> from tinyton_lab.ir.parse import parse_function
    >>> from tinyton_lab.ops import OPS
    >>> text = "kernel @k() {\\n %1 = program_id {axis = 0} : i32\\n %2 = constant {value = 0, type = type<i32>} : i32"
    >>> never_below_zero(parse_function(text + "\\n %3 = ge %1, %2 : i1\\n}", OPS))
    {3: True}
    """
    analysis = _Signs()
    found: dict[int, bool] = {}
    for op in function.walk():
        outcome = _OUTCOMES.get(op.row)
        if outcome is not None and constant_of(op.operands[1]) == 0 and _signed(op.operands[0]):
            if analysis.greatest(op.operands[0]) is not None:
                found[op.uid] = outcome
    return found


_OUTCOMES = {elementwise.ge: True, elementwise.lt: False}


def _signed(value: Value | None) -> bool:
    return value is not None and not value.type.is_pointer and value.type.dtype.kind == "int"


class _Signs:
    """Mutable: the greatest value that a value can have if it is never negative (`inf`: an index), else None."""

    def __init__(self) -> None:
        self.known: dict[Value, float | None] = {}

    def greatest(self, value: Value | None) -> float | None:
        if value is None or value.type.is_pointer or not value.type.dtype.is_integer:
            return None
        if value not in self.known:
            self.known[value] = None
            found = self._of_op(value.op) if value.op else self._of_argument(value)
            bits = value.type.dtype.bits - value.type.dtype.signed
            self.known[value] = None if found is None or inf > found >= 1 << bits else found
        return self.known[value]

    def _of_op(self, op: Op) -> float | None:
        rule = _RULES.get(op.row)
        return rule(self, op) if rule is not None else None

    def _of_argument(self, value: Value) -> float | None:
        """The counter of a loop, and what it carries upwards by small steps."""
        block = value.owner
        loop = block.owner if isinstance(block, Block) else None
        if loop is None or loop.row is not control.for_ or not isinstance(block, Block):
            return None
        if value.index == 0:
            return self._counter(loop)
        start = self.greatest(loop.operands[2 + value.index])
        after = block.terminator.operands[value.index - 1]
        step = self._step(after, value)
        return None if start is None or step is None or inf > start >= 1 << 30 else inf

    def _counter(self, loop: Op) -> float | None:
        lower, upper, step = loop.operands[:3]
        if self.greatest(lower) is None or (constant_of(step) or 0) <= 0:
            return None
        end = constant_of(upper)
        return inf if end is None else max(int(end) - 1, 0)

    def _step(self, after: Value | None, before: Value) -> int | None:
        """How far a turn carries a value; None unless by a constant that is not negative."""
        if after is before:
            return 0
        if after is None or after.op is None or after.op.row is not elementwise.add:
            return None
        x, y = after.op.operands
        step = constant_of(y if x is before else x) if before in (x, y) else None
        return int(step) if step is not None and 0 <= step <= _LARGEST_FACTOR else None


def _constant(signs: _Signs, op: Op) -> float | None:
    value = op.attrs["value"]
    return int(value) if value >= 0 else None


def _range(signs: _Signs, op: Op) -> float | None:
    return op.attrs["end"] - 1 if op.attrs["start"] >= 0 else None


def _sum(signs: _Signs, op: Op) -> float | None:
    x, y = (signs.greatest(value) for value in op.operands)
    return None if x is None or y is None else x + y


def _product(signs: _Signs, op: Op) -> float | None:
    x, y = (signs.greatest(value) for value in op.operands)
    if x is None or y is None:
        return None
    if inf in (x, y):
        return inf if min(x, y) <= _LARGEST_FACTOR else None
    return x * y


def _quotient(signs: _Signs, op: Op) -> float | None:
    x, y = (signs.greatest(value) for value in op.operands)
    return x if y is not None and (constant_of(op.operands[1]) or 0) > 0 else None


def _remainder(signs: _Signs, op: Op) -> float | None:
    divisor = constant_of(op.operands[1]) or 0
    return min(x, int(divisor) - 1) if (x := signs.greatest(op.operands[0])) is not None and divisor > 0 else None


def _least(signs: _Signs, op: Op) -> float | None:
    x, y = (signs.greatest(value) for value in op.operands)
    return None if x is None or y is None else min(x, y)


def _most(signs: _Signs, op: Op) -> float | None:
    x, y = (signs.greatest(value) for value in op.operands)
    return None if x is None or y is None else max(x, y)


def _same(signs: _Signs, op: Op) -> float | None:
    return signs.greatest(op.operands[0])


_RULES: dict[object, Callable[[_Signs, Op], float | None]] = {
    shape.constant: _constant,
    shape.range_: _range,
    program.program_id: lambda signs, op: inf,
    program.num_programs: lambda signs, op: inf,
    elementwise.add: _sum,
    elementwise.mul: _product,
    elementwise.idiv: _quotient,
    elementwise.mod: _remainder,
    elementwise.min_: _least,
    elementwise.max_: _most,
    elementwise.cast: _same,
    **dict.fromkeys(_VIEWS, _same),
}
