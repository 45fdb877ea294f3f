"""Turns what a chunk did into a `Recording`: one step per warp and instruction. Knows no semantics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.ptx.types import TYPES
from tinyton_lab.record.events import Access, Step
from tinyton_lab.sim.access import I64, RANK_SHIFT
from tinyton_lab.sim.control import Barrier
from tinyton_lab.sim.lanes import Array, Chunk, bits
from tinyton_lab.sim.memory import shift_of
from tinyton_lab.sim.program import CodeBlock, Details

_SMALL = 8192
_NOTHING: Sequence[Any] = ()
_LANE_BITS = (1 << np.arange(32, dtype=np.uint64)).astype(np.uint64)


class Part(NamedTuple):
    """The recorded CTAs of a chunk: the first one's place in the launch, their shape and warps, how to cut them out.

    Values of `large` chunks are cut when they are noted, so that the rest can go; others when steps are written out.
    """

    first: int
    shape: tuple[int, int]
    warps: int
    cut: Callable[[Array], Array]
    large: bool


class Recorder:
    """Mutable: collects raw steps (register arrays, which never change) and expands them at the end.

    At most `most` steps are kept; `total` counts all of them.
    """

    def __init__(self, launch: Any, most: int) -> None:
        self.launch, self.most, self.total, self.kept = launch, most, 0, 0
        self.raw: list[tuple[Part, Details, Array | None, list[Array], Sequence[Any], str, Sequence[Any]]] = []

    def block(self, chunk: Chunk, code: CodeBlock) -> None:
        """Run a block's operations one by one, noting each."""
        registers, mask, note, keep = chunk.registers, chunk.mask, self.note, chunk.recorded
        cut, large = _first_rows(keep) if keep < chunk.ctas else _whole, chunk.ctas * chunk.threads > _SMALL
        part = Part(chunk.first, (keep, chunk.threads), keep * chunk.threads >> 5, cut, large and keep < chunk.ctas)
        observers, warps = chunk.observers, part.warps
        # What all lanes do, where nothing has to be cut out, needs no look at masks.
        whole = mask is None and not part.large and self.kept + warps * len(code.notes) <= self.most
        add, plain = self.raw.append, 0
        for operation, what in zip(code.operations, code.notes):
            if what is None:
                operation(chunk)
                continue
            unguarded = what.guard is None
            chosen = mask if unguarded else self.chosen(chunk, what, mask)
            for observer in observers:
                observer.begin(chunk, what)
            operation(chunk)
            for observer in observers:
                observer.settle(chunk, what)
            accesses, movements = _NOTHING, _NOTHING
            if chunk.accesses:
                accesses, chunk.accesses = self.settled(chunk, chunk.accesses), []
            if chunk.movements:
                movements, chunk.movements = chunk.movements, []
            if whole and unguarded:
                plain += 1
                add((part, what, None, [registers[n] for _, n, _ in what.writes], accesses, "", movements))
            else:
                note(part, what, chosen, [registers[n] for _, n, _ in what.writes], accesses, "", movements)
        self.total, self.kept = self.total + warps * plain, self.kept + warps * plain
        for observer in observers:
            observer.end(chunk, code)
        if code.ending is not None:
            ending = code.terminator
            waits = isinstance(ending, Barrier) and ending.action != "arrive"
            text = f"barrier {ending.fixed}" if waits else ""
            note(part, code.ending, self.chosen(chunk, code.ending, mask), [], _NOTHING, text, _NOTHING)

    def settled(self, chunk: Chunk, accesses: list[Any]) -> list[Any]:
        """Accesses with what stands in memory after them, also those of atomics."""
        if accesses[0][1] != "atomic":
            return accesses
        return [(*access[:5], self.content(chunk, *access[:5]), access[6]) for access in accesses]

    @staticmethod
    def content(chunk: Chunk, space: str, kind: str, region: Any, size: int, where: Array) -> Array | None:
        """What stands in memory at each lane's place; None where it is not known."""
        if region is not None:
            view, first = region.view(size), None
        else:
            view, first = (chunk.shared if space == "shared" else chunk.local).view(size)
            if chunk.launch.cluster_size > 1 and (where >> where.dtype.type(RANK_SHIFT)).any():
                # Memory of other CTAs.
                return None
        index = np.asarray(where >> shift_of(size).astype(where.dtype)).astype(I64)
        index = index if first is None else index + first
        # Inactive lanes may name any place.
        return view.take(index, mode="clip") if len(view) else None

    @staticmethod
    def chosen(chunk: Chunk, what: Details, mask: Array | None) -> Array | None:
        """The lanes that an instruction applies to: the block's, narrowed by its guard."""
        if what.guard is None:
            return mask
        flags = chunk.registers[what.guard[0]]
        flags = ~flags if what.guard[1] else flags
        return flags if mask is None else flags & mask

    def note(
        self,
        part: Part,
        what: Details,
        mask: Array | None,
        values: list[Array],
        accesses: Sequence[Any],
        waits: str,
        movements: Sequence[Any],
    ) -> None:
        """Keep one instruction of the recorded CTAs."""
        warps = part.warps
        if mask is not None:
            lanes = np.broadcast_to(part.cut(mask), part.shape)
            warps = int(np.count_nonzero(lanes.reshape(-1, 32).any(axis=1)))
        self.total += warps
        if self.kept >= self.most or not warps:
            return
        self.kept += warps
        if part.large:
            cut = part.cut
            mask, values = None if mask is None else cut(mask), [cut(value) for value in values]
            accesses = [(*access[:4], *(_cut(cut, value) for value in access[4:])) for access in accesses]
        self.raw.append((part, what, mask, values, accesses, waits, movements))

    def steps(self, types: dict[int, str], names: list[str]) -> Iterator[Step]:
        """The kept steps in execution order; `types` gives registers the type they are shown in, `names` their name."""
        index = 0
        for part, what, mask, values, accesses, waits, movements in self.raw:
            shape, cut = part.shape, part.cut
            full = np.ones(shape, np.bool_) if mask is None else np.broadcast_to(cut(mask), shape)
            lanes = full.reshape(-1, 32)
            masks = (lanes * _LANE_BITS).sum(axis=1, dtype=np.uint64)
            columns = [
                self.column(shape, cut(value), register, type_, types)
                for value, (_, register, type_) in zip(values, what.writes)
            ]
            touched = [(access, *_lanes_of(access[4:], shape, cut)) for access in accesses]
            reads = tuple(dict.fromkeys(names[register] for register in what.reads))
            for warp in np.flatnonzero(masks):
                if index >= self.most:
                    return
                cta, inside = divmod(int(warp), shape[1] // 32)
                found = [self.access(each, int(warp), lanes[warp]) for each in touched]
                there = [access for access in found if access is not None]
                yield Step(
                    index,
                    self.launch.cta_index(part.first + cta),
                    inside,
                    what.line,
                    self.launch.uid(what.line),
                    what.text,
                    int(masks[warp]),
                    tuple((name, tuple(column[warp])) for (name, _, _), column in zip(what.writes, columns)),
                    there[-1] if there else None,
                    waits,
                    reads,
                    tuple(there[:-1]),
                    tuple(each.movement for each in movements if (each.cta, each.warp) == (cta, inside)),
                )
                index += 1

    @staticmethod
    def column(
        shape: tuple[int, int], value: Array, register: int, type_: str, types: dict[int, str]
    ) -> list[list[Any]]:
        """A register's values by warp, as Python numbers."""
        shown = TYPES[types.get(register, type_)]
        if shown.bits != value.dtype.itemsize * 8 or shown.compute.kind not in "iufb":
            shown = TYPES[f"b{value.dtype.itemsize * 8}"] if value.dtype.kind != "b" else TYPES["pred"]
        typed = value if value.dtype.kind == "f" else bits(np.asarray(value), shown.compute)
        return np.broadcast_to(typed, shape).reshape(-1, 32).tolist()

    @staticmethod
    def access(touched: tuple[Any, Array, Array | None, Array | None], warp: int, lanes: Array) -> Access | None:
        """One access of a warp; None where none of its lanes took part."""
        (space, kind, region, size, *_), places, data, chosen = touched
        lanes = lanes if chosen is None else lanes & chosen[warp]
        if not lanes.any():
            return None
        row = places[warp].astype(np.int64)
        name, shift = space, 0
        if region is not None:
            first = int(row[np.flatnonzero(lanes)[0]])
            part = region.part_of(first + region.base)
            name, shift = part.name, part.first - region.base
        offsets = tuple(int(o) - shift if on else -1 for o, on in zip(row, lanes))
        return Access(space, kind, name, size, offsets, () if data is None else _numbers(data[warp], lanes))


def _numbers(values: Array, lanes: Array) -> tuple[int, ...]:
    """Elements of memory as unsigned numbers; 0 in lanes that took no part."""
    size, raw = values.dtype.itemsize, np.ascontiguousarray(values).tobytes()
    return tuple(int.from_bytes(raw[size * n : size * n + size], "little") if on else 0 for n, on in enumerate(lanes))


def _whole(value: Array) -> Array:
    return value


def _first_rows(count: int) -> Callable[[Array], Array]:
    """A function that keeps the first CTAs' part of lane values, without keeping large arrays alive."""

    def cut(value: Array) -> Array:
        if value.ndim < 2 or len(value) <= count:
            return value
        return value[:count] if value.size <= _SMALL else value[:count].copy()

    return cut


def _lanes_of(values: Any, shape: tuple[int, int], cut: Callable[[Array], Array]) -> list[Any]:
    """Values of an access by warp and lane; what is absent stays so."""
    return [None if x is None else np.broadcast_to(cut(np.asarray(x)), shape).reshape(-1, 32) for x in values]


def _cut(cut: Callable[[Array], Array], value: Array | None) -> Array | None:
    return None if value is None else cut(np.asarray(value))
