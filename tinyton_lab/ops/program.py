"""Rows of ops that ask which program this is."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.base.dtypes import int32
from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops.table import row


def infer_axis(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    if attrs["axis"] not in (0, 1, 2):
        raise Mismatch(f"a grid has the axes 0, 1 and 2, not {attrs['axis']}")
    return (Tile(int32),)


program_id = row(
    "program_id",
    "",
    "axis",
    infer=infer_axis,
    layout="free",
    example="tl.program_id(0)",
    doc="Index of this program along an axis of the grid.",
)
num_programs = row(
    "num_programs",
    "",
    "axis",
    infer=infer_axis,
    layout="free",
    example="tl.num_programs(0)",
    doc="Number of programs along an axis of the grid.",
)
