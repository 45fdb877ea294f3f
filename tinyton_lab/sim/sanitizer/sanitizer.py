"""Finds races, uninitialised reads and misused asynchronous work in a launch. Knows what instructions wait for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tinyton_lab.ptx.isa import Form, resolve
from tinyton_lab.ptx.syntax import Immediate
from tinyton_lab.sim import faults
from tinyton_lab.sim.access import RANK_SHIFT, Site
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.membarriers import State
from tinyton_lab.sim.program import CodeBlock, Details
from tinyton_lab.sim.recorder import Recorder
from tinyton_lab.sim.sanitizer.copies import BULK, LANE_COPY, MULTIPLY
from tinyton_lab.sim.sanitizer.registers import Registers
from tinyton_lab.sim.sanitizer.shadow import NOBODY
from tinyton_lab.sim.sanitizer.watch import MemoryWatch

_GROUPS = {"cp": LANE_COPY, "bulk": BULK, "wgmma": MULTIPLY}
Key = tuple[int, int]


@cache
def duty_of(opcode: str) -> str:
    """What an instruction orders: a fence, a proxy fence, or a commit of or wait for asynchronous work.

    >>> [duty_of(word) for word in ("membar.gl", "cp.async.wait_group", "cp.async.bulk.commit_group", "add.s32")]
    ['fence', 'wait cp', 'commit bulk', '']
    """
    words = opcode.split(".")
    if words[:2] == ["fence", "mbarrier_init"]:
        return "proxy"
    if words[0] == "membar" or words[0] == "fence" and "proxy" not in words:
        return "fence"
    if words[0] == "fence":
        return "proxy" if any(word.startswith("async") for word in words) else "map" if "acquire" in words else ""
    if words[0] not in ("cp", "wgmma"):
        return ""
    kind = "bulk" if "bulk" in words else words[0]
    steps = {"commit_group": "commit", "wait_group": "wait", "wait_all": "wait_all"}
    return next((f"{steps[word]} {kind}" for word in words if word in steps), "")


class Sanitizer(MemoryWatch):
    """Mutable: the whole watch. Its findings are the launch's (`Launch.findings`)."""

    registers: Registers

    def enter(self, chunk: Chunk) -> None:
        super().enter(chunk)
        self.registers = Registers(chunk, self.clocks, self.copies)
        self.barriers: dict[Key, tuple[Array, Array]] = {}
        self.issued: dict[Key, int] = {}
        self.alive: set[Key] = set()

    # Instructions.
    def begin(self, chunk: Chunk, what: Details) -> None:
        lanes = self._lanes(chunk, what)
        self.check_registers(chunk, what, lanes)
        duty = duty_of(what.instruction.opcode)
        if duty and lanes.any():
            self.order(chunk, duty, what, lanes)
        if what.instruction.opcode.startswith("shfl"):
            self.check_shuffle(chunk, what, lanes)

    def _lanes(self, chunk: Chunk, what: Details) -> Array:
        chosen = Recorder.chosen(chunk, what, chunk.mask)
        return chunk.active() if chosen is None else np.broadcast_to(chosen, chunk.shape)

    def settle(self, chunk: Chunk, what: Details) -> None:
        if what.writes:
            lanes = self._lanes(chunk, what)
            self.registers.write(what, lanes)
            if what.instruction.opcode.startswith("wgmma.mma_async"):
                self.registers.multiply(what, lanes)

    def end(self, chunk: Chunk, code: CodeBlock) -> None:
        if code.ending is not None:
            self.check_registers(chunk, code.ending, self._lanes(chunk, code.ending))
            if code.ending.writes:
                self.registers.write(code.ending, self._lanes(chunk, code.ending))

    def order(self, chunk: Chunk, duty: str, what: Details, lanes: Array) -> None:
        """Do what a fence, commit or wait does."""
        if duty == "fence":
            self.clocks.fence(lanes)
        elif duty == "proxy":
            self.clocks.proxy_fence(lanes)
        elif duty == "map":
            maps = np.broadcast_to(what.sources[0](chunk.registers), chunk.shape)[lanes] if what.sources else ()
            self.stale_maps.difference_update(int(address) for address in maps)
        else:
            step, kind = duty.split()
            warps, number = self.clocks.warps_of(lanes), _GROUPS[kind]
            if step != "wait":
                self.copies.commit(number, warps)
            if step != "commit":
                first = what.instruction.operands[0] if what.instruction.operands else None
                self.copies.wait(number, warps, int(first.value) if isinstance(first, Immediate) else 0)

    def check_registers(self, chunk: Chunk, what: Details, lanes: Array) -> None:
        line = what.line
        found = self.registers.unready(what, lanes)
        if found is not None:
            self._register(chunk, "TT6043", line, what, found)
        if not what.instruction.opcode.startswith("wgmma"):
            found = self.registers.unfinished(what, lanes)
            if found is not None:
                self._register(chunk, "TT6048", line, what, found)

    def _register(self, chunk: Chunk, code: str, line: int, what: Details, found: tuple[int, Array]) -> None:
        row, thread = (int(part[0]) for part in np.nonzero(found[1]))
        name = self.launch.program.register_names[found[0]]
        where = faults.where(chunk, row, thread)
        self.launch.find("error", code, line, where, instruction=what.instruction.opcode, register=name)

    def check_shuffle(self, chunk: Chunk, what: Details, lanes: Array) -> None:
        """The lanes that others take values from must take part."""
        read: Any = what.sources
        active = lanes.reshape(-1, 32)
        if read is None or active.all():
            return
        form: Form = resolve(what.instruction.opcode)
        function: Callable[..., Any] | Any = form.row.run(form) if form.row.run else None
        both = getattr(function, "both", function)
        operands = [chunk.full(np.asarray(reader(chunk.registers))) for reader in read[1:]]
        taken = both(active, active.astype(np.uint32), *operands)
        source = taken[0] if isinstance(taken, tuple) else taken
        wrong = active & (source == 0)
        if wrong.any():
            row, thread = (int(part[0]) for part in np.nonzero(wrong.reshape(chunk.shape)))
            where = faults.where(chunk, row, thread)
            self.launch.find("error", "TT6046", what.line, where, mnemonic=what.instruction.opcode)

    def leave(self, chunk: Chunk) -> None:
        """Nothing may use a CTA's shared memory after it has exited."""
        shadow, clocks = self.shared, self.clocks
        busy = np.flatnonzero(shadow.reader != NOBODY)
        if len(busy):
            row = busy // shadow.width
            group = row // clocks.cluster
            done = self.copies.finished(shadow.kind[busy], group, shadow.reader[busy], shadow.reading[busy])
            for cell in busy[done < 0][:1].tolist():
                self._exit(chunk, cell, f"what line {int(shadow.read_line[cell])} still reads")
        if clocks.cluster > 1:
            self._check_remote(chunk)

    def _check_remote(self, chunk: Chunk) -> None:
        """Reads by other CTAs of the cluster must come before a CTA's exit."""
        shadow, clocks = self.shared, self.clocks
        per_cta = clocks.warps // clocks.cluster
        for row in range(chunk.ctas):
            group, rank = divmod(row, clocks.cluster)
            own = slice(rank * per_cta, (rank + 1) * per_cta)
            seen = clocks.known[group, own, : clocks.warps].max(axis=0)
            cells = slice(row * shadow.width, (row + 1) * shadow.width)
            late = shadow.read_epoch[cells] > seen
            late[:, own] = False
            if late.any():
                cell = row * shadow.width + int(np.flatnonzero(late.any(axis=1))[0])
                self._exit(chunk, cell, f"the load of line {int(shadow.read_line[cell])}")

    def _exit(self, chunk: Chunk, cell: int, other: str) -> None:
        row, offset = divmod(cell, self.shared.width)
        line, where = int(self.shared.read_line[cell]), faults.where(chunk, row, 0)
        self.launch.find("error", "TT6045", line, where, action="exit of the CTA", bytes=self.granule,
                         name="shared memory", offset=offset * self.granule, other=other)  # fmt: skip

    # Barriers.
    def arrive(self, chunk: Chunk, barrier: int, lanes: Array) -> None:
        self.clocks.arrive(barrier, lanes)

    def release(self, chunk: Chunk, barrier: int, lanes: Array) -> None:
        self.clocks.release(barrier, lanes)

    def _key(self, row: int, address: int) -> Key:
        rank, offset = address >> RANK_SHIFT, address & (1 << RANK_SHIFT) - 1
        cluster = self.clocks.cluster
        return (row - row % cluster + rank - 1 if rank and cluster > 1 else row), offset

    def issue(self, group: int, row: int, barrier: int) -> tuple[int, int]:
        key = self._key(row, barrier)
        self.issued[key] = self.issued.get(key, 0) + 1
        return self.clocks.agent(*key), self.issued[key]

    def signal(self, chunk: Chunk, action: str, site: Site, cells: Array, lanes: Array, states: Array) -> None:
        """Lanes act on memory barriers at shared addresses `cells` (ctas, threads)."""
        for row, thread in zip(*(part.tolist() for part in np.nonzero(lanes))):
            key = self._key(row, int(cells[row, thread]))
            problem = self._misuse(action, key, states[row, thread] if np.ndim(states) else None)
            if problem:
                where = faults.where(chunk, row, thread)
                self.launch.find("error", "TT6049", site.line, where, problem=problem, offset=key[1])
            number = row * (chunk.threads // 32) + thread // 32
            self._signal(action, key, *divmod(number, self.clocks.warps))

    def _misuse(self, action: str, key: Key, state: Any) -> str:
        if action == "init":
            again = key in self.alive
            self.alive.add(key)
            return "is initialised again while in use" if again else ""
        if key not in self.alive:
            return "is used before mbarrier.init"
        if action == "inval":
            self.alive.discard(key)
        if action in ("arrive", "arrive_drop") and state is not None and State.of(int(state)).pending == 0:
            return "gets more arrivals than it was made for"
        return ""

    def _signal(self, action: str, key: Key, group: int, warp: int) -> None:
        clocks = self.clocks
        known, proxied = clocks.known[group, warp], clocks.proxied[group, warp]
        past = self.barriers.get(key)
        if action == "wait":
            if past is not None:
                for clock, seen in zip((known, proxied), past):
                    np.maximum(clock[: len(seen)], seen, out=clock[: len(seen)])
            return
        if action == "complete_tx":
            column, size = clocks.agent(*key), clocks.known.shape[2]
            seen = np.zeros(size, np.int32)
            seen[column] = self.issued.get(key, 0)
            self.barriers[key] = _joined(past, (seen, np.zeros_like(seen)))
        elif action in ("arrive", "arrive_drop", "copies"):
            if action == "copies":
                self._complete_copies(group, warp)
            self.barriers[key] = _joined(past, (known.copy(), proxied.copy()))
            known[warp] += 1

    def _complete_copies(self, group: int, warp: int) -> None:
        """The warp's copies so far are complete for those who wait at the barrier."""
        self.clocks.known[group, warp, warp] += 1
        warps = np.zeros((self.clocks.groups, self.clocks.warps), np.bool_)
        warps[group, warp] = True
        self.copies.commit(LANE_COPY, warps)
        self.copies.wait(LANE_COPY, warps, 0)


def _joined(first: tuple[Array, Array] | None, second: tuple[Array, Array]) -> tuple[Array, Array]:
    if first is None:
        return second
    size = max(len(first[0]), len(second[0]))
    one, two = (np.maximum(np.pad(a, (0, size - len(a))), np.pad(b, (0, size - len(b)))) for a, b in zip(first, second))
    return one, two
