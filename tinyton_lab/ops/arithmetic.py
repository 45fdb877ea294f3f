"""The arithmetic that math functions are spelled in: each call is one op of the table. Here on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tinyton_lab.base.dtypes import DTYPES, DType
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ops.casts import compute_dtype, numpy_dtype
from tinyton_lab.ops.elementwise import bitcast, fma, shl

Number = float | int


class Arithmetic(Protocol):
    """Calls apply rows of the op table; Python numbers are constants of the other operands' dtype.

    A spelling written against it gives numpy arrays or IR ops, and so the same bits on every engine.
    """

    def __call__(self, row: OpDef, *operands: Any, **attrs: Any) -> Any: ...
    def constant(self, number: Number, like: Any) -> Any: ...
    def dtype(self, value: Any) -> DType: ...


class NumpyArithmetic:
    """Arithmetic on arrays, by the rows' numpy columns.

    >>> from tinyton_lab.ops import elementwise
    >>> NumpyArithmetic()(elementwise.add, np.array([1.5], np.float32), 2)
    array([3.5], dtype=float32)
    """

    def __call__(self, row: OpDef, *operands: Any, **attrs: Any) -> Any:
        like = next(x for x in reversed(operands) if isinstance(x, np.ndarray))
        arrays = [x if isinstance(x, np.ndarray) else self.constant(x, like) for x in operands]
        if row.numpy is None:
            raise RuntimeError(f"{row.name} has no numpy column")
        return row.numpy(*arrays, **attrs)

    def constant(self, number: Number, like: Any) -> Any:
        return np.array([number]).astype(like.dtype)

    def dtype(self, value: Any) -> DType:
        return numpy_dtype(value)


def spelled(expand: Callable[..., Any]) -> Callable[..., Any]:
    """The numpy column of a function that is spelled: narrow floats compute in f32 and round once."""

    def numpy(*arrays: Any, exact: bool | None = None) -> Any:
        dtype = numpy_dtype(arrays[0])
        wide = compute_dtype(dtype)
        with np.errstate(all="ignore"):
            inputs = [np.atleast_1d(np.asarray(x)).astype(wide.numpy) for x in arrays]
            return expand(NumpyArithmetic(), *inputs).astype(dtype.numpy).reshape(np.shape(arrays[0]))

    return numpy


def polynomial(a: Arithmetic, x: Any, coefficients: Sequence[float]) -> Any:
    """``c0 + c1 x + c2 x^2 ...`` by Horner's rule, one fused step each."""
    *rest, last = coefficients
    value: Any = last
    for coefficient in reversed(rest):
        value = a(fma, value, x, coefficient)
    return value


def integer_of(a: Arithmetic, x: Any) -> DType:
    """The signed integer dtype as wide as `x`."""
    return DTYPES[f"i{a.dtype(x).bits}"]


def bits_of(a: Arithmetic, x: Any) -> Any:
    """The bits of a float as a signed integer."""
    return a(bitcast, x, to=integer_of(a, x))


def float_of(a: Arithmetic, bits: Any, dtype: DType) -> Any:
    return a(bitcast, bits, to=dtype)


def power_from(a: Arithmetic, biased: Any) -> Any:
    """``2^h`` from a float whose lowest bits are h plus the exponent bias: shift them to where an exponent stands."""
    dtype = a.dtype(biased)
    return float_of(a, a(shl, bits_of(a, biased), dtype.mantissa_bits), dtype)
