"""Builtins that access memory undivided: other programs see all of an element's change, or none of it."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.language import memory, semantic
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.emission import emit, fault, unwrap
from tinyton_lab.language.shapes import broadcast, broadcast_to
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import atomic as ops

INTEGERS = frozenset(("i32", "u32", "i64", "u64"))
TAKES: dict[str, frozenset[str]] = {
    "add": INTEGERS | {"f16", "bf16", "f32", "f64"},
    "max": INTEGERS | {"f32", "f64"},
    "min": INTEGERS | {"f32", "f64"},
    "and": INTEGERS,
    "or": INTEGERS,
    "xor": INTEGERS,
    "exchange": INTEGERS | {"i16", "u16", "f16", "bf16", "f32", "f64"},
    "compare_exchange": INTEGERS | {"i16", "u16", "f16", "bf16", "f32", "f64"},
}
"""The dtypes that each kind of access takes."""


@builtin
def atomic_add(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> TileValue:
    """Add to elements of memory and give what they were; masked-off ones are left alone and give 0."""
    return update("add", pointer, val, mask, sem, scope)


@builtin
def atomic_max(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> TileValue:
    """Raise elements of memory to a value and give what they were; masked-off ones are left alone and give 0."""
    return update("max", pointer, val, mask, sem, scope)


@builtin
def atomic_min(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> TileValue:
    """Lower elements of memory to a value and give what they were; masked-off ones are left alone and give 0."""
    return update("min", pointer, val, mask, sem, scope)


@builtin
def atomic_and(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> TileValue:
    """Take the bitwise and with elements of memory and give what they were."""
    return update("and", pointer, val, mask, sem, scope)


@builtin
def atomic_or(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> TileValue:
    """Take the bitwise or with elements of memory and give what they were."""
    return update("or", pointer, val, mask, sem, scope)


@builtin
def atomic_xor(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> TileValue:
    """Take the exclusive or with elements of memory and give what they were."""
    return update("xor", pointer, val, mask, sem, scope)


@builtin
def atomic_xchg(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> TileValue:
    """Replace elements of memory and give what they were; masked-off ones are left alone and give 0."""
    return update("exchange", pointer, val, mask, sem, scope)


@builtin
def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> TileValue:
    """Replace elements of memory that equal `cmp` bit for bit, and give what they were."""
    where, element = _target("compare_exchange", pointer)
    where, expected = broadcast(where, _converted(cmp, element, where, "expected element"))
    value = broadcast_to(_converted(val, element, where, "value"), where.shape)
    return emit(ops.compare_exchange, where, broadcast_to(expected, where.shape), value, **_order(sem, scope))


@builtin
def atomic_load(pointer: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> TileValue:
    """Read elements of memory, each undivided; masked-off ones are left alone and give 0."""
    _, element = memory.pointers(pointer)
    # Neither changes any value: x | 0 is x, and so is x + -0.0.
    kind, nothing = ("add", -0.0) if element.element.kind == "float" else ("or", 0)
    return update(kind, pointer, nothing, mask, sem, scope)


@builtin
def atomic_store(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> None:
    """Write elements of memory, each undivided; masked-off ones are left alone."""
    update("exchange", pointer, val, mask, sem, scope)


def update(kind: str, pointer: Any, value: Any, mask: Any, sem: Any, scope: Any) -> TileValue:
    """An atomic access of one kind. Raises TT2013 for a dtype it does not take, TT2020 for an unknown order."""
    where, element = _target(kind, pointer)
    where, stored = broadcast(where, _converted(value, element, where, "value"))
    attrs = {"kind": kind, **_order(sem, scope)}
    if unwrap(mask) is None:
        return emit(ops.atomic, where, stored, **attrs)
    test = semantic.truth(mask)
    memory.check_mask(where, test, "mask")
    where, test = broadcast(where, test)
    return emit(ops.atomic, where, broadcast_to(stored, where.shape), None, test, **attrs)


def _target(kind: str, pointer: Any) -> tuple[TileValue, DType]:
    where, element = memory.pointers(pointer)
    if element.element.name not in TAKES[kind]:
        kinds = ", ".join(sorted(TAKES[kind]))
        raise fault("TT2013", op=f"an atomic {kind}", type=spell(where.tile), kinds=f"pointers to {kinds}")
    return where, element.element


def _converted(value: Any, dtype: DType, where: TileValue, role: str) -> TileValue:
    stored = semantic.cast(value, dtype)
    memory.check_mask(where, stored, role)
    return stored


def _order(sem: Any, scope: Any) -> dict[str, str]:
    """The attributes for memory order and scope; the defaults are ``acq_rel`` and ``gpu``. Raises TT2020."""
    order, reach = unwrap(sem) or "acq_rel", unwrap(scope) or "gpu"
    for word, known in ((order, ops.ORDERS), (reach, ops.SCOPES)):
        if word not in known:
            raise fault("TT2020", word=word, known=", ".join(repr(each) for each in known))
    return {"order": order, "scope": reach}
