"""Rows that exist in layout IR only: movement between layouts, shared memory, barriers. Types are stated, not inferred.

`local_alloc` gives a piece of shared memory; its tile type's layout maps element offsets to the tile.
"""

from __future__ import annotations

from tinyton_lab.ops.table import ANY, row

_OTHERS = dict.fromkeys(("cpu", "interpreter"), "it exists in layout IR only")

convert_layout = row(
    "convert_layout",
    "x",
    accepts=ANY,
    layout="convert",
    unsupported=_OTHERS,
    doc="The same tile in another layout: registers renumbered, or elements moved between lanes and warps.",
)
local_alloc = row(
    "local_alloc",
    "",
    "offset= bytes=",
    accepts=ANY,
    effect="control",
    layout="local",
    unsupported=_OTHERS,
    doc="A piece of shared memory that holds one tile, `offset` bytes from the start.",
)
local_store = row(
    "local_store",
    "memory value",
    accepts=ANY,
    effect="control",
    layout="local",
    unsupported=_OTHERS,
    doc="Write a tile to shared memory.",
)
local_load = row(
    "local_load",
    "memory",
    accepts=ANY,
    effect="control",
    layout="local",
    unsupported=_OTHERS,
    doc="Read a tile from shared memory.",
)
local_gather = row(
    "local_gather",
    "memory index",
    "axis",
    accepts=ANY,
    effect="control",
    layout="local",
    unsupported=_OTHERS,
    doc="Read elements of a tile in shared memory, at indices along an axis that wrap at its length.",
)
local_count = row(
    "local_count",
    "memory x mask?",
    accepts=ANY,
    effect="control",
    layout="local",
    unsupported=_OTHERS,
    doc="Add 1 to the counter in shared memory that each element numbers, where there is one.",
)
barrier = row(
    "barrier",
    "",
    effect="control",
    layout="local",
    unsupported=_OTHERS,
    doc="Wait until every thread of the program is here and its memory accesses are seen by the others.",
)
