"""Registers that hold nothing yet: never written, or accumulators of multiplications on their way."""

from __future__ import annotations

import numpy as np

from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.program import Details
from tinyton_lab.sim.sanitizer.clocks import Clocks
from tinyton_lab.sim.sanitizer.copies import MULTIPLY, Copies


class Registers:
    """Mutable: which lanes have not written a register yet, and which groups of multiplications will write it."""

    def __init__(self, chunk: Chunk, clocks: Clocks, copies: Copies) -> None:
        program = chunk.launch.program
        given = {*program.specials.values(), *program.byte_sizes}
        every = np.ones(chunk.shape, np.bool_)
        self.unwritten = {n: every for n in range(len(program.register_types)) if n not in given}
        self.pending: dict[int, Array] = {}
        self.in_use: dict[int, Array] = {}
        self.types = program.register_types
        self.clocks, self.copies = clocks, copies

    def unready(self, what: Details, lanes: Array) -> tuple[int, Array] | None:
        """The first register that an instruction reads before it was written, and the lanes (ctas, threads).

        Multiplications may begin with accumulators that hold nothing, which they then do not read.
        """
        written = {write[1] for write in what.writes} if what.pipe == "tensor" else ()
        for register in what.reads:
            if register in written:
                continue
            missing = self.unwritten.get(register)
            if missing is not None and np.any(missing & lanes):
                return register, missing & lanes
        return None

    def write(self, what: Details, lanes: Array) -> None:
        """An instruction has written its registers."""
        for _, register, _ in what.writes:
            missing = self.unwritten.get(register)
            if missing is not None:
                left = missing & ~lanes
                if left.any():
                    self.unwritten[register] = left
                else:
                    del self.unwritten[register]

    def multiply(self, what: Details, lanes: Array) -> None:
        """The open group of multiplications will write an instruction's registers, and read its others."""
        number = np.where(self.clocks.warps_of(lanes), self.copies.open[MULTIPLY], -1)
        self.pending.update((write[1], number) for write in what.writes)
        fragments = [register for register in what.reads if self.types[register].bits == 32]
        self.in_use.update((register, number) for register in fragments if register not in self.pending)

    def unfinished(self, what: Details, lanes: Array) -> tuple[int, Array] | None:
        """The first register of a multiplication that an instruction touches before the wait for it, and the lanes."""
        if not self.pending:
            return None
        written = [write[1] for write in what.writes]
        for register, numbers in (
            *((register, self.pending) for register in (*what.reads, *written)),
            *((register, self.in_use) for register in written),
        ):
            number = numbers.get(register)
            early = None if number is None else self._early(number, lanes)
            if early is not None:
                return register, early
        return None

    def _early(self, number: Array, lanes: Array) -> Array | None:
        """The lanes whose group `number` has not been waited for."""
        warps = self.clocks.warps_of(lanes)
        group, warp = np.indices(warps.shape)
        early = warps & (number >= 0) & (self.copies.finished(MULTIPLY, group, warp, number) < 0)
        return np.repeat(early.reshape(-1), 32).reshape(lanes.shape) & lanes if early.any() else None
