"""Combine elements along the innermost loop: independent partial results, joined by a fixed tree. Knows no tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.codegen.cpu import arithmetic
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.codegen.cpu.memory import Position
from tinyton_lab.codegen.cpu.narrow import is_narrow
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.llvm.text import Register, vector
from tinyton_lab.ops import elementwise

_IDEMPOTENT = (
    elementwise.max_,
    elementwise.min_,
    elementwise.max_nan,
    elementwise.min_nan,
    elementwise.and_,
    elementwise.or_,
)


def combining_row(op: Op) -> Any:
    """The one op a reduction combines with (in either order of its arguments), or None."""
    (block,) = op.blocks
    if len(block.ops) != 2 or len(block.args) != 2:
        return None
    only, end = block.ops
    straight = list(only.operands) in (block.args, block.args[::-1]) and list(end.operands) == list(only.results)
    return only.row if straight and only.row.elementwise else None


def identities(op: Op) -> list[Register] | None:
    """The neutral element per input, or None when none is known."""
    row = combining_row(op)
    found = [arithmetic.identity(row, value.type.element) for value in op.inputs]
    known = [register for register in found if register is not None]
    return known if len(known) == len(found) else None


def clampable(op: Op) -> bool:
    """Whether many equal elements can be absorbed at once."""
    row, element = combining_row(op), op.results[0].type.element
    return row in _IDEMPOTENT or (row is elementwise.add and not is_narrow(element) and element.bits > 1)


@dataclass(slots=True)
class Accumulator:
    """Partial results of one reduction: a variable per input, of `lanes` lanes.

    Where no neutral element is known, `together` vectors of a turn wait for each other, to be folded at once.
    """

    code: Code
    op: Op
    lanes: int
    outer: Mapping[Value, Register]
    cells: list[Register]
    types: list[str]
    started: Register | None
    together: int = 1
    waiting: list[list[Register]] = field(default_factory=list[list[Register]])

    @staticmethod
    def start(code: Code, op: Op, lanes: int, outer: Mapping[Value, Register], together: int = 1) -> Accumulator:
        """Begin with the neutral element, or with a note that nothing was seen yet."""
        neutral = identities(op)
        elements = [arithmetic.register_type(value.type.element) for value in op.inputs]
        types = [vector(element, lanes) for element in elements]
        first = neutral or [arithmetic.zero(element) for element in elements]
        cells = [code.variable(code.splat(x, lanes) if lanes else x) for x in first]
        started = None if neutral else code.variable(Register("false", "i1"))
        return Accumulator(code, op, lanes, outer, cells, types, started, together)

    def step(self, registers: Sequence[Register], position: Position) -> None:
        """Take in one vector of elements; without a neutral element they are joined in their order first."""
        b = self.code
        if self.started is not None:
            self.waiting.append([b.lanes_of(x, position.lanes) if position.lanes else x for x in registers])
            if len(self.waiting) < self.together:
                return
            registers = [_chained(b, vectors) for vectors in zip(*self.waiting)]
            self.waiting.clear()
            registers = fold_in_order(b, self.op, registers, position.lanes * self.together, self.outer)
        elements = [b.lanes_of(x, self.lanes) if self.lanes else x for x in registers]
        current = self.read()
        combined = arithmetic.combine(b, self.op.blocks[0], current + elements, self.outer)
        if self.started is not None:
            seen = b.get(self.started, "i1")
            combined = [b.select(seen, new, x) for new, x in zip(combined, elements)]
            b.set(self.started, Register("true", "i1"))
        for cell, new, old in zip(self.cells, combined, current):
            b.set(cell, new if position.active is None else b.select(position.active, new, old))

    def read(self) -> list[Register]:
        return [self.code.get(cell, type) for cell, type in zip(self.cells, self.types)]


def fold_in_order(
    code: Code, op: Op, vectors: list[Register], lanes: int, outer: Mapping[Value, Register]
) -> list[Register]:
    """Fold neighbouring lanes until one element is left: for combinations that do not commute."""
    vectors = [code.lanes_of(x, lanes) if lanes else x for x in vectors]
    while lanes > 1:
        lanes //= 2
        even, odd = ([code.shuffle(x, range(start, 2 * lanes, 2)) for x in vectors] for start in (0, 1))
        vectors = arithmetic.combine(code, op.blocks[0], even + odd, outer)
    return [code.emit(f"extractelement {x}, i64 0", x.element) if x.lanes else x for x in vectors]


def _chained(code: Code, vectors: Sequence[Register]) -> Register:
    """Vectors one behind the other, as one; their number is a power of two."""
    if len(vectors) == 1:
        return vectors[0]
    half = len(vectors) // 2
    low, high = _chained(code, vectors[:half]), _chained(code, vectors[half:])
    return code.shuffle(low, range(2 * low.lanes), high)


def join(code: Code, op: Op, parts: list[Accumulator], outer: Mapping[Value, Register]) -> list[Register]:
    """Join partial results pairwise, then fold the lanes in halves, down to one element per input."""
    values = [part.read() for part in parts]
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2])
        values = [arithmetic.combine(code, op.blocks[0], x + y, outer) for x, y in pairs]
    return fold(code, op, values[0], outer)


def fold(code: Code, op: Op, vectors: list[Register], outer: Mapping[Value, Register]) -> list[Register]:
    """Fold the lanes of vectors in halves."""
    lanes = vectors[0].lanes
    while lanes > 1:
        lanes //= 2
        low, high = ([code.shuffle(x, range(start, start + lanes)) for x in vectors] for start in (0, lanes))
        vectors = arithmetic.combine(code, op.blocks[0], low + high, outer)
    return [code.emit(f"extractelement {x}, i64 0", x.element) if x.lanes else x for x in vectors]


def absorb(code: Code, op: Op, total: Register, value: Register, count: Register) -> Register:
    """Combine with `count` further elements that all are `value` (none where count is not positive)."""
    element = op.results[0].type.dtype
    if combining_row(op) is elementwise.add:
        if element.kind == "float":
            times = code.convert("sitofp", count, element.llvm)
            many = code.binary("fmul", value, times)
        else:
            fitted = count if element.bits == 64 else code.convert("trunc", count, element.llvm)
            many = code.binary("mul", value, fitted)
    else:
        many = value
    combined = arithmetic.combine(code, op.blocks[0], [total, many], {})[0]
    return code.select(code.compare("icmp sgt", count, code.i64(0)), combined, total)
