"""Rows of ops that read or write global memory.

`pointer` is a tile of pointers, or, once pointers are split, one scalar pointer with `distance`, a tile of element
offsets.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops.table import ANY, row


def access_shape(pointer: Tile | None, distance: Tile | None) -> tuple[int, ...]:
    """The shape of an access: the distance's where pointers are split, else the pointer's."""
    if pointer is None or not pointer.is_pointer:
        raise Mismatch(f"a pointer is needed, got {pointer}")
    if distance is not None and pointer.shape:
        raise Mismatch(f"a split access has a scalar pointer, got {pointer}")
    return pointer.shape if distance is None else distance.shape


def infer_load(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    pointer, distance, mask, other = types
    shape = access_shape(pointer, distance)
    element = pointer.element if pointer is not None else None
    if not isinstance(element, Pointer):
        raise Mismatch(f"load needs a pointer, got {pointer}")
    loaded = Tile(element.element, shape)
    if mask is not None and (mask.shape != shape or str(mask.element) != "i1"):
        raise Mismatch(f"the mask of a load of {loaded} must be i1 of that shape, got {mask}")
    if other is not None and (other.shape, other.element) != (shape, loaded.element):
        raise Mismatch(f"`other` of a load of {loaded} must have that type, got {other}")
    return (loaded,)


def infer_store(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    pointer, value, distance, mask = types
    shape = access_shape(pointer, distance)
    element = pointer.element if pointer is not None else None
    if value is None or not isinstance(element, Pointer) or (value.shape, value.element) != (shape, element.element):
        raise Mismatch(f"cannot store {value} through {pointer}")
    if mask is not None and (mask.shape != shape or str(mask.element) != "i1"):
        raise Mismatch(f"the mask of this store must be i1 of shape {shape}, got {mask}")
    return ()


load = row(
    "load",
    "pointer distance? mask? other?",
    "cache= eviction= volatile= vector= run=",
    infer=infer_load,
    accepts=ANY,
    effect="read",
    layout="memory",
    example="tl.load(p + i, mask=m, other=0.0)",
    doc="Read global memory. Masked-off elements are not read; they are `other`, or 0.",
)
store = row(
    "store",
    "pointer value distance? mask?",
    "cache= eviction= vector= run=",
    infer=infer_store,
    accepts=ANY,
    effect="write",
    layout="memory",
    example="tl.store(p + i, x, mask=m)",
    doc="Write global memory. Masked-off elements are not written.",
)
