"""Elementwise ops on registers: narrow floats computed in f32, pointers as integers. Knows no tile, no loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinyton_lab.base.dtypes import DType, float32, uint64
from tinyton_lab.base.floats import narrowed
from tinyton_lab.codegen.cpu import narrow
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.ir.core import Block, Op, Value
from tinyton_lab.ir.types import Pointer
from tinyton_lab.llvm.text import Register, constant_text
from tinyton_lab.ops import elementwise, shape
from tinyton_lab.ops.casts import emit_cast

Element = DType | Pointer


def register_type(element: Element) -> str:
    """The LLVM type of an element in a register."""
    return "i64" if isinstance(element, Pointer) else narrow.raw_type(element)


def memory_type(element: Element) -> str:
    """The LLVM type of an element in memory: a byte for i1."""
    return "i8" if register_type(element) == "i1" else register_type(element)


def memory_bytes(element: Element) -> int:
    return element.bytes


def constant(value: Any, element: Element) -> Register:
    """A compile-time scalar."""
    if isinstance(element, Pointer):
        return Register(str(int(value)), "i64")
    if narrow.is_narrow(element):
        bits = int(narrowed(value, element.numpy).view(f"uint{element.bits}"))
        return Register(str(bits), f"i{element.bits}")
    return Register(constant_text(element, value), element.llvm)


def to_memory(b: Code, x: Register) -> Register:
    return b.convert("zext", x, "i8") if x.element == "i1" else x


def from_memory(b: Code, x: Register, element: Element) -> Register:
    """What was read, as a register value."""
    if register_type(element) != "i1":
        return x
    zero = Register("zeroinitializer" if x.lanes else "0", x.type)
    return b.compare("icmp ne", x, zero)


def apply(b: Code, op: Op, operands: Sequence[Register]) -> Register:
    """Emit one elementwise op; scalars among vectors are splat."""
    lanes = max((x.lanes for x in operands), default=0)
    registers = [b.lanes_of(x, lanes) for x in operands] if lanes else list(operands)
    elements = [value.type.element for value in op.inputs]
    result = op.result.type.element
    if op.row in SPECIAL:
        return SPECIAL[op.row](b, op, registers, elements, result)
    attrs = {name: value for name, value in op.attrs.items() if value is not None}
    first = elements[0]
    if isinstance(first, Pointer):
        return _row(b, op, uint64, registers, attrs)
    if op.row is elementwise.select:
        return b.select(*registers)
    if any(narrow.is_narrow(element) for element in elements):
        wide = [
            narrow.widen(b, element, x) if isinstance(element, DType) and narrow.is_narrow(element) else x
            for x, element in zip(registers, elements)
        ]
        value = _row(b, op, float32, wide, attrs)
        return narrow.narrow(b, result, value) if isinstance(result, DType) and narrow.is_narrow(result) else value
    return _row(b, op, first, registers, attrs)


def _row(b: Code, op: Op, dtype: DType, registers: Sequence[Register], attrs: Mapping[str, Any]) -> Register:
    if op.row.emit is None:
        raise RuntimeError(f"cpu: {op.row.name} has no lowering")
    return op.row.emit(b, dtype, *registers, **attrs)


def _cast(b: Code, op: Op, registers: list[Register], elements: list[Element], result: Element) -> Register:
    (x,), (source,), to = registers, elements, op.attrs["to"]
    rounding = op.attrs.get("rounding")
    if source is to or not isinstance(source, DType):
        return x
    if narrow.is_narrow(source):
        x, source = narrow.widen(b, source, x), float32
    if narrow.is_narrow(to):
        wide = x if source in narrow.WIDE else emit_cast(b, source, x, to=float32)
        return narrow.narrow(b, to, wide, rounding)
    if rounding == "rtz" and source.bits == 64 and to is float32 and source.kind == "float":
        return narrow.truncate_double(b, x)
    return emit_cast(b, source, x, to=to)


def _bitcast(b: Code, op: Op, registers: list[Register], elements: list[Element], result: Element) -> Register:
    (x,) = registers
    to = register_type(result)
    return x if x.element == to else b.convert("bitcast", x, to)


def _offset(b: Code, op: Op, registers: list[Register], elements: list[Element], result: Element) -> Register:
    address, distance = registers
    pointer, integer = elements
    return b.add(address, scaled(b, distance, integer, pointer))


def scaled(b: Code, distance: Register, integer: Element, pointer: Element) -> Register:
    """An element offset in bytes, as i64."""
    wide = b.widen(distance, isinstance(integer, DType) and integer.signed)
    size = pointer.element.bytes if isinstance(pointer, Pointer) else 1
    if size == 1:
        return wide
    if not wide.lanes and not wide.text.startswith("%"):
        return Register(str(int(wide.text) * size), "i64")
    return b.binary("mul", wide, b.constant_bits(size, "i64", wide.lanes))


def _to_int(b: Code, op: Op, registers: list[Register], elements: list[Element], result: Element) -> Register:
    (x,) = registers
    return x if result.bits == 64 else b.convert("trunc", x, f"i{result.bits}")


def _to_pointer(b: Code, op: Op, registers: list[Register], elements: list[Element], result: Element) -> Register:
    (x,), (source,) = registers, elements
    return b.widen(x, isinstance(source, DType) and source.signed)


def _same(b: Code, op: Op, registers: list[Register], elements: list[Element], result: Element) -> Register:
    return registers[0]


SPECIAL: dict[Any, Any] = {
    elementwise.cast: _cast,
    elementwise.bitcast: _bitcast,
    elementwise.offset: _offset,
    elementwise.pointer_to_int: _to_int,
    elementwise.int_to_pointer: _to_pointer,
    elementwise.pointer_cast: _same,
}


def combine(b: Code, block: Block, arguments: Sequence[Register], outer: Mapping[Value, Register]) -> list[Register]:
    """Emit a combining block on scalars or vectors; gives what it yields."""
    values: dict[Value, Register] = dict(zip(block.args, arguments))
    uid, b.uid = b.uid, b.uid

    def read(value: Value) -> Register:
        return values[value] if value in values else outer[value]

    for op in block.ops[:-1]:
        if op.row is shape.constant:
            values[op.result] = constant(op.attrs["value"], op.result.type.element)
        elif op.row.elementwise:
            values[op.result] = apply(b, op, [read(value) for value in op.inputs])
        else:
            raise RuntimeError(f"cpu: {op.row.name} in a combining block has no lowering")
    b.uid = uid
    lanes = arguments[0].lanes
    return [b.lanes_of(read(value), lanes) if lanes else read(value) for value in block.terminator.inputs]


def identity(row: Any, element: Element) -> Register | None:
    """The neutral element of a reduction that combines with one op, or None."""
    if isinstance(element, Pointer) or narrow.is_narrow(element):
        value = _NEUTRAL_FLOAT.get(row) if not isinstance(element, Pointer) else None
        return None if value is None else constant(value, element)
    if element.kind == "float":
        value = _NEUTRAL_FLOAT.get(row)
        return None if value is None else constant(value, element)
    low, high = (-(1 << (element.bits - 1)), (1 << (element.bits - 1)) - 1) if element.signed else (0, _ones(element))
    table: dict[Any, int] = {
        elementwise.add: 0,
        elementwise.mul: 1,
        elementwise.and_: -1 if element.signed else _ones(element),
        elementwise.or_: 0,
        elementwise.xor: 0,
        elementwise.max_: low,
        elementwise.min_: high,
    }
    return constant(table[row], element) if row in table else None


def _ones(element: DType) -> int:
    return (1 << element.bits) - 1


_NAN, _INFINITY = float("nan"), float("inf")
_NEUTRAL_FLOAT: dict[Any, float] = {
    elementwise.add: -0.0,
    elementwise.mul: 1.0,
    elementwise.max_: _NAN,
    elementwise.min_: _NAN,
    elementwise.max_nan: -_INFINITY,
    elementwise.min_nan: _INFINITY,
}


def is_signed(element: Element) -> bool:
    return isinstance(element, DType) and element.signed


def zero(type: str) -> Register:
    """The zero of an LLVM element type."""
    return Register({"float": "0.0", "double": "0.0", "i1": "false"}.get(type, "0"), type)
