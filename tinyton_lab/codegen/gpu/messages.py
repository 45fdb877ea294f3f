"""Printing and checking on a GPU, by the functions that CUDA provides: ``vprintf`` and ``__assertfail``."""

from __future__ import annotations

from tinyton_lab.base.dtypes import DType, float32, float64
from tinyton_lab.codegen.gpu.arithmetic import cast
from tinyton_lab.codegen.gpu.state import State, layout_of
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Pointer
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import message


def lower_check(state: State, op: Op) -> None:
    """Fail where the condition does not hold in one of the thread's elements."""
    b, held = state.builder, state.get(op.operand("condition"))
    good = held[0]
    for other in held[1:]:
        good = b.binary("and", good, other)
    fail, after = b.label("fail"), b.label("after")
    b.branch_if(good, after, fail)
    b.place(fail)
    span = op.span
    texts = [text_pointer(state, t) for t in (op.attrs["message"], span.source.label if span else "", "kernel")]
    line = Register(str(span.line if span else 0), "i32")
    b.call("__assertfail", (texts[0], texts[1], line, texts[2], Register("1", "i64")), "void")
    b.branch(after)
    b.place(after)


def lower_print(state: State, op: Op) -> None:
    """Print each element once, by one of the threads that hold it."""
    b, value = state.builder, op.operand("value")
    layout = layout_of(value.type) if value is not None and value.type.shape else None
    owner = state.represents(layout) or Register("true", "i1")
    show, after = b.label("show"), b.label("after")
    b.branch_if(owner, show, after)
    b.place(show)
    shape = value.type.shape if value is not None else ()
    element = value.type.element if value is not None else None
    format = message.line_format(element, len(shape), op.attrs["prefix"], bool(op.attrs.get("hex")), "ll")
    program = [b.intrinsic(f"llvm.nvvm.read.ptx.sreg.ctaid.{x}", type="i32", overloads=()) for x in "xyz"]
    places = state.places(layout, range(layout.registers)) if layout is not None else [Register("0", "i32")]
    registers = state.get(value) if value is not None else [None]
    for place, register in zip(places, registers, strict=True):
        arguments = [*program, *_coordinates(state, place, shape)]
        if register is not None and element is not None:
            arguments.append(_passed(state, register, element, bool(op.attrs.get("hex"))))
        _printf(state, format, arguments)
    b.branch(after)
    b.place(after)


def _coordinates(state: State, place: Register, shape: tuple[int, ...]) -> list[Register]:
    b, found = state.builder, list[Register]()
    for length in reversed(shape):
        bits = length.bit_length() - 1
        found.append(b.emit(f"and i32 {place.text}, {length - 1}", "i32"))
        place = b.emit(f"lshr i32 {place.text}, {bits}", "i32") if bits else place
    return found[::-1]


def _passed(state: State, x: Register, element: DType | Pointer, hexadecimal: bool) -> Register:
    """An element as C passes it: floats as double, small integers as int."""
    b = state.builder
    if isinstance(element, Pointer):
        return b.convert("ptrtoint", x, "i64")
    if hexadecimal and element.kind == "float":
        raw = b.recast(x, f"i{element.bits}")
        return raw if element.bits >= 32 else b.convert("zext", raw, "i32")
    if element.kind == "float":
        single = x if element.bits >= 32 else cast(state, x, element, float32, None)
        return single if element.bits == 64 else cast(state, single, float32, float64, None)
    if element.bits >= 32:
        return x
    return b.convert("sext" if element.signed and not hexadecimal else "zext", x, "i32")


def _printf(state: State, format: str, arguments: list[Register]) -> None:
    """Call with the arguments packed as C lays them out."""
    b, offsets, at = state.builder, list[int](), 0
    for x in arguments:
        size = 8 if x.type in ("i64", "double") else 4
        at = -(-at // size) * size
        offsets.append(at)
        at += size
    packed = b.emit(f"alloca [{at} x i8], align 8", "ptr")
    for offset, x in zip(offsets, arguments, strict=True):
        place = b.emit(f"getelementptr i8, {packed}, i32 {offset}", "ptr")
        b.effect(f"store {x}, {place}")
    b.call("vprintf", (text_pointer(state, format), packed), "i32")


def text_pointer(state: State, text: str) -> Register:
    """A text in the module's memory."""
    b, raw = state.builder, text.encode() + b"\0"
    spelled = "".join(chr(c) if 32 <= c < 127 and c not in (34, 92) else f"\\{c:02X}" for c in raw)
    content = f'addrspace(1) constant [{len(raw)} x i8] c"{spelled}", align 1'
    known = next((line for line in b.globals if line.endswith(content)), None)
    name = known.split(" ", 1)[0] if known else f"@text.{len(b.globals)}"
    if known is None:
        b.globals.append(f"{name} = internal {content}")
    return Register(f"addrspacecast (ptr addrspace(1) {name} to ptr)", "ptr")
