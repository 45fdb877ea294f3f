"""Lowering of asynchronous copies. A copy happens when it is issued; its groups are only counted."""

from __future__ import annotations

import numpy as np

from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.syntax import Immediate, Instruction
from tinyton_lab.ptx.types import TYPES
from tinyton_lab.sim import access
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.lowering import Lowering
from tinyton_lab.sim.program import Operation


def copy_async(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``cp.async``: bytes beyond the source size become zeros."""
    operands = list(instruction.operands)
    if len(operands) < 3 or not isinstance(operands[2], Immediate) or operands[2].value not in (4, 8, 16):
        low.refuse(instruction, form, "copies 4, 8 or 16 bytes")
    size = int(operands[2].value)
    target = low.address(instruction, form, names, operands[0], "shared")
    origin = low.address(instruction, form, names, operands[1], "global")
    whole = len(operands) < 4 or form.has("hint") and len(operands) == 4
    count = None if whole else low.reader(instruction, form, names, operands[3], TYPES["b32"])
    reading = low.program.access_site(instruction.line, size, "load")
    byte = low.program.access_site(instruction.line, 1, "load", "part")
    writing = low.program.access_site(instruction.line, size, "store", "copy")

    def run(chunk: Chunk) -> None:
        registers, mask = chunk.registers, chunk.mask
        address = origin(registers)
        if count is None:
            data = access.load(chunk, reading, "global", address, mask)
        else:
            data = _partly(chunk, reading, byte, address, count(registers), mask)
        access.store(chunk, writing, "shared", target(registers), data, mask)

    return run


def _partly(
    chunk: Chunk, reading: access.Site, byte: access.Site, address: Array, count: Array, mask: Array | None
) -> Array:
    """The first `count` bytes at each address, then zeros."""
    size, dtype = reading.size, access.dtype_of(reading.size)
    full, none = count >= size, count == 0
    if np.all(full):
        return access.load(chunk, reading, "global", address, mask)
    chosen = full if mask is None else full & mask
    zero = np.zeros((), dtype)
    data = np.where(chosen, access.load(chunk, reading, "global", address, chosen), zero) if np.any(chosen) else zero
    rest = ~(full | none) if mask is None else ~(full | none) & mask
    if not np.any(rest):
        return np.asarray(data)
    pieces = np.zeros((*chunk.shape, size), np.uint8)
    for place in range(size):
        some = rest & (count > place)
        if np.any(some):
            loaded = access.load(chunk, byte, "global", address + np.uint64(place), some)
            pieces[..., place] = np.where(some, loaded, np.uint8(0))
    return np.where(rest, pieces.view(dtype)[..., 0], data)
