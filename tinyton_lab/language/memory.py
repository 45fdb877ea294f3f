"""What loads and stores mean: shapes of pointer, mask and value, and the dtype that goes through."""

from __future__ import annotations

from typing import Any

from tinyton_lab.ir.types import Pointer
from tinyton_lab.language.emission import describe, effect, emit, fault, to_value, unwrap
from tinyton_lab.language.semantic import cast, truth
from tinyton_lab.language.shapes import broadcast, broadcast_to
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import memory as ops

CACHES = {"load": ("", ".ca", ".cg", ".cv"), "store": ("", ".wb", ".cg", ".cs", ".wt")}
EVICTIONS = ("", "evict_first", "evict_last", "evict_normal")


def pointers(x: Any) -> tuple[TileValue, Pointer]:
    """A pointer operand and what it points to. Raises TT2018."""
    x = unwrap(x)
    if not isinstance(x, TileValue) or not isinstance(x.tile.element, Pointer):
        raise fault("TT2018", what=spell(x.tile) if isinstance(x, TileValue) else describe(x))
    return x, x.tile.element


def check_mask(pointer: TileValue, value: TileValue, role: str) -> None:
    """A scalar pointer takes a scalar mask, `other` and value. Raises TT2019."""
    if not pointer.shape and value.shape:
        raise fault("TT2019", role=role, x=spell(value.tile))


def hints(access: str, cache: Any, eviction: Any, volatile: Any = False) -> dict[str, Any]:
    """The attributes of an access that hint at caching. Raises TT2020 for unknown words."""
    cache, eviction = unwrap(cache), unwrap(eviction)
    if cache not in CACHES[access]:
        raise fault("TT2020", word=cache, known=", ".join(repr(word) for word in CACHES[access]))
    if eviction not in EVICTIONS:
        raise fault("TT2020", word=eviction, known=", ".join(repr(word) for word in EVICTIONS))
    found = {"cache": cache or None, "eviction": eviction or None, "volatile": True if unwrap(volatile) else None}
    return {name: word for name, word in found.items() if word is not None}


def load(pointer: Any, mask: Any, other: Any, attrs: dict[str, Any]) -> TileValue:
    """Read memory; masked-off elements are `other`, or 0. Raises TT2021 for `other` without a mask."""
    where, element = pointers(pointer)
    mask, other = unwrap(mask), unwrap(other)
    if mask is None:
        if other is not None:
            raise fault("TT2021")
        return emit(ops.load, where, **attrs)
    test = truth(mask)
    check_mask(where, test, "mask")
    where, test = broadcast(where, test)
    if other is None:
        return emit(ops.load, where, None, test, **attrs)
    instead = cast(other, element.element)
    check_mask(where, instead, "`other`")
    return emit(ops.load, where, None, test, broadcast_to(instead, where.shape), **attrs)


def store(pointer: Any, value: Any, mask: Any, attrs: dict[str, Any]) -> None:
    """Write memory; masked-off elements are not written."""
    where, element = pointers(pointer)
    stored = cast(to_value(value), element.element)
    check_mask(where, stored, "value")
    where, stored = broadcast(where, stored)
    mask = unwrap(mask)
    if mask is None:
        effect(ops.store, where, stored, **attrs)
        return
    test = truth(mask)
    check_mask(where, test, "mask")
    effect(ops.store, where, stored, None, broadcast_to(test, where.shape), **attrs)
