"""How a reduction runs over registers, lanes and warps, and the shared memory that its last step takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Tile
from tinyton_lab.layout.linear import Layout

ALIGNMENT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a reduction along one axis of a layout.

    `groups`: the registers that combine into each register of the result. `lanes`, `warps`: the bits along the axis.
    Across warps each thread that `writes` its partial result puts it at slot `place` of the thread's bits (lane bits,
    then warp bits) plus ``group * slots``; partials to combine lie side by side, from the slot `start` on.
    """

    groups: tuple[tuple[int, ...], ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    place: tuple[int, ...]
    start: tuple[int, ...]
    slots: int
    silent: int

    @property
    def partials(self) -> int:
        return 1 << len(self.warps)


@lru_cache(maxsize=256)
def in_order(layout: Layout, axis: int) -> Layout:
    """A layout in which registers, then lanes, then warps hold neighbours along an axis; the rest lies as it did.

    Only there do the steps of a reduction join elements in the order of their indices.

    >>> from tinyton_lab.layout.linear import parse_layout
    >>> str(in_order(parse_layout("16 register [1] [8] lane [2] warp [4]"), 0))
    '16 register [1] [2] lane [4] warp [8]'
    """
    mask = layout.axis_mask(axis)
    lowest = mask & -mask
    places = iter(range(mask.bit_count()))
    ordered = {
        name: [lowest << next(places) if basis & mask and not basis & ~mask else basis for basis in bases]
        for name, bases in layout.inputs
    }
    return layout.with_bases(**ordered)


@lru_cache(maxsize=256)
def steps_of(source: Layout, axis: int) -> Steps:
    """Plan the reduction of a tile in layout `source`; every basis must lie along the axis or across it."""
    mask = source.axis_mask(axis)
    if any(basis & mask and basis & ~mask for basis in source.flat):
        raise RuntimeError("layout: a reduction over a layout that mixes its axes")
    along = {name: [at for at, basis in enumerate(bases) if basis & mask] for name, bases in source.inputs}
    lane_bits, warp_bits = len(source.bases["lane"]), len(source.bases["warp"])
    kept_lanes = [at for at, basis in enumerate(source.bases["lane"]) if basis and at not in along["lane"]]
    kept_warps = [at for at in range(warp_bits) if at not in along["warp"]]
    order = [lane_bits + at for at in along["warp"]] + kept_lanes + [lane_bits + at for at in kept_warps]
    place = [1 << order.index(bit) if bit in order else 0 for bit in range(lane_bits + warp_bits)]
    start = [0 if bit - lane_bits in along["warp"] else image for bit, image in enumerate(place)]
    silent = sum(1 << at for at in range(lane_bits) if at not in kept_lanes)
    groups = _groups(len(source.bases["register"]), along["register"])
    lanes, warps = tuple(along["lane"]), tuple(along["warp"])
    return Steps(groups, lanes, warps, tuple(place), tuple(start), 1 << len(order), silent)


def _groups(bits: int, along: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    kept = [at for at in range(bits) if at not in along]
    return tuple(
        tuple(_spread(g, kept) | _spread(i, along) for i in range(1 << len(along))) for g in range(1 << len(kept))
    )


def _spread(value: int, places: Sequence[int]) -> int:
    return sum((value >> index & 1) << place for index, place in enumerate(places))


def steps_of_op(op: Op) -> Steps:
    """The steps of a `reduce` in layout IR."""
    value = op.operands[0]
    if value is None or not isinstance(value.type.layout, Layout):
        raise RuntimeError(f"layout: reduce #{op.uid} has no layout")
    return steps_of(value.type.layout, op.attrs["axis"])


def regions(op: Op) -> tuple[int, ...]:
    """Where the partials of each input start in the scratch memory of a `reduce`, in bytes, and the end of the last."""
    steps, ends = steps_of_op(op), [0]
    for value in op.inputs:
        used = len(steps.groups) * steps.slots * item_bytes(value.type) if steps.warps else 0
        ends.append(ends[-1] + -(-used // ALIGNMENT_BYTES) * ALIGNMENT_BYTES)
    return tuple(ends)


def item_bytes(tile: Tile) -> int:
    """Bytes of one element in shared memory."""
    return tile.element.bytes
