"""Lowering of ``wgmma``: operands described by shared-memory descriptors, accumulators in a warpgroup's registers."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.fragments import PER_REGISTER, decode, encode, group_accumulator, left
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.syntax import Immediate, Instruction, Vector
from tinyton_lab.ptx.tensor_cores import multiply, rule
from tinyton_lab.ptx.types import TYPES
from tinyton_lab.sim import access
from tinyton_lab.sim.bulk import swizzled
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.lowering import Lowering, Reader
from tinyton_lab.sim.matrices import targets_of, write_lanes
from tinyton_lab.sim.program import Operation

_ELEMENT_BYTES = {"tf32": 4, "f16": 2, "bf16": 2}
# Descriptor bits 62-63 (PTX ISA 9.7.15.5.1): 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes; as swizzle modes 0, 3, 2, 1.
_MODES = (0, 3, 2, 1)


class Descriptor(NamedTuple):
    """Shared-memory matrix descriptors, one per warpgroup: arrays of shape (groups, 1, 1)."""

    start: Array
    leading: Array
    stride: Array
    mode: int

    @classmethod
    def of(cls, words: Array, active: Array) -> Descriptor:
        """Read descriptors; the swizzle is that of the active groups, others may hold anything."""
        swizzle = int(words[active][0] >> np.uint64(62)) if active.any() else 0
        words = words.reshape(-1, 1, 1).astype(np.uint64)

        def field(shift: int) -> Array:
            return (((words >> np.uint64(shift)) & np.uint64(0x3FFF)) << np.uint64(4)).astype(np.int64)

        return cls(field(0), field(16), field(32), _MODES[swizzle])

    def addresses(self, rows: int, depth: int, size: int, transposed: bool) -> Array:
        """Byte addresses (groups, rows, depth) of the elements of a K-major (or, `transposed`, MN-major) matrix."""
        row, k = np.arange(rows)[None, :, None], np.arange(depth)[None, None, :]
        atom = 16 << self.mode
        if not transposed:
            along = k * size
            if self.mode == 0:
                linear = (row // 8) * self.stride + (along // 16) * self.leading + (row % 8) * 16 + along % 16
            else:
                linear = (row // 8) * self.stride + (row % 8) * atom + along
        else:
            along = row * size
            if self.mode == 0:
                linear = (along // 16) * self.stride + (k // 8) * self.leading + (k % 8) * 16 + along % 16
            else:
                linear = (along // atom) * self.leading + (k // 8) * self.stride + (k % 8) * atom + along % atom
        return swizzled(self.start + linear, self.mode)


def _values(raw: Array, type_: str) -> Array:
    """Raw elements (groups, rows, depth) as numbers."""
    per = PER_REGISTER[type_]
    words = np.ascontiguousarray(raw).view(np.uint32)
    decoded = decode([np.ascontiguousarray(words).reshape(-1, words.shape[-1])], type_)
    return decoded.reshape(*raw.shape[:-1], words.shape[-1] * per)


def _flags(instruction: Instruction) -> tuple[tuple[int, int], tuple[int, int]]:
    """The signs of A and B, and whether each lies transposed in shared memory."""
    flags = [int(each.value) if isinstance(each, Immediate) else 0 for each in instruction.operands[4:]]
    signs, turned = (flags + [1, 1])[:2], flags[2:]
    if len(flags) != 4 and isinstance(instruction.operands[1], Vector):
        turned = [0, *turned]
    first, second = (turned + [0, 0])[:2]
    return (signs[0], signs[1]), (first, second)


def shape_of_group(form: Form) -> tuple[int, int]:
    """n and k of a ``wgmma``."""
    found = re.fullmatch(r"m64n(\d+)k(\d+)", form["shape"])
    return (int(found[1]), int(found[2])) if found else (8, 16)


def element_bytes(type_: str) -> int:
    """Bytes of an element of A or B in shared memory."""
    return _ELEMENT_BYTES.get(type_, 1)


def row_addresses(word: int, instruction: Instruction, form: Form, side: int, row: int) -> list[int]:
    """Where the elements of a row of A (`side` 0), or of a column of B (1), lie, by their descriptor `word`."""
    n, k = shape_of_group(form)
    words = np.array([word & (1 << 64) - 1], np.uint64)
    turned, size = bool(_flags(instruction)[1][side]), element_bytes(form.types[1 + side].name)
    return Descriptor.of(words, np.ones(1, np.bool_)).addresses((64, n)[side], k, size, turned)[0, row].tolist()


def warpgroup_matrix(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``wgmma.mma_async``: D = A B + D for four warps at a time."""
    operands = instruction.operands
    if not 4 <= len(operands) <= 8:
        low.refuse(instruction, form, "needs 4 to 8 operands")
    n, k = shape_of_group(form)
    d, a, b = (t.name for t in form.types)
    targets = targets_of(low, instruction, form, names, operands[0], TYPES["b32"])
    readers = [low.reader(instruction, form, names, item, TYPES["b32"]) for item in getattr(operands[0], "items", ())]
    from_registers = isinstance(operands[1], Vector)
    a_readers = (
        [low.reader(instruction, form, names, item, TYPES["b32"]) for item in operands[1].items]
        if isinstance(operands[1], Vector)
        else []
    )
    a_descriptor = None if from_registers else low.reader(instruction, form, names, operands[1], TYPES["b64"])
    b_descriptor = low.reader(instruction, form, names, operands[2], TYPES["b64"])
    keep = low.reader(instruction, form, names, operands[3], TYPES["pred"])
    signs, turned = _flags(instruction)
    site = low.program.access_site(instruction.line, element_bytes(b), "load", "multiply")
    result, a_fragment = group_accumulator(n), left(16, k, a)

    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        y = _operand(chunk, site, b_descriptor, n, k, b, bool(turned[1])).transpose(0, 2, 1) * signs[1]
        if a_descriptor is None:
            x = a_fragment.gather(decode([chunk.full(read(registers)) for read in a_readers], a))
        else:
            x = _operand(chunk, site, a_descriptor, 64, k, a, bool(turned[0])).reshape(-1, 16, k)
        x = x * signs[0]
        kept = chunk.full(keep(registers)).reshape(-1, 32)[:, :1, None]
        old = np.where(kept, result.gather(decode([chunk.full(read(registers)) for read in readers], d)), 0)
        how = rule(chunk.launch.tensor_core, "wgmma", a, d)
        total = multiply(x, np.repeat(y, 4, axis=0), old, a, form.has("satfinite"), how)
        write_lanes(chunk, targets, encode(result.scatter(total), d))

    return run


def _operand(
    chunk: Chunk, site: access.Site, descriptor: Reader, rows: int, depth: int, type_: str, transposed: bool
) -> Array:
    """The matrix (warpgroups, rows, depth) that each warpgroup's descriptor names."""
    words = np.broadcast_to(descriptor(chunk.registers), chunk.shape).reshape(chunk.ctas, -1, 128)[:, :, 0]
    groups = words.shape[1]
    size = element_bytes(type_)
    active = chunk.active().reshape(-1, 128).any(axis=1)
    address = Descriptor.of(words.ravel(), active).addresses(rows, depth, size, transposed)
    address = np.where(active[:, None, None], address, 0)
    ctas = np.repeat(np.arange(chunk.ctas), groups)[:, None, None]
    return _values(access.load_row(chunk, site, ctas, address.astype(np.uint64)), type_)
