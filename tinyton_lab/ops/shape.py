"""Rows of ops that make tiles or move elements without computing: constants, ranges, splat, broadcast, reshape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tinyton_lab.base.dtypes import int32
from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops.table import ANY, row, stated


def infer_range(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    return (Tile(int32, (attrs["end"] - attrs["start"],)),)


def infer_splat(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    (x,) = types
    if x is None or x.shape:
        raise Mismatch(f"splat takes a scalar, got {x}")
    return (x.with_shape(attrs["shape"]),)


def infer_expand(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    (x,) = types
    axis = attrs["axis"]
    if x is None or not 0 <= axis <= x.rank:
        raise Mismatch(f"cannot insert axis {axis} into {x}")
    return (x.with_shape((*x.shape[:axis], 1, *x.shape[axis:])),)


def infer_broadcast(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    (x,) = types
    shape = attrs["shape"]
    if x is None or x.rank != len(shape) or any(n not in (1, m) for n, m in zip(x.shape, shape, strict=True)):
        raise Mismatch(f"{x} does not broadcast to {shape}")
    return (x.with_shape(shape),)


def infer_reshape(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    (x,) = types
    if x is None or prod(attrs["shape"]) != x.elements:
        raise Mismatch(f"{x} does not reshape to {attrs['shape']}")
    return (x.with_shape(attrs["shape"]),)


def infer_transpose(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    (x,) = types
    order = attrs["order"]
    if x is None or sorted(order) != list(range(x.rank)):
        raise Mismatch(f"{order} is no permutation of the axes of {x}")
    return (x.with_shape(tuple(x.shape[axis] for axis in order)),)


constant = row(
    "constant",
    "",
    "value type",
    infer=stated,
    layout="free",
    example="tl.full((128,), 1.0, tl.float32)",
    doc="A compile-time value, a scalar or the same in every element of a tile.",
)
range_ = row(
    "range",
    "",
    "start end",
    infer=infer_range,
    layout="free",
    example="tl.arange(0, 128)",
    doc="The integers start, start + 1, ..., end - 1 as i32.",
)
splat = row(
    "splat", "x", "shape", infer=infer_splat, accepts=ANY, layout="free", doc="A scalar in every element of a tile."
)
expand = row(
    "expand",
    "x",
    "axis",
    infer=infer_expand,
    accepts=ANY,
    layout="expand",
    example="x[:, None]",
    doc="Insert an axis of length 1.",
)
broadcast = row(
    "broadcast",
    "x",
    "shape",
    infer=infer_broadcast,
    accepts=ANY,
    layout="broadcast",
    example="tl.broadcast_to(x, (16, 64))",
    doc="Repeat along the axes of length 1.",
)
reshape = row(
    "reshape",
    "x",
    "shape",
    infer=infer_reshape,
    accepts=ANY,
    layout="reshape",
    example="tl.reshape(x, (16, 8))",
    doc="The same elements in row-major order under another shape.",
)
transpose = row(
    "transpose",
    "x",
    "order",
    infer=infer_transpose,
    accepts=ANY,
    layout="transpose",
    example="tl.trans(x)",
    doc="Permute the axes.",
)
