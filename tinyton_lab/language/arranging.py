"""Builtins that put elements in other places: joining, splitting, gathering, flipping."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DTYPES, DType, int1, int64
from tinyton_lab.language import reductions, semantic, shapes
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.emission import emit, fault, static, to_value, unwrap
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import collective, elementwise


@builtin
def join(a: Any, b: Any) -> TileValue:
    """Two tiles side by side along a new last axis of length 2."""
    x, y = shapes.broadcast(to_value(a), to_value(b))
    rank = len(x.shape)
    first = semantic.compare(elementwise.eq, positions((*x.shape, 2), rank), 0)
    wide = [shapes.broadcast_to(shapes.expand(value, rank), (*x.shape, 2)) for value in (x, y)]
    return semantic.where(first, *wide)


@builtin
def split(a: Any) -> tuple[TileValue, TileValue]:
    """The two halves of a tile along its last axis, which has length 2."""
    value = to_value(a)
    if not value.shape or value.shape[-1] != 2:
        raise fault("TT2001", what=f"split takes a tile whose last axis has length 2, not {spell(value.tile)}")
    bits = as_bits(value)
    place = positions(value.shape, len(value.shape) - 1)
    halves: list[TileValue] = []
    for number in (0, 1):
        kept = semantic.where(semantic.compare(elementwise.eq, place, number), bits, nothing(bits))
        combine = reductions.one(lambda x, y: emit(elementwise.or_, x, y))
        halves.append(from_bits(reductions.reduce([kept], -1, combine)[0], value))
    return halves[0], halves[1]


def positions(shape: tuple[int, ...], axis: int) -> TileValue:
    """The index along an axis, as an i32 tile of a shape."""
    found = shapes.arange(0, shape[axis])
    for other in range(len(shape)):
        if other != axis:
            found = shapes.expand(found, other)
    return shapes.broadcast_to(found, shape)


def bits_dtype(value: TileValue) -> DType:
    """The signed integer dtype (or i1) that holds the bits of a value's elements."""
    if value.tile.is_pointer:
        return int64
    return int1 if value.element.kind == "bool" else DTYPES[f"i{value.element.bits}"]


def as_bits(value: TileValue) -> TileValue:
    if value.tile.is_pointer:
        return semantic.cast(value, int64)
    return semantic.cast(value, bits_dtype(value), bitcast=True)


def from_bits(bits: TileValue, like: TileValue) -> TileValue:
    if like.tile.is_pointer:
        return semantic.cast(bits, like.dtype)
    return semantic.cast(bits, like.element, bitcast=True)


def nothing(like: TileValue) -> TileValue:
    return shapes.broadcast_to(semantic.converted(0, like.element), like.shape)


@builtin
def cat(input: Any, other: Any, can_reorder: Any = False, dim: Any = 0) -> TileValue:
    """Two tiles of one shape, one after the other along an axis; `can_reorder` has no effect."""
    x, y = to_value(input), to_value(other)
    if not x.shape or x.tile.shape != y.tile.shape:
        raise fault("TT2001", what=f"cat takes two tiles of one shape, not {spell(x.tile)} and {spell(y.tile)}")
    rank = len(x.shape)
    axis = shapes.static_axis(dim, rank)
    order = (*range(axis), rank, *range(axis, rank))
    shape = (*x.shape[:axis], 2 * x.shape[axis], *x.shape[axis + 1 :])
    return shapes.reshape(shapes.permute(join(x, y), order), shapes.check_shape(shape))


@builtin
def interleave(a: Any, b: Any) -> TileValue:
    """The elements of two tiles in turns along the last axis."""
    joined = join(a, b)
    if len(joined.shape) == 1:
        return joined
    return shapes.reshape(joined, shapes.check_shape((*joined.shape[:-2], 2 * joined.shape[-2])))


@builtin
def squeeze(x: Any, dim: Any) -> TileValue:
    """Drop an axis of length 1."""
    value = to_value(x)
    axis = shapes.static_axis(dim, len(value.shape))
    if value.shape[axis] != 1:
        raise fault("TT2001", what=f"axis {axis} of {spell(value.tile)} has not length 1")
    rest = (*value.shape[:axis], *value.shape[axis + 1 :])
    return shapes.reshape(value, rest) if rest else reductions.reduce([value], 0, reductions.one(lambda a, b: a))[0]


@builtin
def unsqueeze(x: Any, dim: Any) -> TileValue:
    """Insert an axis of length 1; `dim` is its place in the result."""
    value = to_value(x)
    return shapes.expand(value, shapes.static_axis(dim, len(value.shape) + 1))


@builtin
def gather(src: Any, index: Any, axis: Any) -> TileValue:
    """The elements of `src` at the indices along an axis; other axes must agree. Indices wrap at the axis' length."""
    source, places = to_value(src), to_value(index)
    if places.tile.is_pointer or places.element.kind not in ("int", "uint"):
        raise fault("TT2001", what=f"the indices of gather are integers, not {spell(places.tile)}")
    return emit(collective.gather, source, places, axis=shapes.static_axis(axis, len(source.shape)))


@builtin
def flip(x: Any, dim: Any = None) -> TileValue:
    """The elements in opposite order along an axis (the last one by default)."""
    value = to_value(x)
    axis = shapes.static_axis(-1 if unwrap(dim) is None else dim, len(value.shape))
    back = semantic.sub(value.shape[axis] - 1, positions(value.shape, axis))
    return emit(collective.gather, value, back, axis=axis)


@builtin
def histogram(input: Any, num_bins: Any, mask: Any = None) -> TileValue:
    """How often each of ``0 ... num_bins - 1`` is among integers, as i32; others and masked-off ones do not count."""
    value = to_value(input)
    (bins,) = shapes.static_shape(num_bins)
    semantic.computable(elementwise.idiv, value)
    if len(value.shape) != 1:
        raise fault("TT2001", what=f"histogram takes a tile with one axis, not {spell(value.tile)}")
    chosen = None if unwrap(mask) is None else shapes.broadcast_to(semantic.truth(mask), value.shape)
    return emit(collective.histogram, value, chosen, bins=bins)


def along(x: TileValue, dim: Any) -> int:
    """An axis given as `dim`, the last one for None."""
    return shapes.static_axis(-1 if unwrap(dim) is None else static(dim, "an axis"), len(x.shape))


@builtin
def item(input: Any) -> TileValue:
    """The only element of a tile, as a scalar. Raises TT2001 where there are more."""
    value = to_value(input)
    if value.numel != 1:
        raise fault("TT2001", what=f"{value.numel} elements are not one")
    if not value.shape:
        return value
    return reductions.reduce([value], None, reductions.one(lambda a, b: a))[0]
