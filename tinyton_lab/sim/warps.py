"""Lowering of warp instructions: registers become (warps, 32) arrays for the table's functions. No opcodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form, TwoResults
from tinyton_lab.ptx.syntax import Instruction
from tinyton_lab.sim.lanes import Array, Chunk, bits
from tinyton_lab.sim.lowering import Lowering, Reader
from tinyton_lab.sim.program import Operation


def slot_reader(slot: tuple[Any, Any]) -> Reader:
    """A reader for a source as `Lowering.bind` gives it."""
    found, dtype = slot
    if isinstance(found, int):
        return lambda registers: bits(registers[found], dtype)
    return found if callable(found) else lambda registers: found


def warp(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """An instruction between lanes: the function gets the active lanes and full operands."""
    sources, targets = low.bind(instruction, form, names)
    function: Any = form.row.run(form) if form.row.run else None
    if isinstance(function, TwoResults):
        function = function.both
    readers = low.sources = [slot_reader(source) for source in sources]
    writers = [low.writer(target[0], target[1]) if target else None for target in targets]

    def run(chunk: Chunk) -> None:
        registers, shape = chunk.registers, chunk.shape
        active = chunk.active().reshape(-1, 32)
        values = [read(registers) for read in readers]
        # Only what is exchanged must be there for every lane; other operands may be one value for all.
        full = [value if number and value.ndim == 0 else chunk.full(value) for number, value in enumerate(values)]
        results = function(active, *full)
        results = results if isinstance(results, tuple) else (results,)
        for write, result in zip(writers, results):
            if write is not None:
                write(chunk, np.ascontiguousarray(result).reshape(shape))

    return run


def member_mask(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Reader | None:
    """Reads the lanes that a ``.sync`` instruction names (all of them for ``.aligned`` matrix instructions)."""
    roles = form.row.roles
    place = next((n for n, role in enumerate(roles) if role.name == "mask"), None)
    if place is None:
        every = np.asarray(np.uint32(0xFFFFFFFF))
        return lambda registers: every
    written, seen = len(low.writes), len(low.reads)
    read = low.reader(instruction, form, names, instruction.operands[place], form.type_of(roles[place]) or form.type)
    del low.writes[written:], low.reads[seen:]
    return read


def lanes_named(chunk: Chunk, mask: Array) -> Array:
    """Whether each lane is named by its own member mask: the union over its warp, (ctas, threads)."""
    full = chunk.full(mask)
    union = np.bitwise_or.reduce(full, axis=1, keepdims=True)
    return ((union >> np.arange(32, dtype=np.uint32)) & np.uint32(1) != 0).reshape(chunk.shape)
