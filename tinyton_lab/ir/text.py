"""The text form of the IR: `print_function`, one op per line. `parse.py` reads it back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.core import Block, Function, Op
from tinyton_lab.ir.types import Tile


@dataclass(slots=True)
class Printed:
    """A printed function: its text, and the op numbers of each line."""

    text: str
    lines: tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class _Printer:
    spell_layout: Callable[[Hashable], str]
    layouts: dict[Hashable, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    uids: list[tuple[int, ...]] = field(default_factory=list)

    def line(self, depth: int, text: str, *uids: int) -> None:
        self.lines.append("  " * depth + text)
        self.uids.append(uids)

    def type(self, tile: Tile) -> str:
        if tile.layout is not None and tile.layout not in self.layouts:
            self.layouts[tile.layout] = f"#L{len(self.layouts) + 1}"
        return tile.text(self.layouts)

    def block(self, block: Block, depth: int) -> None:
        for op in block.ops:
            self.op(op, depth)

    def op(self, op: Op, depth: int) -> None:
        head = f"{', '.join(f'%{r.name}' for r in op.results)} = " if op.results else ""
        text = head + op.row.name + _operands(op) + attributes_text(op.attrs, self.type)
        text += f" : {', '.join(self.type(r.type) for r in op.results)}" if op.results else ""
        self.line(depth, text + (" {" if op.blocks else ""), op.uid)
        for index, block in enumerate(op.blocks):
            if index:
                self.line(depth, "} {", op.uid)
            if block.args:
                self.line(depth, f"^({', '.join(f'%{a.name}: {self.type(a.type)}' for a in block.args)}):", op.uid)
            self.block(block, depth + 1)
        if op.blocks:
            self.line(depth, "}", op.uid)


def print_function(function: Function, spell_layout: Callable[[Hashable], str] = str) -> Printed:
    """Print a function; layouts get numbers in order of appearance and are spelled out in a header.

    The same function prints the same bytes, whatever process and hash seed.
    """
    printer = _Printer(spell_layout)
    parameters = ", ".join(_parameter(function, index) for index in range(len(function.parameters)))
    printer.line(0, f"kernel @{function.name}({parameters}){attributes_text(function.attrs, printer.type)} {{")
    printer.block(function.body, 1)
    printer.line(0, "}")
    header = [f"{name} = {spell_layout(layout)}" for layout, name in printer.layouts.items()]
    lines = header + printer.lines
    return Printed("\n".join(lines) + "\n", ((),) * len(header) + tuple(printer.uids))


def _parameter(function: Function, index: int) -> str:
    parameter, value = function.parameters[index], function.body.args[index]
    known = f" {{divisibility = {parameter.divisibility}}}" if parameter.divisibility > 1 else ""
    return f"%{value.name}: {parameter.type}{known}"


def _operands(op: Op) -> str:
    """Required operands by position, optional ones as ``role=%v``, the variadic rest by position."""
    words: list[str] = []
    for index, operand in enumerate(op.operands):
        role = op.row.roles[min(index, len(op.row.roles) - 1)]
        if operand is not None:
            words.append(f"{role.name}=%{operand.name}" if role.optional else f"%{operand.name}")
    return f" {', '.join(words)}" if words else ""


def attributes_text(attrs: Mapping[str, Any], spell_type: Callable[[Tile], str] = str) -> str:
    """Print attributes as ``{axis = 0, to = f32}`` with a leading blank; None values are left out."""
    known = {name: value for name, value in attrs.items() if value is not None}
    if not known:
        return ""
    return " {" + ", ".join(f"{name} = {_attribute(value, spell_type)}" for name, value in known.items()) + "}"


def _attribute(value: object, spell_type: Callable[[Tile], str]) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case Tile():
            return f"type<{spell_type(value)}>"
        case DType():
            return value.name
        case tuple():
            return "[" + ", ".join(_attribute(item, spell_type) for item in value) + "]"
        case float():
            return float_text(value)
        case _:
            return str(value)


def float_text(value: float) -> str:
    """A float that reads back to the same bits (``nan``, ``inf``, ``-0.0`` included)."""
    return repr(float(value))
