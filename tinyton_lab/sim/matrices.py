"""Lowering of matrix instructions: register lists become (warps, 32) arrays, rows of memory become 16-byte accesses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.fragments import PER_REGISTER
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.isa_matrix import shape_of, wmma_fragment, wmma_registers
from tinyton_lab.ptx.syntax import Instruction, Name, Operand, Vector
from tinyton_lab.ptx.types import TYPES, PtxType
from tinyton_lab.sim import access
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.lowering import Lowering, Reader
from tinyton_lab.sim.program import Operation
from tinyton_lab.sim.transfers import space_of

_ROW = np.dtype(np.complex128)


def items_of(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def register_type(name: str) -> PtxType:
    """The register that holds elements of a type: 64 bits for f64, else 32."""
    return TYPES["b64"] if name == "f64" else TYPES["b32"]


def targets_of(
    low: Lowering, instruction: Instruction, form: Form, names: Names, operand: Operand, type_: PtxType
) -> list[int | None]:
    """The registers of a written list; None for ``_``."""
    found: list[int | None] = []
    for item in items_of(operand):
        if not isinstance(item, Name):
            low.refuse(instruction, form, "needs registers to write")
        target = low.destination(instruction, form, names, item.text, type_, False)
        found.append(target[0] if target else None)
    return found


def write_lanes(chunk: Chunk, targets: list[int | None], values: list[Array]) -> None:
    for target, value in zip(targets, values):
        if target is not None:
            chunk.write(target, value.reshape(chunk.shape))


def matrix(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``mma`` and ``wmma.mma``: the table's function on whole register lists."""
    roles, operands = form.row.roles, instruction.operands
    if len(operands) != len(roles):
        low.refuse(instruction, form, f"needs {len(roles)} operands")
    type_names = [t.name for t in form.types]
    kinds = type_names if len(type_names) == 4 else [type_names[0], "f16", "f16", type_names[1]]
    kinds = [*kinds, "b32", "b32"]
    targets = targets_of(low, instruction, form, names, operands[0], register_type(kinds[0]))
    readers = [
        [low.reader(instruction, form, names, item, register_type(kind)) for item in items_of(operand)]
        for operand, kind in zip(operands[1:], kinds[1:])
    ]
    function: Any = form.row.run(form) if form.row.run else None

    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        sources = [[chunk.full(read(registers)) for read in group] for group in readers]
        active, core = chunk.active().reshape(-1, 32), chunk.launch.tensor_core
        write_lanes(chunk, targets, function(active, *sources, core=core))

    return run


# ldmatrix and stmatrix: lane 8m + j gives the address of row j of matrix m.
def _rows(chunk: Chunk, count: int) -> Array:
    """The mask of the lanes whose addresses are used."""
    used = (np.arange(chunk.threads) & 31) < 8 * count
    return used[None, :] & chunk.active()


