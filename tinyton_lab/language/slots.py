"""What tiny-ton's shared memory means: how many slots there are, what they keep, and what a load reads from them."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DType, float32, int32
from tinyton_lab.language import semantic, shapes
from tinyton_lab.language.core import static_dtype
from tinyton_lab.language.emission import effect, emit, fault, here, static_int, to_value, unwrap
from tinyton_lab.language.value import TileValue, emitter
from tinyton_lab.ops import shared as ops

SLOTS, KEPT, READ, UNSEEN = "slots", "kept in slots", "read from slots", "stored since the last sync"


def kept(dtype: DType) -> DType:
    """The dtype that a slot keeps a value as. Raises TT2032 for one of 64 bits."""
    wide = float32 if dtype.kind == "float" and dtype.bits < 32 else semantic.widened(dtype)
    wide = int32 if wide.kind == "bool" else wide
    if wide.bytes != ops.SLOT_BYTES:
        raise fault("TT2032", type=dtype.public)
    return wide


def store(index: Any, value: Any, mask: TileValue | None, lanes: int, buffer_size: Any) -> None:
    """Write slots; a uniform value goes to every slot named."""
    stored = to_value(value)
    stored = semantic.convert(stored, kept(stored.element))
    where = number_of(index)
    shape = lane_shape(where, stored, mask)
    known: set[DType] = emitter().memory.setdefault(KEPT, set())
    known.add(stored.element)
    assumed = emitter().memory.get(READ)
    if assumed is not None and assumed is not stored.element:
        raise _several(known | {assumed})
    emitter().memory.setdefault(UNSEEN, []).append(unwrap(index))
    parts = (spread(where, shape), spread(stored, shape), spread(mask, shape))
    effect(ops.shared_store, *parts, slots=slots(lanes, buffer_size))


def load(index: Any, mask: TileValue | None, lanes: int, buffer_size: Any, dtype: Any) -> TileValue:
    """Read slots as a dtype, by default what the kernel keeps there."""
    wanted = assumed() if unwrap(dtype) is None else static_dtype(dtype)
    where = number_of(index)
    shape = lane_shape(where, mask)
    if any(stored is not unwrap(index) for stored in emitter().memory.get(UNSEEN, [])):
        emitter().remark("TT1036", here())
    parts = (spread(where, shape), spread(mask, shape))
    found = emit(ops.shared_load, *parts, element=kept(wanted), slots=slots(lanes, buffer_size))
    return semantic.convert(found, wanted)


def sync() -> None:
    """Let every lane see what the others stored."""
    emitter().memory.pop(UNSEEN, None)
    effect(ops.sync)


def slots(lanes: int, buffer_size: Any) -> int:
    """How many slots an access knows of: as many as it or one before it says, else one per lane."""
    stated = lanes if unwrap(buffer_size) is None else static_int(buffer_size, "buffer_size")
    if stated < 1:
        raise fault("TT2005", what=f"buffer_size is a number of slots, at least 1, not {stated}")
    memory = emitter().memory
    memory[SLOTS] = max(memory.get(SLOTS, 0), stated)
    return memory[SLOTS]


def assumed() -> DType:
    """The one dtype that slots keep here; float32 before anything is stored. Raises TT2033 where they are several."""
    memory = emitter().memory
    known: set[DType] = memory.get(KEPT, set())
    if len(known) > 1:
        raise _several(known)
    memory[READ] = next(iter(known), float32)
    return memory[READ]


def _several(dtypes: set[DType]) -> Exception:
    return fault("TT2033", types=" and ".join(sorted(dtype.public for dtype in dtypes)))


def number_of(index: Any) -> TileValue:
    """A slot's number as an integer of at least 32 bits. Raises TT2005 for anything but an integer."""
    found = to_value(index)
    if found.tile.is_pointer or found.element.kind not in ("int", "uint"):
        raise fault("TT2005", what="a slot of shared memory is numbered by an integer")
    return semantic.convert(found, semantic.widened(found.element))


def lane_shape(*parts: TileValue | None) -> tuple[int, ...]:
    """The shape of what varies by lane among these; that of a scalar where nothing does."""
    return next((x.shape for x in parts if x is not None and x.shape), ())


def spread(x: TileValue | None, shape: tuple[int, ...]) -> TileValue | None:
    """A value in every lane."""
    return shapes.broadcast_to(x, shape) if x is not None and shape else x
