"""Lowering of loads, stores, atomics and address conversions to closures. Knows spaces, not scheduling."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.syntax import Address, Instruction, Name, Operand, Vector
from tinyton_lab.ptx.types import TYPES, PtxType
from tinyton_lab.sim import access
from tinyton_lab.sim.access import Site
from tinyton_lab.sim.lanes import Array, Chunk, bits
from tinyton_lab.sim.lowering import Lowering, Reader
from tinyton_lab.sim.memory import WINDOWS
from tinyton_lab.sim.program import Operation

_U8 = np.dtype(np.uint8)
Half = tuple[Site, Reader]
_NAMES = {"exch": "xchg"}
_SPACES = {
    "": "generic",
    "shared::cta": "shared",
    "shared::cluster": "shared",
    "const": "global",
    "param::entry": "param",
    "param::func": "param",
}


def space_of(form: Form) -> str:
    return _SPACES.get(form["space"], form["space"])


def _order(form: Form, usual: str = "weak") -> tuple[str, str]:
    """The memory order and the scope of an access."""
    return form["semantics"] or usual, form["scope"] or "gpu"


def _elements(low: Lowering, instruction: Instruction, form: Form, operand: Operand) -> tuple[tuple[Operand, ...], int]:
    """The registers of a scalar or vector operand, and the bytes of the whole access."""
    count = int(form["vector"][1:] or 1)
    items = operand.items if isinstance(operand, Vector) else (operand,)
    if len(items) != count:
        low.refuse(instruction, form, f"needs {count} registers here, not {len(items)}")
    size = form.type.bytes * count
    if size > 32:
        raise error("TT6030", low.span(instruction), what=f"a {size}-byte access", cure="use at most 32 bytes")
    return items, size


def load(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``ld``: one closure per shape of access."""
    if len(instruction.operands) < 2:
        low.refuse(instruction, form, "needs a register and an address")
    items, size = _elements(low, instruction, form, instruction.operands[0])
    type_ = form.type
    targets = [_target(low, instruction, form, names, item, type_) for item in items]
    writers = [low.writer(target, type_) for target in targets]
    variable = _parameter(low, names, instruction.operands[1])
    if variable is not None:
        return _load_variable(variable, writers, type_)
    space, site = space_of(form), low.program.access_site(instruction.line, size, "load", *_order(form))
    address = low.address(instruction, form, names, instruction.operands[1], space)
    if space == "param" and isinstance(instruction.operands[1], Address):
        symbol = instruction.operands[1].base
        found = names.lookup(symbol.text) if isinstance(symbol, Name) else None
        if found is not None and found[1].space != "reg":
            return _load_constant(int(address([])), size, writers, type_)
    if size > 16:
        return _load_halves(low, instruction, form, writers, address, space)
    target = targets[0]
    if len(items) == 1 and target is not None and target[1].bits == type_.bits:
        return _load_one(site, space, address, target[0])

    def run(chunk: Chunk) -> None:
        data = access.load(chunk, site, space, address(chunk.registers), chunk.mask)
        for write, part in zip(writers, access.split(data, len(writers), type_.raw)):
            write(chunk, part)

    return run


def _halves(low: Lowering, instruction: Instruction, form: Form, action: str, address: Reader) -> tuple[Half, Half]:
    """An access of 32 bytes as two of 16: where each is, and its place in the program."""
    sites = [low.program.access_site(instruction.line, 16, action, *_order(form)) for _ in range(2)]

    def behind(registers: list[Array]) -> Array:
        first = np.asarray(address(registers))
        return first + first.dtype.type(16)

    return (sites[0], address), (sites[1], behind)


def _load_halves(
    low: Lowering, instruction: Instruction, form: Form, writers: list[Any], address: Reader, space: str
) -> Operation:
    raw, count, halves = form.type.raw, len(writers) // 2, _halves(low, instruction, form, "load", address)

    def run(chunk: Chunk) -> None:
        # Both halves are read before a register is written: one of them may hold the address.
        data = [access.load(chunk, site, space, where(chunk.registers), chunk.mask) for site, where in halves]
        for write, part in zip(writers, [part for half in data for part in access.split(half, count, raw)]):
            write(chunk, part)

    return run


def _target(
    low: Lowering, instruction: Instruction, form: Form, names: Names, item: Operand, type_: PtxType
) -> tuple[int, PtxType] | None:
    if not isinstance(item, Name):
        low.refuse(instruction, form, "needs registers to load into")
    return low.destination(instruction, form, names, item.text, type_, True)