def matrix_load(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    count, transposed = int(form["number"][1:]), form.has("trans")
    if len(instruction.operands) != 2:
        low.refuse(instruction, form, "needs registers and an address")
    targets = targets_of(low, instruction, form, names, instruction.operands[0], TYPES["b32"])
    if len(targets) != count:
        low.refuse(instruction, form, f"needs {count} registers")
    space, site = space_of(form), low.program.access_site(instruction.line, 16, "load")
    address = low.address(instruction, form, names, instruction.operands[1], space)

    def run(chunk: Chunk) -> None:
        data = access.load(chunk, site, space, address(chunk.registers), _rows(chunk, count))
        rows = chunk.full(data)
        write_lanes(chunk, targets, [_matrix_of(rows[:, 8 * m : 8 * m + 8], transposed) for m in range(count)])

    return run


def _matrix_of(rows: Array, transposed: bool) -> Array:
    """Eight 16-byte rows per warp to each lane's pair of elements."""
    rows = np.ascontiguousarray(rows)
    if transposed:
        halves = rows.view(np.uint16).reshape(-1, 8, 8)
        rows = np.ascontiguousarray(halves.transpose(0, 2, 1))
    return rows.view(np.uint32).reshape(-1, 32)


def matrix_store(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    count, transposed = int(form["number"][1:]), form.has("trans")
    if len(instruction.operands) != 2:
        low.refuse(instruction, form, "needs an address and registers")
    items = items_of(instruction.operands[1])
    if len(items) != count:
        low.refuse(instruction, form, f"needs {count} registers")
    readers = [low.reader(instruction, form, names, item, TYPES["b32"]) for item in items]
    space, site = space_of(form), low.program.access_site(instruction.line, 16, "store")
    address = low.address(instruction, form, names, instruction.operands[0], space)

    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        rows = np.zeros((chunk.ctas * chunk.threads // 32, 32), _ROW)
        for m, read in enumerate(readers):
            value = chunk.full(read(registers))
            if transposed:
                value = np.ascontiguousarray(value.view(np.uint16).reshape(-1, 8, 8).transpose(0, 2, 1))
            rows[:, 8 * m : 8 * m + 8] = value.view(_ROW).reshape(-1, 8)
        access.store(chunk, site, space, address(registers), rows.reshape(chunk.shape), _rows(chunk, count))

    return run


# wmma.load and wmma.store: element by element, in the fragments' own layout.
def _element_addresses(form: Form, side: str, element_bytes: int) -> tuple[Array, Array]:
    """(offset in leading dimensions, offset in elements) of each (lane, slot)."""
    fragment = wmma_fragment(shape_of(form), side, form.type.name)
    row, column = fragment.target // fragment.columns, fragment.target % fragment.columns
    major, minor = (row, column) if form["layout"] == "row" else (column, row)
    return major.reshape(32, -1), minor.reshape(32, -1) * element_bytes


def _stride(
    low: Lowering, instruction: Instruction, form: Form, names: Names, place: int, side: str, size: int
) -> Reader:
    """The leading dimension in bytes."""
    if len(instruction.operands) > place:
        read = low.reader(instruction, form, names, instruction.operands[place], TYPES["b32"])
        return lambda registers: read(registers).astype(np.uint64) * np.uint64(size)
    fragment = wmma_fragment(shape_of(form), side, form.type.name)
    length = fragment.columns if form["layout"] == "row" else fragment.rows
    fixed = np.asarray(np.uint64(length * size))
    return lambda registers: fixed


def _bytes_of(type_: PtxType) -> int:
    return 4 if type_.name == "tf32" else type_.bytes


def fragment_load(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``wmma.load``."""
    side, type_, size = form["side"], form.type, _bytes_of(form.type)
    targets = targets_of(low, instruction, form, names, instruction.operands[0], register_type(type_.name))
    per, count = PER_REGISTER[type_.name], wmma_registers(shape_of(form), side, type_.name)
    if len(targets) != count:
        low.refuse(instruction, form, f"needs {count} registers")
    space, site = space_of(form), low.program.access_site(instruction.line, size, "load")
    address = low.address(instruction, form, names, instruction.operands[1], space)
    stride = _stride(low, instruction, form, names, 2, side, size)
    major, minor = _element_addresses(form, side, size)

    def run(chunk: Chunk) -> None:
        base, step = chunk.full(address(chunk.registers)), chunk.full(stride(chunk.registers))
        for register, target in enumerate(targets):
            total: Array = np.zeros(chunk.shape, register_type(type_.name).raw)
            for e in range(per):
                slot = register * per + e
                where = base + step * major[:, slot].astype(np.uint64) + minor[:, slot].astype(np.uint64)
                data = access.load(chunk, site, space, where.reshape(chunk.shape), chunk.mask)
                total = total | (data.astype(total.dtype) << total.dtype.type(8 * size * e))
            if target is not None:
                chunk.write(target, total)

    return run


def fragment_store(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``wmma.store``."""
    type_, size = form.type, _bytes_of(form.type)
    items = items_of(instruction.operands[1])
    readers = [low.reader(instruction, form, names, item, register_type(type_.name)) for item in items]
    per = PER_REGISTER[type_.name]
    if len(readers) != wmma_registers(shape_of(form), "d", type_.name):
        low.refuse(instruction, form, "has the wrong number of registers")
    space, site = space_of(form), low.program.access_site(instruction.line, size, "store")
    address = low.address(instruction, form, names, instruction.operands[0], space)
    stride = _stride(low, instruction, form, names, 2, "d", size)
    major, minor = _element_addresses(form, "d", size)

    def run(chunk: Chunk) -> None:
        base, step = chunk.full(address(chunk.registers)), chunk.full(stride(chunk.registers))
        for register, read in enumerate(readers):
            value = np.broadcast_to(read(chunk.registers), chunk.shape)
            for e in range(per):
                slot = register * per + e
                where = base + step * major[:, slot].astype(np.uint64) + minor[:, slot].astype(np.uint64)
                part = (value >> value.dtype.type(8 * size * e)).astype(type_.raw)
                access.store(chunk, site, space, where.reshape(chunk.shape), part, chunk.mask)

    return run
