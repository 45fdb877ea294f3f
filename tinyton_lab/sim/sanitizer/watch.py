"""Watches a launch: each access against shadow memory and clocks. Decides what is an error; knows no instruction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tinyton_lab.sim import faults
from tinyton_lab.sim.access import RANK_SHIFT, Site
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.memory import ARGUMENT_BASE, HEAP_BASE, Region
from tinyton_lab.sim.observers import Observer
from tinyton_lab.sim.sanitizer.clocks import Clocks
from tinyton_lab.sim.sanitizer.copies import BULK, LANE_COPY, MULTIPLY, Copies
from tinyton_lab.sim.sanitizer.locations import Locations
from tinyton_lab.sim.sanitizer.shadow import CTA_STRONG, NOBODY, STRONG, WEAK, Accesses, GlobalShadow, SharedShadow

WIDEST_CELL = 8


def strength_of(site: Site) -> int:
    """How far an access is one that others may meet without a race (PTX ISA 8.7)."""
    if site.order in ("weak", "async", "copy", "part", "map", "multiply", "barrier", "make_barrier"):
        return WEAK
    return CTA_STRONG if site.scope == "cta" else STRONG


class MemoryWatch(Observer):
    """Mutable: what is known of a launch's memory, and of the chunk that runs."""

    clocks: Clocks
    copies: Copies
    shared: SharedShadow
    local: Array

    def __init__(self, launch: Any, uninitialised: Sequence[str] = ()) -> None:
        self.launch, self.uninitialised = launch, frozenset(uninitialised)
        self.granule = min(launch.program.smallest_access, WIDEST_CELL)
        self.globals: dict[int, GlobalShadow] = {}
        self.locations = Locations()
        self.stale_maps: set[int] = set()

    def enter(self, chunk: Chunk) -> None:
        self.clocks = Clocks(chunk, self.launch.cluster_size)
        self.copies = Copies(self.clocks)
        self.shared = SharedShadow(chunk.ctas, chunk.shared.width, self.granule, self.clocks.warps)

    # Lanes.
    def accesses(self, chunk: Chunk, address: Array, mask: Array | None, value: Array | None) -> Accesses:
        """The active lanes of an access by lanes."""
        active = np.ones(chunk.shape, np.bool_) if mask is None else np.broadcast_to(mask, chunk.shape)
        row, thread = np.nonzero(active)
        where = np.broadcast_to(address, chunk.shape)[active].astype(np.int64)
        stored = None if value is None else np.broadcast_to(value, chunk.shape)[active]
        return self._placed(chunk, row, thread, where, stored)

    def _placed(self, chunk: Chunk, row: Array, thread: Array, where: Array, value: Array | None) -> Accesses:
        number = row * (chunk.threads // 32) + thread // 32
        group, warp = np.divmod(number, self.clocks.warps)
        return Accesses(row, thread, group, warp, where, value)

    def by_engine(self, chunk: Chunk, address: Array) -> Accesses:
        """Accesses that a copy engine makes for the only active lane."""
        cta, thread = (int(part[0]) for part in np.nonzero(chunk.active()))
        where = np.ravel(address).astype(np.int64)
        return self._placed(chunk, np.full(len(where), cta), np.full(len(where), thread), where, None)

    # Findings.
    def tell(
        self,
        chunk: Chunk,
        code: str,
        site: Site,
        lanes: Accesses,
        wrong: Array,
        severity: str = "error",
        **more: object,
    ) -> None:
        """Note the first wrong lane (and cell) of `wrong`, (lanes,) or (lanes, n)."""
        if (code, site.line) in self.launch.findings:
            return
        lane = int(np.flatnonzero(wrong.reshape(len(lanes.row), -1).any(axis=1))[0])
        row, thread = lanes.at(lane)
        name, offset = self._named(int(lanes.address[lane]), more.pop("space", "global"))
        fields = {"action": site.action.replace("_", " "), "bytes": site.size, "name": name, "offset": offset, **more}
        self.launch.find(severity, code, site.line, faults.where(chunk, row, thread), **fields)

    def _named(self, address: int, space: object) -> tuple[str, int]:
        if space != "global":
            return f"{space} memory", address & (1 << RANK_SHIFT) - 1
        region = self.launch.space.find(address)
        part = region.part_of(address) if region else None
        return (part.name, address - part.first) if part else ("memory", address)

    def race(
        self, chunk: Chunk, site: Site, lanes: Accesses, wrong: Array, line: Array, other: str, space: str, warp: Array
    ) -> None:
        """Note a race with an earlier access, of which `line` and `warp` are known per cell."""
        place = tuple(int(part[0]) for part in np.nonzero(wrong))
        who = f"the {other} by warp {int(warp[place])} in line {int(line[place])}"
        self.tell(chunk, "TT6040", site, lanes, wrong, space=space, other=who)

    # Accesses by lanes.
    def touch(
        self, chunk: Chunk, site: Site, space: str, kind: str, address: Array, mask: Array | None, value: Array | None
    ) -> None:
        engine = site.order == "async" or site.order == "map" and kind == "load"
        lanes = self.by_engine(chunk, address) if engine else self.accesses(chunk, address, mask, value)
        if not len(lanes.row):
            return
        if site.order == "map":
            self._use_map(chunk, site, kind, lanes)
        if space == "shared":
            self.touch_shared(chunk, site, kind, lanes)
        elif space == "global":
            for region, part in self._by_region(lanes):
                self.touch_global(chunk, site, kind, part, region)

    def _use_map(self, chunk: Chunk, site: Site, kind: str, lanes: Accesses) -> None:
        """A tensor map that the kernel has written may be used after an acquiring fence for it."""
        first = set(lanes.address[lanes.thread % 32 == 0].tolist()) if kind == "store" else {int(lanes.address[0])}
        if kind == "store":
            self.stale_maps |= first
        elif first & self.stale_maps:
            wrong = np.ones((len(lanes.row), 1), np.bool_)
            self.tell(chunk, "TT6047", site, lanes, wrong, other="the tensor map")

    def _by_region(self, lanes: Accesses) -> Iterator[tuple[Region, Accesses]]:
        rest = np.ones(len(lanes.row), np.bool_)
        while rest.any():
            region = self.launch.space.find(int(lanes.address[rest][0]))
            if region is None:
                return
            here = rest & (lanes.address >= region.base) & (lanes.address < region.base + region.size)
            yield region, lanes if here.all() else Accesses(*(None if p is None else p[here] for p in lanes))
            rest &= ~here

    # Shared memory.
    def places(self, chunk: Chunk, lanes: Accesses, size: int) -> Array | None:
        """The cells (lanes, n) of shared accesses; None where they are out of bounds, which is told elsewhere."""
        row, offset = lanes.row, lanes.address
        if self.clocks.cluster > 1:
            rank, offset = offset >> RANK_SHIFT, offset & (1 << RANK_SHIFT) - 1
            row = np.where(rank > 0, row - row % self.clocks.cluster + rank - 1, row)
        if int(offset.max()) > chunk.shared.limit - size or int(row.max()) >= chunk.ctas:
            return None
        return self.shared.places(row, offset, size)

    def touch_shared(self, chunk: Chunk, site: Site, kind: str, lanes: Accesses) -> None:
        cells = self.places(chunk, lanes, site.size)
        if cells is None:
            return
        strength, epoch = strength_of(site), self.clocks.epoch(lanes.group, lanes.warp)
        if site.order == "make_barrier":
            self._write_shared(chunk, site, lanes, cells, epoch)
            return
        self.check_writer(chunk, site, kind, lanes, cells, strength)
        if site.order == "barrier":
            return
        if kind != "store":
            self._check_written(chunk, site, lanes, self.shared.writer[cells] == NOBODY, "shared")
        if strength != WEAK:
            self.locations.meet(self.clocks, site, kind, lanes, True)
        if kind == "load":
            if strength == WEAK:
                self.shared.read(cells, lanes.warp, epoch, site.line)
            return
        self.check_readers(chunk, site, lanes, cells)
        together = kind == "store" and self.check_together(chunk, site, lanes, cells, "shared")
        self._write_shared(chunk, site, lanes, cells, epoch, strength, together)

    def _write_shared(
        self, chunk: Chunk, site: Site, lanes: Accesses, cells: Array, epoch: Array, strength: int = WEAK,
        together: bool = False,
    ) -> None:  # fmt: skip
        shadow = self.shared
        shadow.write(cells, lanes.warp, epoch, site.line, strength, together)
        shadow.reader[cells], shadow.by_proxy[cells] = NOBODY, False
        copying = site.order == "copy"
        shadow.copy[cells] = self.copies.open[LANE_COPY, lanes.group, lanes.warp][:, None] if copying else NOBODY

    def check_writer(self, chunk: Chunk, site: Site, kind: str, lanes: Accesses, cells: Array, strength: int) -> None:
        """The last store to each cell must have happened before, unless both are strong."""
        shadow, clocks = self.shared, self.clocks
        writer, epoch, copy = shadow.writer[cells], shadow.epoch[cells], shadow.copy[cells]
        group, warp = (np.broadcast_to(part[:, None], cells.shape) for part in (lanes.group, lanes.warp))
        epoch, early = self._completed(group, warp, writer, epoch, copy)
        fine = (writer == NOBODY) | clocks.ordered(group, warp, None, writer, epoch)
        if early.any():
            self.tell(chunk, "TT6044", site, lanes, early, space="shared", other=self._line(shadow.line[cells], early))
        wrong = ~fine & ~early
        if not wrong.any():
            return
        wrong &= ~shadow.wrote_along(cells, lanes.warp)
        wrong &= ~((shadow.strength[cells] != WEAK) & (strength != WEAK))
        if kind == "store" and wrong.any():
            wrong &= ~self._same_value(chunk, site, lanes, cells, wrong, chunk.shared.data, "shared")
        if not wrong.any():
            return
        if (wrong & (writer >= clocks.warps)).any():
            wrong &= writer >= clocks.warps
            self.tell(chunk, "TT6044", site, lanes, wrong, space="shared", other=self._line(shadow.line[cells], wrong))
        else:
            self.race(chunk, site, lanes, wrong, shadow.line[cells], "store", "shared", writer)

    def _completed(self, group: Array, warp: Array, writer: Array, epoch: Array, copy: Array) -> tuple[Array, Array]:
        """(the epochs in which copies into the cells were complete, the cells whose copies are not)."""
        copying = copy >= 0
        if not copying.any():
            return epoch, copying
        agent = np.where(copying, writer, 0)
        done = self.copies.finished(LANE_COPY, group, agent, np.where(copying, copy, 0))
        return np.where(copying, done, epoch), copying & (done < 0)

    @staticmethod
    def _line(line: Array, wrong: Array) -> int:
        return int(line[tuple(int(part[0]) for part in np.nonzero(wrong))])

    def check_readers(self, chunk: Chunk, site: Site, lanes: Accesses, cells: Array) -> None:
        """All loads of the old value must have happened before."""
        shadow, clocks = self.shared, self.clocks
        seen = clocks.known[lanes.group, lanes.warp, : clocks.warps]
        late = shadow.read_epoch[cells] > seen[:, None, :]
        wrong = late.any(axis=2)
        if wrong.any():
            reader = late.argmax(axis=2)
            self.race(chunk, site, lanes, wrong, shadow.read_line[cells], "load", "shared", reader)
        reader = shadow.reader[cells]
        if (reader != NOBODY).any():
            self._check_engines(chunk, site, lanes, cells, reader)

    def _check_engines(self, chunk: Chunk, site: Site, lanes: Accesses, cells: Array, reader: Array) -> None:
        """A cell that a copy or a multiplication reads may be written after the wait for it."""
        shadow, clocks = self.shared, self.clocks
        group, warp = (np.broadcast_to(part[:, None], cells.shape) for part in (lanes.group, lanes.warp))
        busy = reader != NOBODY
        agent, number, kind = np.where(busy, reader, 0), shadow.reading[cells], shadow.kind[cells]
        together = (kind == MULTIPLY) & (warp // 4 == agent // 4)
        done = self.copies.finished(kind, group, np.where(together, warp, agent), np.where(busy, number, 0))
        seen = together | (warp == agent) | (clocks.known[group, warp, agent] >= done)
        wrong = busy & ~((done >= 0) & seen)
        if wrong.any():
            other = self._line(shadow.read_line[cells], wrong)
            self.tell(chunk, "TT6045", site, lanes, wrong, space="shared", other=f"what line {other} still reads")

    def check_together(self, chunk: Chunk, site: Site, lanes: Accesses, cells: Array, space: str) -> bool:
        """Whether several lanes of this store write one cell; different values are a race."""
        flat = cells.ravel()
        order = np.argsort(flat, kind="stable")
        again = flat[order][1:] == flat[order][:-1]
        if not again.any():
            return False
        if lanes.value is None:
            return True
        pieces = np.broadcast_to(self.shared.pieces(lanes.value, site.size), cells.shape).ravel()[order]
        pairs = again & (pieces[1:] != pieces[:-1])
        wrong = np.zeros(flat.shape, np.bool_)
        wrong[order[1:]] = pairs if pairs.any() else again
        wrong = wrong.reshape(cells.shape)
        if pairs.any():
            self.tell(chunk, "TT6040", site, lanes, wrong, space=space, other="another lane's store of another value")
        else:
            self.tell(chunk, "TT6041", site, lanes, wrong, "note", space=space)
        return True

    def _same_value(
        self, chunk: Chunk, site: Site, lanes: Accesses, cells: Array, wrong: Array, data: Array, space: str
    ) -> Array:
        """Which of the wrong cells hold the stored value already: a note, not a race."""
        if lanes.value is None:
            return np.zeros(cells.shape, np.bool_)
        held = data[: len(data) // self.granule * self.granule].view(np.dtype(f"u{self.granule}"))
        pieces = np.broadcast_to(self.shared.pieces(lanes.value, site.size), cells.shape)
        same = (held[np.minimum(cells, len(held) - 1)] == pieces) & (cells < len(held))
        if (wrong & same).any():
            self.tell(chunk, "TT6041", site, lanes, wrong & same, "note", space=space)
        return same

    def _check_written(self, chunk: Chunk, site: Site, lanes: Accesses, missing: Array, space: str) -> None:
        if missing.any():
            self.tell(chunk, "TT6042", site, lanes, missing, space=space)

    # Global memory.
    def shadow_of(self, region: Region) -> GlobalShadow:
        found = self.globals.get(region.base)
        if found is None:
            names = {part.name for part in region.parts}
            written = region.base < HEAP_BASE and not (names <= self.uninitialised and region.base >= ARGUMENT_BASE)
            found = self.globals[region.base] = GlobalShadow(region.size, self.granule, written)
        return found

    def touch_global(self, chunk: Chunk, site: Site, kind: str, lanes: Accesses, region: Region) -> None:
        shadow, clocks = self.shadow_of(region), self.clocks
        cells = shadow.cells(lanes.address - region.base, site.size)
        if int(cells.max()) >= len(shadow.writer):
            return
        strength, epoch = strength_of(site), clocks.epoch(lanes.group, lanes.warp)
        if kind != "store":
            missing = ~shadow.written[cells] & (shadow.writer[cells] == NOBODY)
            self._check_written(chunk, site, lanes, missing, "global")
        if strength != WEAK:
            self.locations.meet(clocks, site, kind, lanes, False)
        if not region.writable:
            return
        self.check_global_writer(chunk, site, kind, lanes, shadow, cells, strength, region)
        number = lanes.group + clocks.first_group
        if kind == "load":
            if strength == WEAK:
                shadow.read(cells, number, lanes.warp, epoch, site.line)
            return
        self._check_global_readers(chunk, site, lanes, shadow, cells)
        together = kind == "store" and self.check_together(chunk, site, lanes, cells, "global")
        shadow.write(cells, lanes.warp, epoch, site.line, strength, together)
        shadow.writer_group[cells] = number[:, None]

    def check_global_writer(
        self, chunk: Chunk, site: Site, kind: str, lanes: Accesses, shadow: GlobalShadow, cells: Array, strength: int,
        region: Region,
    ) -> None:  # fmt: skip
        writer = shadow.writer[cells]
        if (writer == NOBODY).all():
            return
        group, warp = (np.broadcast_to(part[:, None], cells.shape) for part in (lanes.group, lanes.warp))
        past = shadow.writer_group[cells]
        fine = (writer == NOBODY) | self.clocks.ordered(group, warp, past, writer, shadow.epoch[cells])
        if fine.all():
            return
        near = past == group + self.clocks.first_group
        wrong = ~fine & ~(near & shadow.wrote_along(cells, lanes.warp))
        both = np.minimum(shadow.strength[cells], strength)
        wrong &= ~((both == STRONG) | near & (both == CTA_STRONG))
        if kind == "store" and wrong.any():
            wrong &= ~self._same_value(chunk, site, lanes, cells, wrong, region.data, "global")
        if wrong.any():
            self.race(chunk, site, lanes, wrong, shadow.line[cells], "store", "global", writer)

    def _check_global_readers(
        self, chunk: Chunk, site: Site, lanes: Accesses, shadow: GlobalShadow, cells: Array
    ) -> None:
        group, warp = (np.broadcast_to(part[:, None], cells.shape) for part in (lanes.group, lanes.warp))
        for slot in (0, 1):
            past = shadow.reader_group[slot][cells]
            if (past == NOBODY).all():
                continue
            reader = shadow.reader[slot][cells]
            wrong = (past != NOBODY) & ~self.clocks.ordered(group, warp, past, reader, shadow.read_epoch[slot][cells])
            if wrong.any():
                self.race(chunk, site, lanes, wrong, shadow.read_line[cells], "load", "global", reader)

    # Copy engines and matrix units in shared memory.
    def copy(self, chunk: Chunk, site: Site, cta: Any, kind: str, address: Array, barrier: int | None = None) -> None:
        if chunk.active().sum() == 1 and np.ndim(cta) == 0:
            lanes = self.by_engine(chunk, address)
            lanes = lanes._replace(row=np.full(len(lanes.row), int(cta)))
        else:
            lanes = self._of_warpgroups(chunk, cta, address)
        cells = self.places(chunk, lanes, site.size) if len(lanes.row) else None
        if cells is None:
            return
        if kind == "store":
            self._copy_in(chunk, site, lanes, cells, barrier)
            return
        work = BULK if site.order == "async" else MULTIPLY
        self.check_writer(chunk, site, kind, lanes, cells, WEAK)
        self._check_written(chunk, site, lanes, self.shared.writer[cells] == NOBODY, "shared")
        self._check_proxy(chunk, site, lanes, cells)
        shadow = self.shared
        shadow.reader[cells], shadow.kind[cells] = lanes.warp[:, None], work
        shadow.reading[cells] = self.copies.open[work, lanes.group, lanes.warp][:, None]
        shadow.read_line[cells] = site.line

    def _of_warpgroups(self, chunk: Chunk, cta: Array, address: Array) -> Accesses:
        """The elements (warpgroups, rows, depth) that active warpgroups read; their first thread stands for them."""
        active = chunk.active().reshape(-1, 128).any(axis=1)
        per_cta = chunk.threads // 128
        each = np.broadcast_to(np.arange(len(active)).reshape(-1, 1, 1), address.shape)[active].ravel()
        where = address[active].ravel().astype(np.int64)
        return self._placed(chunk, each // per_cta, each % per_cta * 128, where, None)

    def _copy_in(self, chunk: Chunk, site: Site, lanes: Accesses, cells: Array, barrier: int | None) -> None:
        """A bulk copy into shared memory: complete for those who waited at its barrier."""
        self.check_writer(chunk, site, "copy", lanes, cells, WEAK)
        self.check_readers(chunk, site, lanes, cells)
        shadow, clocks = self.shared, self.clocks
        epoch = clocks.epoch(lanes.group, lanes.warp)
        agent = lanes.warp
        if barrier is not None:
            one = Accesses(*(None if part is None else part[:1] for part in lanes))._replace(
                address=np.array([barrier])
            )
            cell = self.places(chunk, one, 8)
            if cell is not None:
                self._check_proxy(chunk, site, one, cell)
            column, count = self.issue(int(lanes.group[0]), int(lanes.row[0]), barrier)
            agent, epoch = np.full(len(lanes.row), column), np.full(len(lanes.row), count)
        shadow.write(cells, agent, epoch, site.line, WEAK, False)
        shadow.copy[cells], shadow.reader[cells], shadow.by_proxy[cells] = NOBODY, NOBODY, True

    def issue(self, group: int, row: int, barrier: int) -> tuple[int, int]:
        """(agent, epoch) of a copy that reports to a barrier."""
        raise NotImplementedError

    def _check_proxy(self, chunk: Chunk, site: Site, lanes: Accesses, cells: Array) -> None:
        """What lanes stored becomes visible to copy engines and matrix units by a proxy fence."""
        shadow = self.shared
        group, warp = (np.broadcast_to(part[:, None], cells.shape) for part in (lanes.group, lanes.warp))
        writer = np.maximum(shadow.writer[cells], 0)
        hidden = ~shadow.by_proxy[cells] & (shadow.writer[cells] != NOBODY)
        hidden &= self.clocks.proxied[group, warp, writer] < shadow.epoch[cells]
        if hidden.any():
            self.tell(
                chunk,
                "TT6047",
                site,
                lanes,
                hidden,
                space="shared",
                other=f"the store of line {self._line(shadow.line[cells], hidden)}",
            )
