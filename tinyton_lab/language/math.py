"""The math functions under the name `tl.math`."""

from __future__ import annotations

from tinyton_lab.language.core import abs, ceil, div_rn, fdiv, floor, fma, sqrt, sqrt_rn, umulhi
from tinyton_lab.language.functions import cos, erf, exp, exp2, log, log2, rsqrt, sin, tanh

__all__ = [
    "abs", "ceil", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2", "rsqrt", "sin",
    "sqrt", "sqrt_rn", "tanh", "umulhi",
]  # fmt: skip