def _load_one(site: Site, space: str, address: Reader, register: int) -> Operation:
    if space == "global":
        fetch = access.load_global

        def run(chunk: Chunk) -> None:
            chunk.write(register, fetch(chunk, site, address(chunk.registers), chunk.mask))
    else:

        def run(chunk: Chunk) -> None:
            chunk.write(register, access.load(chunk, site, space, address(chunk.registers), chunk.mask))

    return run


def _load_constant(offset: int, size: int, writers: list[Any], type_: PtxType) -> Operation:
    """An entry parameter at a fixed offset: the same value in every lane."""

    def run(chunk: Chunk) -> None:
        data = chunk.launch.parameters[offset : offset + size].view(type_.raw)
        for write, value in zip(writers, data):
            write(chunk, value)

    return run


# A function's .param variables hold bytes per lane in a register of their own.
def _parameter(low: Lowering, names: Names, operand: Operand) -> tuple[int, int] | None:
    """(register, byte offset) when an address names a ``.param`` variable of a function or call."""
    if not isinstance(operand, Address) or not isinstance(operand.base, Name):
        return None
    found = names.lookup(operand.base.text)
    if found is None or found[1].space != "param":
        return None
    if (
        low.routine.function is low.program.entry
        and operand.base.text in low.program.parameter_offsets
        and found[0].number == 1
    ):
        return None
    register = low.program.bytes_register(low.routine, found[0], found[1])
    return register, operand.offset + operand.base.offset


def _load_variable(variable: tuple[int, int], writers: list[Any], type_: PtxType) -> Operation:
    register, offset = variable
    size = type_.bytes

    def run(chunk: Chunk) -> None:
        data = chunk.registers[register]
        for place, write in enumerate(writers):
            first = offset + place * size
            write(chunk, np.ascontiguousarray(data[..., first : first + size]).view(type_.raw)[..., 0])

    return run


def write_bytes(chunk: Chunk, register: int, value: Array) -> None:
    """Give a bytes register new values in the active lanes."""
    if chunk.merge is not None:
        value = np.where(np.asarray(chunk.merge)[..., None], value, chunk.registers[register])
    chunk.registers[register] = value


def _store_variable(variable: tuple[int, int], readers: list[Reader], type_: PtxType) -> Operation:
    register, offset = variable
    size = type_.bytes

    def run(chunk: Chunk) -> None:
        data = chunk.registers[register]
        values = [np.asarray(bits(read(chunk.registers), type_.raw)) for read in readers]
        shape = np.broadcast_shapes(data.shape[:-1], *(v.shape for v in values))
        result = np.array(np.broadcast_to(data, (*shape, data.shape[-1])))
        for place, value in enumerate(values):
            first = offset + place * size
            whole = np.ascontiguousarray(np.broadcast_to(value, shape))
            result[..., first : first + size] = whole.reshape((*shape, 1)).view(_U8)
        write_bytes(chunk, register, result)

    return run


