"""Functions of the device library that the language has too: here as exact as stated whatever `math` says."""

from __future__ import annotations

from typing import Any

from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.emission import emit, to_value
from tinyton_lab.language.semantic import computable, float_function
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import OPS


def _exact(name: str, x: Any) -> TileValue:
    value = to_value(x)
    computable(OPS[name], value)
    return emit(OPS[name], value, exact=True)


@builtin
def exp(x: Any) -> TileValue:
    """e to the power of a float."""
    return _exact("exp", x)


@builtin
def exp2(x: Any) -> TileValue:
    """2 to the power of a float."""
    return _exact("exp2", x)


@builtin
def log(x: Any) -> TileValue:
    """Natural logarithm of a float; NaN below 0, -inf at 0."""
    return _exact("log", x)


@builtin
def log2(x: Any) -> TileValue:
    """Logarithm to base 2 of a float; NaN below 0, -inf at 0."""
    return _exact("log2", x)


@builtin
def rsqrt(x: Any) -> TileValue:
    """Inverse of the square root of a float."""
    return _exact("rsqrt", x)


@builtin
def sin(x: Any) -> TileValue:
    """Sine of an angle in radians."""
    return _exact("sin", x)


@builtin
def cos(x: Any) -> TileValue:
    """Cosine of an angle in radians."""
    return _exact("cos", x)


@builtin
def tanh(x: Any) -> TileValue:
    """Hyperbolic tangent of a float."""
    return _exact("tanh", x)


@builtin
def sqrt(x: Any) -> TileValue:
    """Square root of a float, correctly rounded."""
    return float_function(OPS["sqrt_rn"], x)
