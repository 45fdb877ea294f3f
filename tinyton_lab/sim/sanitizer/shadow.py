"""Shadow memory: who wrote each cell last, who read it since, which copy is still on its way. Judges nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyton_lab.sim.lanes import Array

NOBODY = -1
# How far an access is visible as one that others may meet: not at all, in its CTA, everywhere.
WEAK, CTA_STRONG, STRONG = 0, 1, 2


class Accesses(NamedTuple):
    """Active lanes of one instruction: CTA row and thread in the chunk, group and warp, address, stored value."""

    row: Array
    thread: Array
    group: Array
    warp: Array
    address: Array
    value: Array | None

    def at(self, lane: int) -> tuple[int, int]:
        """The CTA row and thread of one of the lanes."""
        return int(self.row[lane]), int(self.thread[lane])


class Shadow:
    """Mutable: one entry per cell of `granule` bytes.

    `writer` is an agent of the cell's group (of group `writer_group` in global memory), -1 before the first store.
    `everyone` has a bit for each warp that wrote the same value in the same instruction.
    """

    def __init__(self, cells: int, granule: int) -> None:
        self.granule = granule
        self.writer = np.full(cells, NOBODY, np.int16)
        self.epoch = np.zeros(cells, np.int32)
        self.line = np.zeros(cells, np.int32)
        self.strength = np.zeros(cells, np.int8)
        self.everyone = np.zeros(cells, np.uint64)

    def cells(self, first: Array, size: int) -> Array:
        """The cells (lanes, n) of accesses of `size` bytes that begin at byte offsets `first`."""
        count = max(size // self.granule, 1)
        return first[:, None] // self.granule + np.arange(count)

    def pieces(self, value: Array, size: int) -> Array:
        """Stored values (lanes,) as one piece per cell."""
        value = np.ascontiguousarray(value)
        if size == self.granule:
            return value[:, None]
        return value.view(np.dtype(f"u{self.granule}")).reshape(len(value), -1)

    def write(self, cells: Array, warp: Array, epoch: Array, line: int, strength: int, together: bool) -> None:
        """Take note of a store; `together`: several lanes may have written one cell."""
        self.writer[cells], self.epoch[cells] = warp[:, None], epoch[:, None]
        self.line[cells], self.strength[cells] = line, strength
        self.everyone[cells] = 0
        if together:
            bits = np.broadcast_to(np.uint64(1) << (warp[:, None] & 63).astype(np.uint64), cells.shape)
            np.bitwise_or.at(self.everyone, cells, bits)

    def wrote_along(self, cells: Array, warp: Array) -> Array:
        """Whether a warp was one of those that wrote the cell's value together."""
        return (self.everyone[cells] >> (warp[:, None] & 63).astype(np.uint64)) & np.uint64(1) != 0


class SharedShadow(Shadow):
    """Mutable: shared memory of a chunk: one row of cells per CTA. Every warp's last read is kept."""

    def __init__(self, rows: int, width: int, granule: int, warps: int) -> None:
        self.width = -(-width // granule)
        super().__init__(rows * self.width, granule)
        self.read_epoch = np.zeros((rows * self.width, warps), np.int32)
        self.read_line = np.zeros(rows * self.width, np.int32)
        # A copy on its way into the cell: the writer's group of copies (-1: none).
        self.copy = np.full(rows * self.width, NOBODY, np.int32)
        # An asynchronous read on its way: the reading warp and its group.
        self.reader = np.full(rows * self.width, NOBODY, np.int16)
        self.reading = np.zeros(rows * self.width, np.int32)
        self.kind = np.zeros(rows * self.width, np.int8)
        self.by_proxy = np.zeros(rows * self.width, np.bool_)

    def places(self, row: Array, offset: Array, size: int) -> Array:
        return self.cells(offset, size) + row[:, None] * self.width

    def read(self, cells: Array, warp: Array, epoch: Array, line: int) -> None:
        self.read_epoch[cells, warp[:, None]] = epoch[:, None]
        self.read_line[cells] = line


class GlobalShadow(Shadow):
    """Mutable: one allocation. Of the readers the last one is kept, and the last one of another warp."""

    def __init__(self, size: int, granule: int, written: bool) -> None:
        cells = -(-size // granule)
        super().__init__(cells, granule)
        self.written = np.full(cells, written)
        self.writer_group = np.full(cells, NOBODY, np.int32)
        self.reader_group = np.full((2, cells), NOBODY, np.int32)
        self.reader = np.zeros((2, cells), np.int16)
        self.read_epoch = np.zeros((2, cells), np.int32)
        self.read_line = np.zeros(cells, np.int32)

    def read(self, cells: Array, group: Array, warp: Array, epoch: Array, line: int) -> None:
        """Take note of a load; the reader before stays known if it was another warp."""
        other = (self.reader_group[0][cells] != group[:, None]) | (self.reader[0][cells] != warp[:, None])
        moved = cells[other]
        for slots in (self.reader_group, self.reader, self.read_epoch):
            slots[1][moved] = slots[0][moved]
        self.reader_group[0][cells], self.reader[0][cells] = group[:, None], warp[:, None]
        self.read_epoch[0][cells], self.read_line[cells] = epoch[:, None], line
