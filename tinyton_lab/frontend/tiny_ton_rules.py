"""How tiny-ton's dialect reads a kernel: the meaning of its operators, where they differ from Triton's.

Integers divide toward zero with ``/`` and ``//`` alike, ``>>`` shifts in zeros, and a comparison that meets arithmetic
counts as the integer 0 or 1. Numbers stay weak when they get a name, and compute as the values of a kernel do: whether
a loop is unrolled changes no result.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tinyton_lab.base.dtypes import int1, int32
from tinyton_lab.frontend.rules import OPERATORS, TRITON, Binary, Rules
from tinyton_lab.language import core, semantic
from tinyton_lab.language.emission import emit, here
from tinyton_lab.language.semantic import BINARY
from tinyton_lab.language.value import TileValue, emitter
from tinyton_lab.ops import elementwise as ops

UNROLLED_NODES = 4096  # of the syntax tree, in all turns together


def widened(x: Any) -> Any:
    """An operand of arithmetic: a condition counts as 0 or 1."""
    return semantic.convert(x, int32) if isinstance(x, TileValue) and x.tile.element is int1 else x


def arithmetic(function: Binary) -> Binary:
    return lambda x, y: function(widened(x), widened(y))


def divide(x: Any, y: Any) -> TileValue:
    """Quotient in the common dtype: of integers toward zero."""
    a, b = semantic.promoted(x, y)
    return emit(ops.div if a.element.kind == "float" else ops.idiv, a, b)


def divide_down(x: Any, y: Any) -> TileValue:
    """``//``: of integers toward zero, of floats rounded down."""
    quotient = divide(x, y)
    return core.floor(quotient) if quotient.element.kind == "float" else quotient


def remainder(x: Any, y: Any) -> TileValue:
    """Remainder with the sign of the dividend."""
    return semantic.binary(ops.mod, x, y)


def shift_right(x: Any, y: Any) -> TileValue:
    """Shift right, zeros coming in whatever the sign."""
    return semantic.shift(ops.lshr, widened(x), y)


def divide_numbers(x: Any, y: Any) -> Any:
    """``/`` at compile time: of integers toward zero, too."""
    if isinstance(x, int) and isinstance(y, int):
        return -(-x // y) if (x < 0) != (y < 0) else x // y
    return operator.truediv(x, y)


def divide_down_numbers(x: Any, y: Any) -> Any:
    """``//`` at compile time."""
    return divide_numbers(x, y) if isinstance(x, int) and isinstance(y, int) else x // y


def remainder_of_numbers(x: Any, y: Any) -> Any:
    """``%`` at compile time: of integers with the sign of the dividend, too."""
    return x - divide_numbers(x, y) * y if isinstance(x, int) and isinstance(y, int) else x % y


def shift_number_right(x: Any, y: Any) -> Any:
    """``>>`` at compile time: zeros come into a negative integer from the width that it has in a kernel."""
    if not isinstance(x, int) or x >= 0 or y <= 0:
        return x >> y
    return x % (1 << (32 if x >= -(1 << 31) else 64)) >> y


def unrolled(turns: int, body: ast.AST) -> bool:
    """Whether a loop of so many known turns is unrolled: all of it together stays small. A remark says where not."""
    small = turns * sum(1 for _ in ast.walk(body)) <= UNROLLED_NODES
    if not small:
        emitter().remark("TT1038", here())
    return small


_OWN: Mapping[type[ast.operator], Binary] = {
    ast.Div: arithmetic(divide),
    ast.FloorDiv: arithmetic(divide_down),
    ast.Mod: arithmetic(remainder),
    ast.RShift: shift_right,
}
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_BINARY: dict[type[ast.operator], Binary] = {
    kind: _OWN.get(kind) or (BINARY[name] if kind in _BITWISE else arithmetic(BINARY[name]))
    for kind, name in OPERATORS.items()
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], TileValue]] = {
    **TRITON.unary,
    ast.USub: lambda x: semantic.neg(widened(x)),
}
TINY_TON = Rules(
    "tiny_ton",
    _BINARY,
    TRITON.compare,
    _UNARY,
    assigned=lambda value: value,
    unroll=unrolled,
    widens=True,
    constant={
        ast.Div: divide_numbers,
        ast.FloorDiv: divide_down_numbers,
        ast.Mod: remainder_of_numbers,
        ast.RShift: shift_number_right,
    },
)
DIALECTS: dict[str, Rules] = {rules.dialect: rules for rules in (TRITON, TINY_TON)}
"""How each dialect reads a kernel; which one a kernel speaks is a property of its decorator."""
