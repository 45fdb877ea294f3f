"""Rows of ops that multiply matrices, and the order in which their sums are taken. Knows no machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DType, float16, float32, float64, int8, int32
from tinyton_lab.base.floats import fma
from tinyton_lab.ir.definition import Attrs, Mismatch
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops.casts import cast_numpy
from tinyton_lab.ops.table import row

PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")


def product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of a product of matrices, or of batches of them; None where the shapes do not fit."""
    if len(a) != len(b) or len(a) not in (2, 3) or a[:-2] != b[:-2] or a[-1] != b[-2]:
        return None
    return (*a[:-1], b[-1])


def product_dtypes(dtype: DType) -> tuple[DType, ...]:
    """The dtypes that a product of matrices of `dtype` may have, the usual one first; none where it has no product."""
    if dtype.kind == "float":
        return (float64,) if dtype is float64 else (float32, float16) if _may_be_half(dtype) else (float32,)
    return (int32,) if dtype is int8 else ()


def _may_be_half(dtype: DType) -> bool:
    return dtype is float16 or dtype.bits == 8


def accumulator(out: DType) -> DType:
    """The dtype in which the sums of a product are kept: f32 also where the result is f16."""
    return float32 if out is float16 else out


def infer_dot(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    a, b, acc = types
    if a is None or b is None or a.is_pointer or b.is_pointer:
        raise Mismatch(f"dot takes two matrices, got {a} and {b}")
    shape = product_shape(a.shape, b.shape)
    eights = a.element != b.element and all(t.dtype.kind == "float" and t.dtype.bits == 8 for t in (a, b))
    if shape is None or not (a.element == b.element or eights):
        raise Mismatch(f"{a} and {b} have no product")
    result = Tile(attrs["out"], shape)
    if attrs["out"] not in product_dtypes(a.dtype) or (acc is not None and acc != result):
        raise Mismatch(f"the product of {a} and {b} is not added to {acc} to give {result}")
    return (result,)


def dot_numpy(a: Any, b: Any, acc: Any = None, *, out: DType, **ignored: Any) -> Any:
    """``acc + a @ b`` over the last two axes: for k = 0, 1, ... one fused multiply-add in the accumulator's dtype.

    >>> dot_numpy(np.ones((1, 2, 4), np.float32), np.ones((1, 4, 2), np.float32), out=float32).tolist()
    [[[4.0, 4.0], [4.0, 4.0]]]
    """
    if out.kind != "float":
        return _whole_numbers(a, b, acc, out)
    wide = accumulator(out)
    x, y = (operand.astype(wide.numpy) for operand in (a, b))
    total = np.zeros((*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]), wide.numpy)
    if acc is not None:
        total = acc.astype(wide.numpy)
    for k in range(x.shape[-1]):
        total = fma(x[..., :, k, None], y[..., None, k, :], total)
    return cast_numpy(total, to=out)


def _whole_numbers(a: Any, b: Any, acc: Any, out: DType) -> Any:
    """Sums of products of small integers: exact in f64; wrapping at the end is the same as wrapping throughout."""
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
    total = exact if acc is None else exact + acc
    return total.astype(out.numpy)


dot = row(
    "dot",
    "a b acc?",
    "out input_precision= max_num_imprecise_acc=",
    infer=infer_dot,
    accepts=("int", "float"),
    numpy=dot_numpy,
    layout="dot",
    unsupported={"gpu": "products of matrices have no GPU code yet"},
    example="tl.dot(a, b, acc)",
    doc="Product of two matrices, or of two batches of them, added to `acc` (or to 0). Each element starts from its "
    "accumulator and takes in k = 0, 1, 2, ... by one fused multiply-add each, in the dtype of the accumulator: f64 "
    "for f64, i32 (which wraps) for i8, f32 for all others, rounded at the end to an f16 result. That order is the "
    "same on the interpreter and the CPU, bit for bit, whatever `input_precision` allows a GPU to round first.",
)
