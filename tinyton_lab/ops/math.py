"""Rows of math functions that no machine has exactly. `expand` spells the accurate one in simpler ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ops import error_function, exponential, logarithm, trigonometry
from tinyton_lab.ops.arithmetic import Arithmetic, spelled
from tinyton_lab.ops.elementwise import div
from tinyton_lab.ops.table import alike, row

FLOAT = ("float",)
LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453


def _approx(intrinsic: str, *overloads: str) -> Any:
    """A GPU's one-argument approximate instruction (f32 only)."""
    return lambda b, dtype, x: b.intrinsic(intrinsic, x, overloads=overloads)


def approx_exp2(b: Any, dtype: DType, x: Any) -> Any:
    return b.intrinsic("llvm.nvvm.ex2.approx", x, overloads=("float",))


def approx_exp(b: Any, dtype: DType, x: Any) -> Any:
    """e^x = 2^(x log2 e), by the special function unit."""
    return approx_exp2(b, dtype, b.binary("fmul", x, b.constant(dtype, LOG2_E, x)))


def approx_log(b: Any, dtype: DType, x: Any) -> Any:
    logarithm = b.intrinsic("llvm.nvvm.lg2.approx.f", x, overloads=())
    return b.binary("fmul", logarithm, b.constant(dtype, LN_2, x))


def approx_tanh(b: Any, dtype: DType, x: Any) -> Any:
    """No intrinsic has this instruction (sm_75 on)."""
    return b.emit(f'call {x.type} asm "tanh.approx.f32 $0, $1;", "=f,f"({x})', x.type)


def emit_sqrt(b: Any, dtype: DType, x: Any) -> Any:
    return b.intrinsic("llvm.sqrt", x)


def expand_rsqrt(a: Arithmetic, x: Any) -> Any:
    return a(div, 1.0, a(sqrt_rn, x))


def function(name: str, expand: Callable[..., Any], approx: Any = None, ulp: float = 2, doc: str = "") -> OpDef:
    """A row of one float argument whose definition is its spelling; `exact` keeps fast instructions away from it."""
    return row(
        name,
        "x",
        "exact=",
        infer=alike,
        accepts=FLOAT,
        elementwise=True,
        expand=expand,
        numpy=spelled(expand),
        approx=approx,
        ulp=ulp,
        example=f"tl.{name}(x)",
        doc=doc,
    )


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
rsqrt = function("rsqrt", expand_rsqrt, _approx("llvm.nvvm.rsqrt.approx.f"), doc="One over the square root.")
exp = function("exp", exponential.exp, approx_exp, doc="e to the power x; subnormal results are exact to the ulp.")
exp2 = function("exp2", exponential.exp2, approx_exp2, doc="2 to the power x; exact for integers.")
log = function("log", logarithm.log, approx_log, doc="Natural logarithm; -inf for 0, NaN below.")
log2 = function(
    "log2", logarithm.log2, _approx("llvm.nvvm.lg2.approx.f"), doc="Logarithm to base 2; exact for powers of two."
)
sin = function("sin", trigonometry.sin, _approx("llvm.nvvm.sin.approx.f"), doc="Sine of x in radians, however large.")
cos = function(
    "cos",
    trigonometry.cos,
    _approx("llvm.nvvm.cos.approx.f"),
    doc="Cosine of x in radians, however large.",
)
tanh = function("tanh", exponential.tanh, approx_tanh, doc="Hyperbolic tangent.")
erf = function("erf", error_function.erf, doc="Error function.")
