"""Rows of PTX that a kernel's author writes: it runs where PTX does."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops.table import ANY, row

_OTHERS = dict.fromkeys(("cpu", "interpreter"), "it is written in PTX")


def infer_assembly(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    shapes = {x.shape for x in types if x is not None} or {()}
    if len(shapes) > 1:
        raise Mismatch(f"the operands of inline assembly differ in shape: {' and '.join(map(str, types))}")
    return tuple(Tile(element, shape) for shape in shapes for element in attrs["to"])


assembly = row(
    "assembly",
    "*inputs",
    "text constraints to pack",
    infer=infer_assembly,
    accepts=ANY,
    layout="same",
    unsupported=_OTHERS,
    example='tl.inline_asm_elementwise("brev.b32 $0, $1;", "=r,r", [x], tl.int32, True, 1)',
    doc="Run PTX on `pack` elements at a time; elements of less than 32 bits travel packed in 32-bit registers.",
)
assembly_with_effects = row(
    "assembly_with_effects",
    "*inputs",
    "text constraints to pack",
    infer=infer_assembly,
    accepts=ANY,
    effect="control",
    layout="same",
    unsupported=_OTHERS,
    example='tl.inline_asm_elementwise("mov.u32 $0, %clock;", "=r", [], tl.int32, False, 1)',
    doc="The same, for PTX that does more than compute its results: it is neither dropped nor merged.",
)