def store(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``st``: scalar or vector values to any space."""
    if len(instruction.operands) < 2:
        low.refuse(instruction, form, "needs an address and a value")
    items, size = _elements(low, instruction, form, instruction.operands[1])
    type_ = form.type
    raw_type = TYPES[f"b{type_.bits}"]
    readers = [low.reader(instruction, form, names, item, raw_type, wider=True) for item in items]
    variable = _parameter(low, names, instruction.operands[0])
    if variable is not None:
        return _store_variable(variable, readers, type_)
    space, site = space_of(form), low.program.access_site(instruction.line, size, "store", *_order(form))
    address = low.address(instruction, form, names, instruction.operands[0], space)
    if size > 16:
        return _store_halves(low, instruction, form, readers, address, space)
    if len(readers) == 1:
        read = readers[0]

        def run(chunk: Chunk) -> None:
            registers = chunk.registers
            access.store(chunk, site, space, address(registers), read(registers), chunk.mask)
    else:

        def run(chunk: Chunk) -> None:
            registers = chunk.registers
            values = [np.asarray(read(registers)) for read in readers]
            shape = np.broadcast_shapes(*(value.shape for value in values))
            access.store(chunk, site, space, address(registers), access.combine(values, size, shape), chunk.mask)

    return run


def _store_halves(
    low: Lowering, instruction: Instruction, form: Form, readers: list[Reader], address: Reader, space: str
) -> Operation:
    count, halves = len(readers) // 2, _halves(low, instruction, form, "store", address)

    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        for (site, where), group in zip(halves, (readers[:count], readers[count:])):
            values = [np.asarray(read(registers)) for read in group]
            shape = np.broadcast_shapes(*(value.shape for value in values))
            access.store(chunk, site, space, where(registers), access.combine(values, 16, shape), chunk.mask)

    return run


def atomic(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``atom`` and ``red``."""
    returns, operands = form.row.mnemonic == "atom", list(instruction.operands)
    count = sum(1 for role in form.row.roles if role.type == "T0" and not role.written)
    if len(operands) < count + 1 + returns:
        low.refuse(instruction, form, "needs more operands")
    target = None
    if returns:
        first = operands.pop(0)
        if not isinstance(first, Name):
            low.refuse(instruction, form, "needs a register to write")
        target = low.destination(instruction, form, names, first.text, form.type, False)
    type_ = form.type
    space, site = (
        space_of(form),
        low.program.access_site(
            instruction.line, type_.bytes, f"atomic_{_NAMES.get(form['op'], form['op'])}", *_order(form, "relaxed")
        ),
    )
    address = low.address(instruction, form, names, operands[0], space)
    readers = [low.reader(instruction, form, names, operand, type_) for operand in operands[1 : 1 + count]]
    function: Any = form.row.run(form) if form.row.run else None
    word, wanted = form["op"], target is not None

    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        values = [read(registers) for read in readers]
        old = access.atomic(chunk, site, space, address(registers), values, function, word, chunk.mask, wanted)
        if target is not None:
            chunk.write(target[0], old)

    return run


def convert_address(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``cvta``: windows are ranges of generic addresses."""
    if len(instruction.operands) != 2 or not isinstance(instruction.operands[0], Name):
        low.refuse(instruction, form, "needs a register and an address")
    target = low.destination(instruction, form, names, instruction.operands[0].text, form.type, False)
    source = instruction.operands[1]
    read = low.reader(instruction, form, names, source, form.type)
    base = WINDOWS.get(space_of(form), 0) & ((1 << form.type.bits) - 1)
    shift = np.asarray(form.type.raw.type(-base & ((1 << form.type.bits) - 1) if form.has("to") else base))
    if target is None:
        return lambda chunk: None
    if not base:
        return lambda chunk: chunk.write(target[0], read(chunk.registers))
    return lambda chunk: chunk.write(target[0], read(chunk.registers) + shift)


def test_address(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``isspacep``."""
    if len(instruction.operands) != 2 or not isinstance(instruction.operands[0], Name):
        low.refuse(instruction, form, "needs a predicate and an address")
    target = low.destination(instruction, form, names, instruction.operands[0].text, TYPES["pred"], False)
    read = low.reader(instruction, form, names, instruction.operands[1], TYPES["b64"])
    number = np.uint64(WINDOWS.get(space_of(form), 0) >> 48)
    if target is None:
        return lambda chunk: None
    return lambda chunk: chunk.write(target[0], (read(chunk.registers) >> np.uint64(48)) == number)


def stack_allocate(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``alloca``: the stack pointer is a register of each lane; the stack lies behind the declared local variables."""
    operands = instruction.operands
    if len(operands) < 2 or not isinstance(operands[0], Name):
        low.refuse(instruction, form, "needs a register and a size")
    target = low.destination(instruction, form, names, operands[0].text, form.type, False)
    size = low.reader(instruction, form, names, operands[1], form.type)
    pointer = low.program.stack_pointer()

    def run(chunk: Chunk) -> None:
        top = bits(chunk.registers[pointer], np.dtype(np.uint64))
        wanted = (size(chunk.registers).astype(np.uint64) + np.uint64(15)) & ~np.uint64(15)
        if target is not None:
            chunk.write(target[0], top.astype(form.type.raw))
        chunk.write(pointer, top + wanted)

    return run


def stack_save(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    pointer, first = low.program.stack_pointer(), instruction.operands[0]
    if not isinstance(first, Name):
        low.refuse(instruction, form, "needs a register")
    target = low.destination(instruction, form, names, first.text, form.type, False)
    if target is None:
        return lambda chunk: None
    return lambda chunk: chunk.write(target[0], chunk.registers[pointer].astype(form.type.raw))


def stack_restore(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    pointer = low.program.stack_pointer()
    read = low.reader(instruction, form, names, instruction.operands[0], form.type)
    return lambda chunk: chunk.write(pointer, read(chunk.registers).astype(np.uint64))
