"""Rows of tiny-ton's shared memory: 32-bit slots of a program that its lanes write and read, and the wait between.

An element of a tile is a lane. `slots` is how many slots the access knows of; a program has the most that any access
names. `offset` is where they lie in a GPU's shared memory. Slots hold nothing when a program starts, and the same bits
whatever dtype they are read as.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops.table import row

SLOT_BYTES = 4


def infer_store(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    index, value, mask = types
    _check(index, mask)
    if index is None or value is None or value.shape != index.shape or value.dtype.bytes != SLOT_BYTES:
        raise Mismatch(f"cannot store {value} in the slots {index}")
    return ()


def infer_load(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    index, mask = types
    _check(index, mask)
    return (Tile(attrs["element"], index.shape if index is not None else ()),)


def infer_nothing(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    return ()


def _check(index: Tile | None, mask: Tile | None) -> None:
    if index is None or index.rank > 1 or index.dtype.kind not in ("int", "uint"):
        raise Mismatch(f"slots are numbered by integers, one per lane, not by {index}")
    if mask is not None and (mask.shape != index.shape or str(mask.element) != "i1"):
        raise Mismatch(f"the mask of an access of the slots {index} must be i1 of that shape, got {mask}")


shared_store = row(
    "shared_store",
    "index value mask?",
    "slots offset=",
    infer=infer_store,
    effect="control",
    layout="slots",
    example="tt.shared_store(lane, x)",
    doc="Write slots of the program's shared memory. No two lanes may write one slot without a `sync` between.",
)
shared_load = row(
    "shared_load",
    "index mask?",
    "element slots offset=",
    infer=infer_load,
    effect="read",
    layout="slots",
    example="tt.shared_load(lane)",
    doc="Read slots of the program's shared memory. What another lane wrote is there after a `sync`. Masked-off "
    "elements are not read; they are 0.",
)
sync = row(
    "sync",
    "",
    infer=infer_nothing,
    effect="control",
    layout="slots",
    example="tt.sync()",
    doc="Wait until every lane is here: then each sees what the others wrote to shared memory.",
)
ROWS = (shared_store, shared_load, sync)


def slots_of(function_ops: Sequence[Attrs]) -> int:
    """The slots that a program has, given the attributes of its accesses."""
    return max((attrs["slots"] for attrs in function_ops), default=0)
