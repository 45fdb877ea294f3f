"""Measures a launch: lanes, branches and addresses become counts per instruction. Knows no semantics."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tinyton_lab.record.metrics import InstructionCounts, Metrics, Traffic
from tinyton_lab.sim.access import Site
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.memory import Region
from tinyton_lab.sim.observers import Observer
from tinyton_lab.sim.program import CodeBlock, Details
from tinyton_lab.sim.recorder import Recorder

# Lanes served together by one pass over the banks, by the bytes that each asks for.
LANES_PER_PASS = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}
_BANKS = 32
_NOWHERE = np.uint64(2**64 - 1)
_SECTOR_SHIFT, _WORD_SHIFT = np.uint64(5), np.uint64(2)
_OPERATIONS = {
    "ld": "ld",
    "ldu": "ld",
    "ldmatrix": "ld",
    "wmma.load": "ld",
    "st": "st",
    "stmatrix": "st",
    "wmma.store": "st",
    "atom": "atom",
    "red": "red",
    "cp.async": "ldgsts",
}
_PIPES = {"branch": "cbu", "barrier": "cbu"}


@cache
def operation_of(opcode: str) -> str | None:
    """What the load-store unit does for an opcode; None where it does nothing, or where a copy engine does it.

    >>> [operation_of(word) for word in ("ld.global.v4.b32", "cp.async.cg.shared.global", "cp.async.bulk.tensor")]
    ['ld', 'ldgsts', None]
    """
    words = opcode.split(".")
    if words[:2] in (["cp", "async"], ["wmma", "load"], ["wmma", "store"]):
        return None if "bulk" in words else _OPERATIONS[".".join(words[:2])]
    return None if words[:2] == ["red", "async"] else _OPERATIONS.get(words[0])


def pipe_of(details: Details) -> str:
    """The unit that executes an instruction, as Nsight names it."""
    words = details.instruction.opcode.split(".")
    if details.pipe == "warp":
        return "lsu" if words[0] == "shfl" else "alu"
    if details.pipe == "fma" and "f64" in words:
        return "fp64"
    return _PIPES.get(details.pipe, details.pipe)


def distinct(values: Array, active: Array) -> Array:
    """How many different values the active places of each row hold."""
    filled = np.where(active, values, _NOWHERE)
    filled.sort(axis=1)
    new = (filled[:, 1:] != filled[:, :-1]) & (filled[:, 1:] != _NOWHERE)
    return (filled[:, 0] != _NOWHERE) + np.count_nonzero(new, axis=1)


def passes(address: Array, active: Array, size: int) -> Array:
    """Passes over the banks of accesses of `size` bytes, (warps, 32) lanes: for each group of lanes served together.

    Different words of one bank take turns; lanes that want the same word share it.
    """
    lanes, words = LANES_PER_PASS[size], max(size // 4, 1)
    wanted = (address.astype(np.uint64) >> _WORD_SHIFT)[..., None] + np.arange(words, dtype=np.uint64)
    flags = np.broadcast_to(active[..., None], wanted.shape).reshape(-1, lanes * words)
    filled = np.where(flags, wanted.reshape(-1, lanes * words), _NOWHERE)
    filled.sort(axis=1)
    new = filled != _NOWHERE
    new[:, 1:] &= filled[:, 1:] != filled[:, :-1]
    group, _ = np.nonzero(new)
    banks = group * _BANKS + (filled[new] % np.uint64(_BANKS)).astype(np.int64)
    return np.bincount(banks, minlength=len(filled) * _BANKS).reshape(-1, _BANKS).max(axis=1)


def wavefronts(address: Array, active: Array, size: int) -> tuple[int, int]:
    """(passes over the banks, those that would do without conflicts) of accesses of `size` bytes, (warps, 32) lanes."""
    found = passes(address, active, size)
    return int(found.sum()), int(np.count_nonzero(found))


class Meter(Observer):
    """Mutable: counts what a launch does, instruction by instruction."""

    def __init__(self, launch: Any) -> None:
        self.launch = launch
        self.traffic: dict[int, dict[tuple[str, str], Traffic]] = {}
        self.arguments: dict[int, dict[tuple[str, str], Traffic]] = {}
        self.lanes_on: dict[int, int] = {}
        self.divergent: dict[int, int] = {}
        self.code: CodeBlock | None = None
        self.operation: str | None = None
        self.pending: list[tuple[str, int, Array, Array]] = []

    # While the launch runs.
    def begin(self, chunk: Chunk, what: Details) -> None:
        """Take note of an instruction about to run."""
        self.operation = operation_of(what.instruction.opcode)
        if what.guard is not None:
            chosen = np.broadcast_to(np.asarray(Recorder.chosen(chunk, what, chunk.mask)), chunk.shape)
            at = what.instruction.start
            self.lanes_on[at] = self.lanes_on.get(at, 0) + int(np.count_nonzero(chosen))

    def end(self, chunk: Chunk, code: CodeBlock) -> None:
        """Take note of a block's last instruction, which decides where its lanes go."""
        self.code = code
        if code.ending is not None:
            self.begin(chunk, code.ending)

    def touch(
        self, chunk: Chunk, site: Site, space: str, kind: str, address: Array, mask: Array | None, value: Array | None
    ) -> None:
        """Take note of an access of the running instruction."""
        if self.operation is not None and space in ("global", "shared"):
            active = np.ones((1, 1), np.bool_) if mask is None else np.asarray(mask)
            self.pending.append(
                (space, site.size, chunk.full(np.asarray(address)).astype(np.uint64), chunk.full(active))
            )

    def split(self, directions: Array) -> None:
        """Take note of the running branch's outcome: (direction, ctas, threads) flags."""
        if self.code is not None and self.code.ending is not None:
            ways = directions.reshape(len(directions), -1, 32).any(axis=2).sum(axis=0)
            at = self.code.ending.instruction.start
            self.divergent[at] = self.divergent.get(at, 0) + int(np.count_nonzero(ways > 1))

    def settle(self, chunk: Chunk, what: Details) -> None:
        """Count the accesses of the instruction that just ran."""
        at = what.instruction.start
        pending, self.pending = self.pending, []
        if pending and self.operation is not None:
            self._global(at, self.operation, [touched for touched in pending if touched[0] == "global"])
            shared = "atom" if self.operation == "red" else self.operation
            self._shared(at, shared, [touched for touched in pending if touched[0] == "shared"])

    def _shared(self, at: int, operation: str, touched: list[tuple[str, int, Array, Array]]) -> None:
        for _, size, address, active in touched:
            taken, ideal = wavefronts(address, active, size)
            requests, lanes = int(np.count_nonzero(active.any(axis=1))), int(np.count_nonzero(active))
            found = Traffic(requests, lanes * size, wavefronts=taken, conflicts=taken - ideal)
            _add(self.traffic, at, ("shared", operation), found)

    def _global(self, at: int, operation: str, touched: list[tuple[str, int, Array, Array]]) -> None:
        if not touched:
            return
        address = np.concatenate([touch[2] for touch in touched], axis=1)
        active = np.concatenate([touch[3] for touch in touched], axis=1)
        sizes = np.concatenate([np.full(touch[2].shape[1], touch[1]) for touch in touched])
        if not active.any():
            return
        found = _global_traffic(address, active, sizes)
        _add(self.traffic, at, ("global", operation), found)
        inside = address[active]
        low, high = int(inside.min()), int(inside.max())
        region: Region | None = self.launch.space.find(low)
        if region is not None and high < region.base + region.size and len(region.parts) == 1:
            _add(self.arguments, at, (operation, region.parts[0].name), found)
            return
        for part in self.launch.parts():
            here = active & (address >= np.uint64(part.first)) & (address < np.uint64(part.last))
            active = active & ~here
            if here.any():
                _add(self.arguments, at, (operation, part.name), _global_traffic(address, here, sizes))

    # Afterwards.
    def metrics(self, totals: Mapping[str, float]) -> Metrics:
        """All counts, instruction by instruction."""
        launch = self.launch
        blocks = zip(launch.program.code, launch.block_warps, launch.block_lanes)
        executed = [(details, warps, lanes) for code, warps, lanes in blocks if warps for details in code.details]
        executed.sort(key=lambda entry: entry[0].instruction.start)
        return Metrics(totals, [self._instruction(*entry) for entry in executed])

    def _instruction(self, details: Details, warps: int, lanes: int) -> InstructionCounts:
        at, words = details.instruction.start, details.instruction.opcode.split(".")
        branches, barriers = words[0] in ("bra", "brx"), words[0] in ("bar", "barrier") and "warp" not in words
        return InstructionCounts(
            details.line,
            self.launch.uid(details.line),
            details.text,
            pipe_of(details),
            warps,
            lanes,
            self.lanes_on.get(at, 0) if details.guard else lanes,
            warps * branches,
            self.divergent.get(at, 0),
            warps * barriers,
            self.traffic.get(at, {}),
            self.arguments.get(at, {}),
            self.launch.source_line(details.line),
        )


def _add(store: dict[int, dict[tuple[str, str], Traffic]], at: int, key: tuple[str, str], found: Traffic) -> None:
    store.setdefault(at, {}).setdefault(key, Traffic()).add(found)


def _global_traffic(address: Array, active: Array, sizes: Array) -> Traffic:
    requests = int(np.count_nonzero(active.any(axis=1)))
    sectors = int(distinct(address >> _SECTOR_SHIFT, active).sum())
    return Traffic(requests, int((np.count_nonzero(active, axis=0) * sizes).sum()), sectors)
