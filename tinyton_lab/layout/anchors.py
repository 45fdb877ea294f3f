"""The layout that each memory access wants, and what an access costs in another one. Knows nothing of other ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tinyton_lab.ir.core import Function, Op, Value
from tinyton_lab.ir.types import Tile
from tinyton_lab.layout.linear import Layout, blocked
from tinyton_lab.ops import memory
from tinyton_lab.passes.axis_info import AxisInfo

VECTOR_BYTES = 16
SECTOR_BYTES = 32
LANES = 32


@dataclass(frozen=True, slots=True)
class Access:
    """What shapes an access: the axes by contiguity (the best first), and how many elements one instruction may move.

    `run` is the length of the aligned runs of neighbours along the best axis; `vector` is bounded by that, alignment,
    the mask's constancy and 16 bytes.
    """

    tile: Tile
    order: tuple[int, ...]
    vector: int
    run: int


def access_of(op: Op, infos: Mapping[Value, AxisInfo]) -> Access:
    """Describe a `load` or `store` of a tile."""
    pointer, distance, mask = op.operand("pointer"), op.operand("distance"), op.operand("mask")
    tile = accessed(op)
    place = distance if distance is not None else pointer
    if pointer is None or place is None:
        raise RuntimeError(f"layout: {op.row.name} #{op.uid} has no pointer")
    axes = infos[place].axes
    order = tuple(sorted(range(tile.rank), key=lambda axis: (-axes[axis].contiguity, -axis)))
    best, item = order[0], tile.element.bytes
    aligned_bytes = axes[best].divisibility
    if distance is not None:
        aligned_bytes = min(_power_of_two(aligned_bytes * item), _power_of_two(infos[pointer].divisor))
    run = min(_power_of_two(axes[best].contiguity), tile.shape[best])
    limits = [run, aligned_bytes // item, VECTOR_BYTES // item]
    if mask is not None:
        limits.append(infos[mask].constancy[best])
    return Access(tile, order, max(min(map(_power_of_two, limits)), 1), run)


def accessed(op: Op) -> Tile:
    """The type of the tile that a `load` or `store` moves."""
    value = op.result if op.row is memory.load else op.operand("value")
    if value is None:
        raise RuntimeError(f"layout: {op.row.name} #{op.uid} moves nothing")
    return value.type


def _power_of_two(number: int) -> int:
    return number & -number


class Anchors:
    """The wanted layouts of a function's memory accesses. Accesses of one shape and order share theirs."""

    def __init__(self, function: Function, infos: Mapping[Value, AxisInfo], warps: int) -> None:
        self.warps = warps
        tiles = [op for op in function.walk() if op.row in (memory.load, memory.store) and accessed(op).shape]
        self.accesses = {op: access_of(op, infos) for op in tiles}
        self._vectors: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        for access in self.accesses.values():
            key = (access.tile.shape, access.order)
            self._vectors[key] = max(self._vectors.get(key, 1), access.vector)

    def preferred(self, op: Op) -> Layout:
        """The layout in which the access is coalesced."""
        access = self.accesses[op]
        return self._spread(access.tile.shape, access.order)

    def default(self, shape: tuple[int, ...]) -> Layout:
        """A layout for a tile that no access has a say in: that of an access of the same shape, or row-major."""
        order = next((o for s, o in self._vectors if s == shape), tuple(reversed(range(len(shape)))))
        return self._spread(shape, order)

    def _spread(self, shape: tuple[int, ...], order: tuple[int, ...]) -> Layout:
        elements = 1
        for size in shape:
            elements *= size
        vector = min(self._vectors.get((shape, order), 1), max(elements // (LANES * self.warps), 1), shape[order[0]])
        return blocked(shape, vector, self.warps, order)

    def vector(self, op: Op, layout: Layout) -> int:
        """Elements that one instruction of the access moves in `layout`."""
        access = self.accesses[op]
        step, width = self._unit(access, layout), 1
        for position, basis in enumerate(layout.bases["register"]):
            if width == access.vector or basis != step << position:
                break
            width *= 2
        return width

    def run(self, op: Op) -> tuple[int, int] | None:
        """The axis along which addresses count up and the length of each run; None where there are no runs."""
        access = self.accesses[op]
        return (access.order[0], access.run) if access.run > 1 else None

    @staticmethod
    def _unit(access: Access, layout: Layout) -> int:
        return layout.index([1 if axis == access.order[0] else 0 for axis in range(access.tile.rank)])

    def cost(self, op: Op, layout: Layout) -> float:
        """Time of an access, in instructions of a thread: more where a warp's lanes touch scattered sectors."""
        access = self.accesses[op]
        width = self.vector(op, layout)
        step = self._unit(access, layout)
        lanes = [basis for basis in layout.bases["lane"] if basis]
        run = width
        while run * step in lanes and run < access.tile.shape[access.order[0]]:
            run *= 2
        moved_bytes = access.tile.element.bytes * width << len(lanes)
        run_bytes = access.tile.element.bytes * run
        sectors = moved_bytes / min(run_bytes, SECTOR_BYTES)
        return layout.registers / width * (1 + sectors / 8)


def conversion_cost(source: Layout, target: Layout) -> float:
    """Time of a conversion through shared memory, in instructions of a thread."""
    return 6 + (source.registers + target.registers) / 2
