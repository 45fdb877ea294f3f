"""Math functions of the language: one per row of the op table, which holds their definition and accuracy."""

from __future__ import annotations

from typing import Any

from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.semantic import float_function
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import OPS


@builtin
def exp(x: Any) -> TileValue:
    """e to the power of a float."""
    return float_function(OPS["exp"], x)


@builtin
def exp2(x: Any) -> TileValue:
    """2 to the power of a float."""
    return float_function(OPS["exp2"], x)


@builtin
def log(x: Any) -> TileValue:
    """Natural logarithm of a float; NaN below 0, -inf at 0."""
    return float_function(OPS["log"], x)


@builtin
def log2(x: Any) -> TileValue:
    """Logarithm to base 2 of a float; NaN below 0, -inf at 0."""
    return float_function(OPS["log2"], x)


@builtin
def rsqrt(x: Any) -> TileValue:
    """Inverse of the square root of a float."""
    return float_function(OPS["rsqrt"], x)


@builtin
def sin(x: Any) -> TileValue:
    """Sine of an angle in radians."""
    return float_function(OPS["sin"], x)


@builtin
def cos(x: Any) -> TileValue:
    """Cosine of an angle in radians."""
    return float_function(OPS["cos"], x)


@builtin
def tanh(x: Any) -> TileValue:
    """Hyperbolic tangent of a float."""
    return float_function(OPS["tanh"], x)


@builtin
def erf(x: Any) -> TileValue:
    """Error function of a float."""
    return float_function(OPS["erf"], x)
