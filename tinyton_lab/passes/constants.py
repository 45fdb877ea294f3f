"""Constants in tile IR: read one, make one, evaluate an op on them. Knows arithmetic only through the numpy column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DType, integer_range
from tinyton_lab.base.floats import narrowed
from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Value
from tinyton_lab.ir.definition import Attrs, OpDef
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops import shape

Scalar = bool | int | float


def constant_of(value: Value | None) -> Scalar | None:
    """The number that every element of `value` is, when it is a `constant` op's; else None."""
    op = None if value is None else value.op
    return op.attrs["value"] if op is not None and op.row is shape.constant else None


def uniform_source(value: Value | None) -> Value | None:
    """The scalar that fills the tile, when `value` is a splat."""
    op = None if value is None else value.op
    return op.operands[0] if op is not None and op.row is shape.splat else None


def make_constant(builder: Builder, type: Tile, number: Scalar) -> Value:
    return builder.value(shape.constant, value=number, type=type)


def as_scalar(builder: Builder, value: Value) -> Value:
    """The one element of a splat or constant tile as a scalar."""
    source = uniform_source(value)
    if source is not None:
        return source
    number = constant_of(value)
    if number is None:
        raise RuntimeError(f"simplify: %{value.name} is not uniform")
    return make_constant(builder, value.type.with_shape(()), number)


def to_numpy(number: Scalar, dtype: DType) -> Any:
    """A number as an array of one element of `dtype`; integers wrap."""
    if dtype.kind in ("int", "uint"):
        return np.array([int(number) & ((1 << dtype.bits) - 1)], np.dtype(f"u{dtype.bytes}")).view(dtype.numpy)
    return narrowed([number], dtype.numpy) if dtype.kind == "float" else np.array([number], np.bool_)


def from_numpy(array: Any, dtype: DType) -> Scalar:
    """The number in an array of one element, as the attribute of a `constant` holds it."""
    (element,) = array
    return {"bool": bool, "float": float}.get(dtype.kind, int)(element)


def evaluate(row: OpDef, operands: Sequence[Value | None], attrs: Attrs, type: Tile) -> Scalar | None:
    """The number an elementwise op on constants gives in every element, by its numpy column; None when unknown."""
    if row.numpy is None or type.is_pointer:
        return None
    arrays: list[Any] = []
    for operand in operands:
        number = constant_of(operand)
        if number is None or operand is None or operand.type.is_pointer:
            return None
        arrays.append(to_numpy(number, operand.type.dtype))
    with np.errstate(all="ignore"):
        return from_numpy(row.numpy(*arrays, **attrs), type.dtype)


def same_number(number: Scalar | None, wanted: int, dtype: DType) -> bool:
    """Whether a constant is the integer `wanted` in `dtype` (-1 is all ones), sign of zero included."""
    if number is None:
        return False
    if dtype.kind == "float":
        return number == wanted and np.signbit(number) == (wanted < 0)
    if dtype.kind == "bool":
        return bool(number) == (wanted != 0)
    return int(number) == (integer_range(dtype)[1] if wanted == -1 and dtype.kind == "uint" else wanted)
