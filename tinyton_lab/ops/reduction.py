"""Rows of ops that combine elements along an axis. The combination is a block: an associative function of two sets."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.ir.core import Op
from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops.table import row


def infer_reduce(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    axis = attrs["axis"]
    results: list[Tile] = []
    for x in types:
        if x is None or not 0 <= axis < x.rank or (results and types[0] is not None and x.shape != types[0].shape):
            raise Mismatch(f"cannot reduce {', '.join(map(str, types))} along axis {axis}")
        results.append(Tile(x.element, (*x.shape[:axis], *x.shape[axis + 1 :])))
    return tuple(results)


def combiner(op: Op) -> str | None:
    """The name of the one op that a reduction combines with (``add``, ``max`` ...), or None for anything else."""
    (block,) = op.blocks
    if len(block.ops) != 2 or len(block.args) != 2:
        return None
    only, end = block.ops
    combines = list(only.operands) == block.args and list(end.operands) == list(only.results)
    return only.row.name if combines and only.row.elementwise else None


def commutes(op: Op) -> bool:
    """Whether a reduction may take its elements in any order: its one op commutes, or whoever wrote it says so."""
    (block,) = op.blocks
    if op.attrs.get("commutes") or len(block.ops) != 2 or len(block.args) != 2:
        return bool(op.attrs.get("commutes"))
    only, end = block.ops
    combines = list(only.operands) in (block.args, block.args[::-1]) and list(end.operands) == list(only.results)
    return combines and only.row.elementwise and "commutative" in only.row.laws


reduce = row(
    "reduce",
    "*inputs",
    "axis commutes= scratch=",
    infer=infer_reduce,
    regions=1,
    layout="reduce",
    example="tl.sum(x, axis=0)",
    doc="Combine all elements along an axis. The block takes two elements of each input and yields one of each; "
    "it must be associative. Elements keep their order; where the block is one commutative op, or `commutes`, engines "
    "may take another. The tree is the same on every run but not on every engine.",
)
