"""Rows of ops in which elements of a tile look at each other: gather, scan, histogram; and `map` over scalars."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.base.dtypes import int32
from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops.table import ANY, row


def infer_gather(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    source, index = types
    axis = attrs["axis"]
    if source is None or index is None or source.rank != index.rank or not 0 <= axis < source.rank:
        raise Mismatch(f"cannot gather {source} by {index} along axis {axis}")
    if index.is_pointer or index.dtype.kind not in ("int", "uint"):
        raise Mismatch(f"the indices of a gather are integers, not {index}")
    if any(n != m for at, (n, m) in enumerate(zip(source.shape, index.shape)) if at != axis):
        raise Mismatch(f"{source} and {index} differ along another axis than {axis}")
    return (Tile(source.element, index.shape),)


def infer_scan(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    axis = attrs["axis"]
    known = [x for x in types if x is not None]
    if len({x.shape for x in known}) != 1 or not 0 <= axis < known[0].rank:
        raise Mismatch(f"cannot scan {', '.join(map(str, types))} along axis {axis}")
    return tuple(known)


def infer_histogram(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    x, mask = types
    if x is None or x.rank != 1 or x.is_pointer or x.dtype.kind not in ("int", "uint"):
        raise Mismatch(f"a histogram is of a tile of integers with one axis, not of {x}")
    if mask is not None and (mask.shape != x.shape or str(mask.element) != "i1"):
        raise Mismatch(f"the mask of a histogram of {x} must be i1 of that shape, got {mask}")
    return (Tile(int32, (attrs["bins"],)),)


gather = row(
    "gather",
    "source index",
    "axis",
    infer=infer_gather,
    accepts=ANY,
    layout="gather",
    example="tl.gather(x, i, axis=0)",
    doc="The elements of the source at the indices, along an axis; the other axes stay. Indices wrap at the length.",
)
scan = row(
    "scan",
    "*inputs",
    "axis reverse",
    infer=infer_scan,
    regions=1,
    layout="scan",
    example="tl.cumsum(x, 0)",
    doc="Along an axis, combine each element with all before it (after it, in reverse). The block takes the result so "
    "far and the next element of each input, and yields one of each; it must be associative. In order, except on GPUs.",
)
histogram = row(
    "histogram",
    "x mask?",
    "bins",
    infer=infer_histogram,
    layout="histogram",
    example="tl.histogram(x, 64)",
    doc="How often each of 0, 1, ..., bins - 1 is among the elements, as i32; other numbers are not counted.",
)
map_ = row(
    "map",
    "*inputs",
    regions=1,
    layout="same",
    example="tl.map_elementwise(f, x, y)",
    doc="Run a block of scalars for each element; it may branch and loop, but not access memory.",
)
