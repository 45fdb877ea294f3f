"""Shapes: broadcasting as numpy does it, and the operations that move elements without computing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tinyton_lab.ir.types import Tile
from tinyton_lab.language.emission import constant_tile, emit, fault, static_int, unwrap
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import shape as ops

LARGEST_TILE = 1 << 20


def check_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """A tile's shape. Raises TT2006 unless all lengths are powers of two, TT2007 beyond the largest tile."""
    for length in shape:
        if length < 1 or length & (length - 1):
            raise fault("TT2006", shape=list(shape), length=length, near=max(1 << max(length - 1, 0).bit_length(), 1))
    if prod(shape) > LARGEST_TILE:
        raise fault("TT2007", shape=list(shape), elements=prod(shape), largest=LARGEST_TILE)
    return tuple(shape)


def static_shape(*shape: Any) -> tuple[int, ...]:
    """Read a shape given as one sequence or as several integers."""
    first = unwrap(shape[0]) if len(shape) == 1 else shape
    if isinstance(first, TileValue) or not isinstance(first, (tuple, list)):
        first = (first,)
    return check_shape([static_int(length, "a length of a shape") for length in first])


def static_axis(axis: Any, rank: int) -> int:
    """Read an axis; negative ones count from the end. Raises TT2008."""
    found = static_int(axis, "an axis")
    if not -rank <= found < rank:
        raise fault("TT2008", axis=found, rank=rank)
    return found % rank


def broadcast_shapes(x: TileValue, y: TileValue) -> tuple[int, ...]:
    """The common shape of two values. Raises TT2002."""
    a, b = x.shape, y.shape
    if a == b:
        return a
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(n != m and 1 not in (n, m) for n, m in zip(a, b)):
        raise fault("TT2002", x=spell(x.tile), y=spell(y.tile))
    return tuple(max(n, m) for n, m in zip(a, b))


def broadcast(x: TileValue, y: TileValue) -> tuple[TileValue, TileValue]:
    """Both values in their common shape."""
    if x.shape == y.shape:
        return x, y
    shape = broadcast_shapes(x, y)
    return broadcast_to(x, shape), broadcast_to(y, shape)


def broadcast_to(x: TileValue, shape: tuple[int, ...]) -> TileValue:
    """Repeat a value so that it has a shape. Raises TT2002."""
    if x.shape == shape:
        return x
    if x.known is not None:
        return constant_tile(x.known, Tile(x.tile.element, shape))
    if not x.shape:
        return emit(ops.splat, x, shape=shape)
    while len(x.shape) < len(shape):
        x = expand(x, 0)
    if x.shape == shape:
        return x
    if len(x.shape) != len(shape) or any(n not in (1, m) for n, m in zip(x.shape, shape)):
        raise fault("TT2002", x=spell(x.tile), y=f"the shape {list(shape)}")
    return emit(ops.broadcast, x, shape=shape)


def expand(x: TileValue, axis: int) -> TileValue:
    """Insert an axis of length 1."""
    if x.known is not None:
        return constant_tile(x.known, Tile(x.tile.element, (1,)))
    if not x.shape:
        return emit(ops.splat, x, shape=(1,))
    return emit(ops.expand, x, axis=axis)


def reshape(x: TileValue, shape: tuple[int, ...]) -> TileValue:
    """The same elements in row-major order under another shape. Raises TT2009."""
    if x.shape == shape:
        return x
    if prod(shape) != x.numel:
        raise fault("TT2009", x=spell(x.tile), elements=x.numel, shape=list(shape))
    if not x.shape:
        return broadcast_to(x, shape)
    return emit(ops.reshape, x, shape=shape)


def permute(x: TileValue, order: Sequence[Any]) -> TileValue:
    """Permute the axes: axis ``order[i]`` becomes axis i. Raises TT2008."""
    axes = tuple(static_axis(axis, len(x.shape)) for axis in order)
    if sorted(axes) != list(range(len(x.shape))):
        raise fault("TT2008", axis=list(axes), rank=len(x.shape))
    return x if axes == tuple(range(len(axes))) else emit(ops.transpose, x, order=axes)


def arange(start: Any, end: Any) -> TileValue:
    """The integers from `start` to below `end` as i32. Raises TT2010 for an empty range, TT2006 for its length."""
    first, last = static_int(start, "the start of a range"), static_int(end, "the end of a range")
    if last <= first or not -(2**31) <= first <= last <= 2**31:
        raise fault("TT2010", start=first, end=last)
    check_shape((last - first,))
    return emit(ops.range_, start=first, end=last)


def index(x: TileValue, key: Any) -> TileValue:
    """``x[:, None]``: insert axes of length 1. Raises TT2011 for any other subscript."""
    parts = [unwrap(part) for part in (key if isinstance(key, tuple) else (key,))]
    if Ellipsis in parts:
        place = parts.index(Ellipsis)
        missing = len(x.shape) - sum(part is not None and part is not Ellipsis for part in parts)
        parts[place : place + 1] = [slice(None)] * missing
    kept = sum(isinstance(part, slice) for part in parts)
    full = all(part is None or (isinstance(part, slice) and part == slice(None)) for part in parts)
    if not full or kept > len(x.shape):
        raise fault("TT2011", x=spell(x.tile))
    for axis, part in enumerate(parts):
        if part is None:
            x = expand(x, axis)
    return x
