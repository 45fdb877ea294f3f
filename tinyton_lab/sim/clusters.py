"""Lowering of what lets the CTAs of a cluster meet: ranks in addresses and the cluster barrier's arrivals."""

from __future__ import annotations

import numpy as np

from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.syntax import Instruction, Name
from tinyton_lab.ptx.types import TYPES
from tinyton_lab.sim.access import RANK_SHIFT
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.lowering import Lowering
from tinyton_lab.sim.program import Operation


def map_address(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``mapa``: bits 24 and up of a shared address hold the rank plus one; 0 there is the own CTA."""
    if len(instruction.operands) != 3 or not isinstance(instruction.operands[0], Name):
        low.refuse(instruction, form, "needs a register, an address and a rank")
    target = low.destination(instruction, form, names, instruction.operands[0].text, form.type, False)
    address = low.reader(instruction, form, names, instruction.operands[1], form.type)
    rank = low.reader(instruction, form, names, instruction.operands[2], TYPES["u32"])
    raw = form.type.raw
    low_bits, window = raw.type((1 << RANK_SHIFT) - 1), ((1 << form.type.bits) - 1) & ~((1 << 32) - 1)

    def run(chunk: Chunk) -> None:
        here = address(chunk.registers)
        where = (rank(chunk.registers).astype(raw) + raw.type(1)) << raw.type(RANK_SHIFT)
        if target is not None:
            chunk.write(target[0], (here & low_bits) | (here & raw.type(window)) | where)

    return run


def rank_of_address(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``getctarank``."""
    if len(instruction.operands) != 2 or not isinstance(instruction.operands[0], Name):
        low.refuse(instruction, form, "needs a register and an address")
    target = low.destination(instruction, form, names, instruction.operands[0].text, TYPES["u32"], False)
    address = low.reader(instruction, form, names, instruction.operands[1], form.type)
    own = low.program.special("%cluster_ctarank", TYPES["u32"])

    def run(chunk: Chunk) -> None:
        rank = (address(chunk.registers) >> form.type.raw.type(RANK_SHIFT)).astype(np.uint32) & np.uint32(0xFF)
        if target is not None:
            chunk.write(target[0], np.where(rank == 0, chunk.registers[own], rank - np.uint32(1)))

    return run


class Meeting:
    """Mutable: the cluster barrier of a chunk: who arrived, and which phase each cluster is in."""

    def __init__(self, chunk: Chunk, size: int) -> None:
        self.size = size
        self.arrived = np.zeros(chunk.shape, np.bool_)
        self.phase = np.zeros(chunk.ctas // size, np.int64)
        self.token = np.zeros(chunk.shape, np.int64)

    def _by_cluster(self, flags: Array) -> Array:
        return flags.reshape(len(self.phase), -1)

    def arrive(self, lanes: Array) -> None:
        """Lanes arrive; each remembers the phase it arrived in."""
        phase = np.repeat(self.phase, self.size)[:, None]
        self.token = np.where(lanes, phase, self.token)
        self.arrived = self.arrived | lanes

    def settle(self, live: Array) -> None:
        """Clusters all of whose live lanes arrived go on to the next phase."""
        whole = (self._by_cluster(self.arrived) | ~self._by_cluster(live)).all(axis=1) & self._by_cluster(
            self.arrived
        ).any(axis=1)
        self.phase[whole] += 1
        self.arrived = self.arrived & ~np.repeat(whole, self.size)[:, None]

    def passed(self) -> Array:
        """The lanes whose phase is over."""
        return np.repeat(self.phase, self.size)[:, None] > self.token
