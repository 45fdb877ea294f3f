"""Carry out the language by appending ops to a function of tile IR. Knows no syntax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.source import Span
from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Block, Function, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Tile
from tinyton_lab.language.value import Branching, TileValue, make
from tinyton_lab.ops import collective, control, message, reduction

Call = Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]
Combine = Callable[..., Sequence[TileValue]]


class IrEmitter:
    """An emitter whose handles are values of the IR; `call_function` inlines functions written in the language."""

    def __init__(self, function: Function, dialect: str, call_function: Call) -> None:
        self.function, self.dialect, self._call = function, dialect, call_function
        self.builder = Builder(function)
        self.sanitize_overflow = bool(function.attrs.get("sanitize_overflow"))
        self.memory: dict[str, Any] = {}
        self.remarks: list[TinytonError] = []

    def call(self, function: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        return self._call(function, args, keywords)

    @property
    def span(self) -> Span | None:
        return self.builder.span

    @span.setter
    def span(self, span: Span | None) -> None:
        self.builder.span = span

    def value(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Value:
        return self.builder.emit(row, operands, attrs).results[0]

    def results(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[Value]:
        return self.builder.emit(row, operands, attrs).results

    def effect(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        self.builder.emit(row, operands, attrs)

    def reduce(self, inputs: Sequence[Value], axis: int, combine: Combine, commutes: bool = False) -> Sequence[Any]:
        block = self._combining(inputs, combine)
        attrs = {"axis": axis} | ({"commutes": True} if commutes else {})
        return self.builder.emit(reduction.reduce, inputs, attrs, blocks=(block,)).results

    def scan(self, inputs: Sequence[Value], axis: int, reverse: bool, combine: Combine) -> Sequence[Any]:
        block = self._combining(inputs, combine)
        return self.builder.emit(collective.scan, inputs, {"axis": axis, "reverse": reverse}, blocks=(block,)).results

    def map(self, inputs: Sequence[Value], function: Combine) -> Sequence[Any]:
        names = [f"x{number}" if len(inputs) > 1 else "x" for number in range(len(inputs))]
        block = self._scalar_block([Tile(value.type.element) for value in inputs], names, function)
        types = [Tile(value.type.element, inputs[0].type.shape) for value in block.terminator.inputs]
        return self.builder.emit(collective.map_, inputs, {}, types, (block,)).results

    def _combining(self, inputs: Sequence[Value], combine: Combine) -> Block:
        scalars = [Tile(value.type.element) for value in inputs]
        names = [side + (str(i) if len(inputs) > 1 else "") for side in "ab" for i in range(len(inputs))]
        block = self._scalar_block([*scalars, *scalars], names, combine)
        if any(op.blocks for op in block.ops):
            raise Branching
        return block

    def _scalar_block(self, types: Sequence[Tile], names: Sequence[str], function: Combine) -> Block:
        """A block that yields what a function of scalars gives."""
        span = self.span
        block, values = self.block(types, names)
        with self.builder.inside(block):
            self.end(control.yield_, [x.handle for x in function(*values)], span)
        self.span = span
        return block

    def message(self, kind: str, text: str, values: Sequence[TileValue], hex: bool = False) -> None:
        """Emit a `print` per value or a `check`; of a breakpoint a remark says that it has no effect here."""
        if kind == "breakpoint":
            self.remark("TT1027", self.span)
        elif kind == "assert":
            self.effect(message.check, [values[0].handle], {"message": text})
        else:
            attrs = {"prefix": text, "hex": True} if hex else {"prefix": text}
            for value in values or (None,):
                self.effect(message.print_, [] if value is None else [value.handle], attrs)

    def remark(self, code: str, span: Span | None) -> None:
        """Note something that the kernel's author should know, once per place."""
        if not any((known.code, known.span) == (code, span) for known in self.remarks):
            self.remarks.append(error(code, span))

    # What the front end's control flow needs besides.
    def block(self, types: Sequence[Tile], names: Sequence[str]) -> tuple[Block, list[TileValue]]:
        """A new block with arguments, as values of the kernel."""
        block, prefix = Block(), self.function.new_uid() if types else 0
        arguments = [block.add_argument(type, f"{prefix}.{name}") for type, name in zip(types, names, strict=True)]
        return block, [make(value.type, value) for value in arguments]

    def end(self, terminator: OpDef, values: Sequence[Value], span: Span | None = None) -> None:
        """End the block at work."""
        if span is not None:
            self.span = span
        self.builder.emit(terminator, values)
