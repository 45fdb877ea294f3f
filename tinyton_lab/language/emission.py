"""From values to ops: emit one op through the emitter at work, fold known scalars, turn Python numbers into values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.dtypes import DType, float32, float64, int1, integer_range, of_python_int
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.base.source import Span
from tinyton_lab.ir.definition import Mismatch, OpDef
from tinyton_lab.ir.types import Tile
from tinyton_lab.language.value import TileValue, emitter, make
from tinyton_lab.ops import shape

# Exact on scalars of these widths whatever the engine, so that folding changes no bit.
_FOLDED = frozenset(
    "add sub mul idiv mod neg abs max min and or xor shl shr lshr eq ne lt le gt ge select cast floor ceil".split()
)
_FOLDED_TYPES = frozenset("i1 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64".split())


def here() -> Span | None:
    """The place in the kernel that is at work."""
    return emitter().span


def fault(code: str, **fields: Any) -> TinytonError:
    """The located exception of a fault at the place at work."""
    return error(code, here(), **fields)


def emit(row: OpDef, *operands: TileValue | None, **attrs: Any) -> TileValue:
    """Carry out a one-result op. Raises TT2001 where the operands do not fit its row."""
    if row.name in _FOLDED:
        known = _fold(row, operands, attrs)
        if known is not None:
            return known
    at_work = emitter()
    try:
        handle = at_work.value(row, [None if x is None else x.handle for x in operands], attrs)
    except Mismatch as mismatch:
        raise error("TT2001", at_work.span, what=str(mismatch)) from None
    return make(handle.type, handle)


def effect(row: OpDef, *operands: TileValue | None, **attrs: Any) -> None:
    """Carry out an op without a result."""
    at_work = emitter()
    try:
        at_work.effect(row, [None if x is None else x.handle for x in operands], attrs)
    except Mismatch as mismatch:
        raise error("TT2001", at_work.span, what=str(mismatch)) from None


def _fold(row: OpDef, operands: tuple[TileValue | None, ...], attrs: dict[str, Any]) -> TileValue | None:
    """The known result of an op on known scalars, or None."""
    types: list[Tile | None] = []
    for x in operands:
        if x is None or x.known is None or str(x.tile.element) not in _FOLDED_TYPES:
            return None
        types.append(x.tile)
    if row.infer is None or row.numpy is None:
        return None
    (tile,) = row.infer(types, attrs)
    if str(tile.element) not in _FOLDED_TYPES:
        return None
    arrays = [np.asarray(x.known, x.element.numpy) for x in operands if x is not None]
    with np.errstate(all="ignore"):
        return make(tile, known=np.asarray(row.numpy(*arrays, **attrs)).item())


# Python numbers
Number = int | float | bool


def unwrap(value: Any) -> Any:
    """The plain Python value of a constexpr or a numpy scalar; anything else as it is."""
    if isinstance(value, Constexpr):
        value = value.value
    return value.item() if isinstance(value, np.generic) else value


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def number_dtype(value: Number) -> DType:
    """The dtype of a Python number: bool i1, int by value, float f32 where its range suffices. Raises TT2004."""
    if isinstance(value, bool):
        return int1
    if isinstance(value, int):
        dtype = of_python_int(value)
        if dtype is None:
            raise fault("TT2004", value=value, type="any integer dtype", low=-(2**63), high=2**64 - 1)
        return dtype
    magnitude = abs(value)
    fits = magnitude == 0 or magnitude != magnitude or magnitude == float("inf")
    return float32 if fits or 2.0**-126 <= magnitude <= (2 - 2.0**-23) * 2.0**127 else float64


def number(value: Number, dtype: DType) -> TileValue:
    """A known scalar of a dtype. Raises TT2004 where an integer dtype cannot hold the value."""
    if dtype.kind == "float":
        return make(Tile(dtype), known=float(value))
    if dtype.kind == "bool":
        return make(Tile(dtype), known=bool(value))
    low, high = integer_range(dtype)
    if not (value == value and low <= value <= high) or int(value) != value:
        raise fault("TT2004", value=value, type=dtype.public, low=low, high=high)
    return make(Tile(dtype), known=int(value))


def to_value(x: Any) -> TileValue:
    """A value of a Python number, or the value itself. Raises TT2005 for anything else."""
    if isinstance(x, TileValue):
        return x
    plain = unwrap(x)
    if is_number(plain):
        return number(plain, number_dtype(plain))
    raise fault("TT2005", what=f"{describe(plain)} is no number and no tile")


def describe(value: Any) -> str:
    """Say what a compile-time value is, for messages."""
    if value is None:
        return "None"
    if isinstance(value, (str, int, float, tuple)):
        return repr(value)
    return f"the {type(value).__name__} {getattr(value, '__name__', '')}".strip()


def static(value: Any, what: str) -> Any:
    """The compile-time value of an argument that must have one. Raises TT1006 naming `what`."""
    value = unwrap(value)
    if isinstance(value, TileValue):
        if value.known is None:
            raise fault("TT1006", what=what)
        return value.known
    if isinstance(value, (tuple, list)):
        return tuple(static(item, what) for item in value)
    return value


def static_int(value: Any, what: str) -> int:
    """The compile-time integer of an argument. Raises TT1006 or TT2006."""
    found = static(value, what)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if not isinstance(found, int):
        raise fault("TT2005", what=f"{what} must be an integer, not {describe(found)}")
    return int(found)


def constant_tile(value: Any, tile: Tile) -> TileValue:
    """A tile with the same known value in every element."""
    return emit(shape.constant, value=value, type=tile) if tile.shape else make(tile, known=value)
