"""Turns what a chunk did into a `Recording`: one step per warp and instruction. Knows no semantics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tinyton_lab.ptx.types import TYPES
from tinyton_lab.record.recording import Access, Step
from tinyton_lab.sim.control import Barrier
from tinyton_lab.sim.lanes import Array, Chunk, bits
from tinyton_lab.sim.program import CodeBlock, Details

_LANE_BITS = (1 << np.arange(32, dtype=np.uint64)).astype(np.uint64)


class Recorder:
    """Mutable: collects raw steps (references to register arrays, which never change) and expands them at the end.

    At most `most` steps are kept; `total` counts all of them.
    """

    def __init__(self, launch: Any, most: int) -> None:
        self.launch, self.most, self.total, self.kept = launch, most, 0, 0
        self.raw: list[tuple[Chunk, Details, Array | None, tuple[Array, ...], Any, str]] = []

    def block(self, chunk: Chunk, code: CodeBlock) -> None:
        """Run a block's operations one by one, noting each."""
        registers = chunk.registers
        extra = len(code.operations) - len(code.details) + (1 if len(code.details) > len(code.operations) else 0)
        details = code.details
        # Operations that pass parameters have no instruction of their own; they come first or last.
        silent = max(extra, 0) if len(code.operations) > len(details) else 0
        mask = chunk.mask
        for index, operation in enumerate(code.operations):
            what = details[index - silent] if silent <= index < silent + len(details) else None
            if what is None:
                operation(chunk)
                continue
            chosen = self.chosen(chunk, what, mask)
            chunk.access = None
            operation(chunk)
            self.note(
                chunk, what, chosen, tuple(registers[register] for _, register, _ in what.writes), chunk.access, ""
            )
        for what in details[len(code.operations) - silent :]:
            terminator = code.terminator
            waits = (
                f"barrier {terminator.fixed}"
                if isinstance(terminator, Barrier) and terminator.action != "arrive"
                else ""
            )
            self.note(chunk, what, self.chosen(chunk, what, mask), (), None, waits)

    @staticmethod
    def chosen(chunk: Chunk, what: Details, mask: Array | None) -> Array | None:
        """The lanes that an instruction applies to: the block's, narrowed by its guard."""
        if what.guard is None:
            return mask
        flags = chunk.registers[what.guard[0]]
        flags = ~flags if what.guard[1] else flags
        return flags if mask is None else flags & mask

    def note(
        self, chunk: Chunk, what: Details, mask: Array | None, values: tuple[Array, ...], access: Any, waits: str
    ) -> None:
        warps = chunk.ctas * chunk.threads // 32
        if mask is not None:
            warps = int(np.broadcast_to(mask, chunk.shape).reshape(-1, 32).any(axis=1).sum())
        self.total += warps
        if self.kept < self.most and warps:
            self.kept += warps
            self.raw.append((chunk, what, mask, values, access, waits))

    def steps(self, names: dict[int, str]) -> Iterator[Step]:
        """The kept steps in execution order; `names` gives each register the type it is shown in."""
        index = 0
        for chunk, what, mask, values, access, waits in self.raw:
            full = np.ones(chunk.shape, np.bool_) if mask is None else np.broadcast_to(mask, chunk.shape)
            lanes = full.reshape(-1, 32)
            masks = (lanes * _LANE_BITS).sum(axis=1, dtype=np.uint64)
            columns = [
                self.column(chunk, value, register, type_, names)
                for value, (_, register, type_) in zip(values, what.writes)
            ]
            places = self.offsets(chunk, access)
            for warp in np.flatnonzero(masks):
                if index >= self.most:
                    return
                cta, inside = divmod(int(warp), chunk.threads // 32)
                written = tuple((name, tuple(column[warp])) for (name, _, _), column in zip(what.writes, columns))
                touched = self.access(access, places, int(warp), lanes[warp])
                yield Step(
                    index,
                    self.launch.cta_index(chunk.first + cta),
                    inside,
                    what.line,
                    self.launch.uid(what.line),
                    what.text,
                    int(masks[warp]),
                    written,
                    touched,
                    waits,
                )
                index += 1

    @staticmethod
    def column(chunk: Chunk, value: Array, register: int, type_: str, names: dict[int, str]) -> list[list[Any]]:
        """A register's values by warp, as Python numbers."""
        shown = TYPES[names.get(register, type_)]
        if shown.bits != value.dtype.itemsize * 8 or shown.compute.kind not in "iufb":
            shown = TYPES[f"b{value.dtype.itemsize * 8}"] if value.dtype.kind != "b" else TYPES["pred"]
        typed = value if value.dtype.kind == "f" else bits(np.asarray(value), shown.compute)
        return np.broadcast_to(typed, chunk.shape).reshape(-1, 32).tolist()

    @staticmethod
    def offsets(chunk: Chunk, access: Any) -> Array | None:
        if access is None:
            return None
        return np.broadcast_to(access[4], chunk.shape).reshape(-1, 32)

    @staticmethod
    def access(access: Any, places: Array | None, warp: int, lanes: Array) -> Access | None:
        if access is None or places is None:
            return None
        space, kind, region, size, _ = access
        row = places[warp].astype(np.int64)
        name, shift = space, 0
        if region is not None:
            first = int(row[np.flatnonzero(lanes)[0]])
            part = region.part_of(first + region.base)
            name, shift = part.name, part.first - region.base
        return Access(space, kind, name, size, tuple(int(o) - shift if on else -1 for o, on in zip(row, lanes)))
