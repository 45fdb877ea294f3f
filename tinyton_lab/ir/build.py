"""Make ops, infer their types, put them where the insertion point is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tinyton_lab.base.source import Span
from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.definition import Mismatch, OpDef
from tinyton_lab.ir.types import Pointer, Tile


class Builder:
    """Append ops to a block of a function. `span` is the place every new op is said to come from.

    `parent` is the op being rewritten: new ops record that they come from it.
    """

    def __init__(self, function: Function, block: Block | None = None) -> None:
        self.function = function
        self.block = function.body if block is None else block
        self.span: Span | None = None
        self.parent: int = 0
        self.kind = "derived"

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        """Insert into `block` for the duration of a ``with``."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def emit(
        self,
        row: OpDef,
        operands: Sequence[Value | None] = (),
        attrs: Mapping[str, Any] | None = None,
        types: Sequence[Tile] | None = None,
        blocks: Sequence[Block] = (),
    ) -> Op:
        """Build one op and append it. Raises `Mismatch` when the operands do not fit the row."""
        full = complete(row, operands)
        attrs = dict(attrs or {})
        inferred = tuple(types) if types is not None else infer(row, full, attrs)
        op = Op(row, full, inferred, attrs, tuple(blocks), self.function.new_uid(), self.span)
        if self.parent:
            self.function.provenance.add(op.uid, self.parent, self.kind)
        self.block.ops.append(op)
        return op

    def value(self, row: OpDef, *operands: Value | None, **attrs: Any) -> Value:
        """Build a one-result op and give its result."""
        return self.emit(row, operands, attrs).result


def complete(row: OpDef, operands: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """Fill absent optional operands with None and check the count."""
    fixed = [role for role in row.roles if not role.variadic]
    full = tuple(operands) + (None,) * (len(fixed) - len(operands))
    if len(full) > len(fixed) and not any(role.variadic for role in row.roles):
        raise Mismatch(f"{row.name} takes {len(fixed)} operands, got {len(operands)}")
    for role, operand in zip(fixed, full, strict=False):
        if operand is None and not role.optional:
            raise Mismatch(f"{row.name} needs its operand {role.name!r}")
    return full


def infer(row: OpDef, operands: Sequence[Value | None], attrs: Mapping[str, Any]) -> tuple[Tile, ...]:
    """The result types of an op, by its row's own rule."""
    for operand in operands:
        if operand is not None and element_kind(operand.type) not in row.accepts:
            raise Mismatch(f"{row.name} does not take {operand.type}")
    if row.infer is None:
        return ()
    return row.infer([None if value is None else value.type for value in operands], attrs)


def element_kind(type: Tile) -> str:
    """``bool int uint float`` or ``pointer``."""
    return "pointer" if isinstance(type.element, Pointer) else type.element.kind
