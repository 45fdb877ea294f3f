"""Rows of atomic accesses of global memory, and the table of what they combine with."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.ir.definition import Attrs, Mismatch, OpDef
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import elementwise
from tinyton_lab.ops.memory import access_shape
from tinyton_lab.ops.table import ANY, row

COMBINES: dict[str, OpDef | None] = {
    "add": elementwise.add,
    "max": elementwise.max_,
    "min": elementwise.min_,
    "and": elementwise.and_,
    "or": elementwise.or_,
    "xor": elementwise.xor,
    "exchange": None,
}
"""What an atomic writes: the old element combined with the value by this row; None: the value."""

ORDERS = ("acquire", "release", "acq_rel", "relaxed")
SCOPES = ("gpu", "cta", "sys")


def infer_atomic(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    pointer, value, distance, mask = types
    return (_accessed(pointer, distance, value, mask),)


def infer_compare_exchange(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    pointer, expected, value, distance = types
    if expected != value:
        raise Mismatch(f"the element expected and the new one differ: {expected} and {value}")
    return (_accessed(pointer, distance, value, None),)


def _accessed(pointer: Tile | None, distance: Tile | None, value: Tile | None, mask: Tile | None) -> Tile:
    shape = access_shape(pointer, distance)
    element = pointer.element if pointer is not None else None
    if not isinstance(element, Pointer) or value is None or (value.shape, value.element) != (shape, element.element):
        raise Mismatch(f"an atomic access through {pointer} does not take {value}")
    if mask is not None and (mask.shape != shape or str(mask.element) != "i1"):
        raise Mismatch(f"the mask of an atomic access must be i1 of shape {shape}, got {mask}")
    return Tile(element.element, shape)


atomic = row(
    "atomic",
    "pointer value distance? mask?",
    "kind order= scope=",
    infer=infer_atomic,
    accepts=ANY,
    effect="atomic",
    layout="memory",
    example="tl.atomic_add(p + i, x, mask=m)",
    doc="Combine elements of memory with a value, undivided, and give what they were. Masked-off elements are left "
    "alone and give 0. Elements of one tile that share a place follow each other, on the CPU in row-major order.",
)
compare_exchange = row(
    "compare_exchange",
    "pointer expected value distance?",
    "order= scope=",
    infer=infer_compare_exchange,
    accepts=ANY,
    effect="atomic",
    layout="memory",
    example="tl.atomic_cas(p, 0, 1)",
    doc="Write the value where memory holds what is expected (bit for bit), undivided, and give what it held.",
)
