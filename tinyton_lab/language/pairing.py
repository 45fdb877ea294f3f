"""Reductions and scans whose combining function branches: by halves, so that it runs on elements, not on tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyton_lab.language import arranging, semantic, shapes
from tinyton_lab.language.value import TileValue, emitter, make
from tinyton_lab.ops import elementwise

Combine = Callable[..., Sequence[TileValue]]


def reduced(inputs: Sequence[TileValue], axis: int, combine: Combine) -> list[TileValue]:
    """Combine neighbours along an axis, then neighbours of the results, until one is left."""
    parts = [_last(x, axis) for x in inputs]
    while parts[0].shape[-1] > 1:
        evens, odds = _pairs(parts)
        parts = _combined([*evens, *odds], combine)
    return [arranging.squeeze(x, -1) for x in parts]


def scanned(inputs: Sequence[TileValue], axis: int, reverse: bool, combine: Combine) -> list[TileValue]:
    """Combine each element with those before it along an axis, those after it with `reverse`."""
    parts = [_last(x, axis) for x in inputs]
    parts = [arranging.flip(x) for x in parts] if reverse else parts
    parts = _prefixes(parts, combine)
    parts = [arranging.flip(x) for x in parts] if reverse else parts
    return [_last(x, axis) for x in parts]


def _prefixes(parts: list[TileValue], combine: Combine) -> list[TileValue]:
    """Scan pairs; their results are those at odd places, and one step from those at even places."""
    shape = parts[0].shape
    if shape[-1] == 1:
        return parts
    evens, odds = _pairs(parts)
    at_odd = _prefixes(_combined([*evens, *odds], combine), combine)
    at_even = evens
    if shape[-1] > 2:
        places = arranging.positions(evens[0].shape, len(shape) - 1)
        before = semantic.binary(elementwise.max_, semantic.sub(places, 1), 0)
        ahead = [arranging.gather(x, before, -1) for x in at_odd]
        first = semantic.compare(elementwise.eq, places, 0)
        later = _combined([*ahead, *evens], combine)
        at_even = [semantic.where(first, x, y) for x, y in zip(evens, later, strict=True)]
    joined = [arranging.join(x, y) for x, y in zip(at_even, at_odd, strict=True)]
    return [shapes.reshape(x, shape) for x in joined]


def _last(x: TileValue, axis: int) -> TileValue:
    """The tile with this axis and the last one in each other's place."""
    rank = len(x.shape)
    if axis == rank - 1:
        return x
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return shapes.permute(x, order)


def _pairs(parts: Sequence[TileValue]) -> tuple[list[TileValue], list[TileValue]]:
    """The elements at even and those at odd places of the last axis."""
    shape = parts[0].shape
    halves = [arranging.split(shapes.reshape(x, (*shape[:-1], shape[-1] // 2, 2))) for x in parts]
    return [half[0] for half in halves], [half[1] for half in halves]


def _combined(values: Sequence[TileValue], combine: Combine) -> list[TileValue]:
    handles = emitter().map([x.handle for x in values], combine)
    return [make(handle.type, handle) for handle in handles]
