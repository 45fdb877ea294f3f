"""Turns what a chunk did into a `Recording`: one step per warp and instruction. Knows no semantics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.ptx.types import TYPES
from tinyton_lab.record.recording import Access, Step
from tinyton_lab.sim.control import Barrier
from tinyton_lab.sim.lanes import Array, Chunk, bits
from tinyton_lab.sim.program import CodeBlock, Details

_SMALL = 8192
_LANE_BITS = (1 << np.arange(32, dtype=np.uint64)).astype(np.uint64)


class Part(NamedTuple):
    """The recorded CTAs of a chunk: the first one's place in the launch, their shape, and how to cut them out."""

    first: int
    shape: tuple[int, int]
    cut: Callable[[Array], Array]


class Recorder:
    """Mutable: collects raw steps (register arrays, which never change) and expands them at the end.

    At most `most` steps are kept; `total` counts all of them.
    """

    def __init__(self, launch: Any, most: int) -> None:
        self.launch, self.most, self.total, self.kept = launch, most, 0, 0
        self.raw: list[tuple[Part, Details, Array | None, list[Array], Any, str]] = []

    def block(self, chunk: Chunk, code: CodeBlock) -> None:
        """Run a block's operations one by one, noting each."""
        registers, mask, note = chunk.registers, chunk.mask, self.note
        keep = chunk.recorded
        part = Part(chunk.first, (keep, chunk.threads), _first_rows(keep) if keep < chunk.ctas else _whole)
        for operation, what in zip(code.operations, code.notes):
            if what is None:
                operation(chunk)
                continue
            chosen = mask if what.guard is None else self.chosen(chunk, what, mask)
            chunk.access = None
            for observer in chunk.observers:
                observer.begin(chunk, what)
            operation(chunk)
            for observer in chunk.observers:
                observer.settle(chunk, what)
            note(part, what, chosen, [registers[write[1]] for write in what.writes], chunk.access, "")
        for observer in chunk.observers:
            observer.end(chunk, code)
        if code.ending is not None:
            ending = code.terminator
            waits = isinstance(ending, Barrier) and ending.action != "arrive"
            text = f"barrier {ending.fixed}" if waits else ""
            note(part, code.ending, self.chosen(chunk, code.ending, mask), [], None, text)

    @staticmethod
    def chosen(chunk: Chunk, what: Details, mask: Array | None) -> Array | None:
        """The lanes that an instruction applies to: the block's, narrowed by its guard."""
        if what.guard is None:
            return mask
        flags = chunk.registers[what.guard[0]]
        flags = ~flags if what.guard[1] else flags
        return flags if mask is None else flags & mask

    def note(self, part: Part, what: Details, mask: Array | None, values: list[Array], access: Any, waits: str) -> None:
        """Keep one instruction of the recorded CTAs; their part of larger arrays is copied, so that these can go."""
        shape, cut = part.shape, part.cut
        warps = shape[0] * shape[1] >> 5
        if mask is not None:
            lanes: Array = cut(mask)
            mask = lanes
            warps = int(np.count_nonzero(np.broadcast_to(lanes, shape).reshape(-1, 32).any(axis=1)))
        self.total += warps
        if self.kept < self.most and warps:
            self.kept += warps
            if access is not None:
                access = (*access[:4], cut(access[4]))
            self.raw.append((part, what, mask, [cut(value) for value in values], access, waits))

    def steps(self, names: dict[int, str]) -> Iterator[Step]:
        """The kept steps in execution order; `names` gives each register the type it is shown in."""
        index = 0
        for part, what, mask, values, access, waits in self.raw:
            shape = part.shape
            full = np.ones(shape, np.bool_) if mask is None else np.broadcast_to(mask, shape)
            lanes = full.reshape(-1, 32)
            masks = (lanes * _LANE_BITS).sum(axis=1, dtype=np.uint64)
            columns = [
                self.column(shape, value, register, type_, names)
                for value, (_, register, type_) in zip(values, what.writes)
            ]
            places = None if access is None else np.broadcast_to(access[4], shape).reshape(-1, 32)
            for warp in np.flatnonzero(masks):
                if index >= self.most:
                    return
                cta, inside = divmod(int(warp), shape[1] // 32)
                yield Step(
                    index,
                    self.launch.cta_index(part.first + cta),
                    inside,
                    what.line,
                    self.launch.uid(what.line),
                    what.text,
                    int(masks[warp]),
                    tuple((name, tuple(column[warp])) for (name, _, _), column in zip(what.writes, columns)),
                    self.access(access, places, int(warp), lanes[warp]),
                    waits,
                )
                index += 1

    @staticmethod
    def column(
        shape: tuple[int, int], value: Array, register: int, type_: str, names: dict[int, str]
    ) -> list[list[Any]]:
        """A register's values by warp, as Python numbers."""
        shown = TYPES[names.get(register, type_)]
        if shown.bits != value.dtype.itemsize * 8 or shown.compute.kind not in "iufb":
            shown = TYPES[f"b{value.dtype.itemsize * 8}"] if value.dtype.kind != "b" else TYPES["pred"]
        typed = value if value.dtype.kind == "f" else bits(np.asarray(value), shown.compute)
        return np.broadcast_to(typed, shape).reshape(-1, 32).tolist()

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


def _whole(value: Array) -> Array:
    return value


def _first_rows(count: int) -> Callable[[Array], Array]:
    """A function that keeps the first CTAs' part of lane values, without keeping large arrays alive."""

    def cut(value: Array) -> Array:
        if value.ndim < 2 or len(value) <= count:
            return value
        return value[:count] if value.size <= _SMALL else value[:count].copy()

    return cut
