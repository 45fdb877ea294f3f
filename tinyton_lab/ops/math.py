"""Rows of math functions that no machine has exactly. `expand` spells the accurate one in simpler ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ops.table import alike, row

FLOAT = ("float",)


def _approx(intrinsic: str) -> Any:
    """A GPU's one-argument approximate instruction (f32 only)."""
    return lambda b, dtype, x: b.intrinsic(intrinsic, x, overloads=())


def approx_exp(b: Any, dtype: DType, x: Any) -> Any:
    """e^x = 2^(x log2 e), by the special function unit."""
    scaled = b.binary("fmul", x, b.constant(dtype, 1.4426950408889634, x))
    return b.intrinsic("llvm.nvvm.ex2.approx", scaled, overloads=("float",))


def emit_sqrt(b: Any, dtype: DType, x: Any) -> Any:
    return b.intrinsic("llvm.sqrt", x)


sqrt_rn = row(
    "sqrt_rn",
    "x",
    infer=alike,
    accepts=FLOAT,
    elementwise=True,
    emit=emit_sqrt,
    numpy=np.sqrt,
    example="tl.sqrt_rn(x)",
    doc="Square root, correctly rounded always.",
)
sqrt = row(
    "sqrt",
    "x",
    infer=alike,
    accepts=FLOAT,
    elementwise=True,
    emit=emit_sqrt,
    numpy=np.sqrt,
    approx=_approx("llvm.nvvm.sqrt.approx.f"),
    example="tl.sqrt(x)",
    doc="Square root: correctly rounded; with fast instructions within 1 ulp (f32).",
)
