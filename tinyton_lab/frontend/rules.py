"""Where the dialects differ in reading a kernel: what operators mean and what a name takes on when assigned."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.language import semantic
from tinyton_lab.language.emission import is_number, to_value
from tinyton_lab.language.semantic import BINARY, COMPARE
from tinyton_lab.language.structure import remade
from tinyton_lab.language.value import TileValue

Binary = Callable[[Any, Any], TileValue]


@dataclass(frozen=True, slots=True)
class Rules:
    """How one dialect reads a kernel.

    `binary`, `compare`, `unary` are the operators on values of the kernel; `assigned` makes the value that a name
    gets; `unroll` says whether a loop of so many known turns of a body is unrolled; `widens` lets a loop-carried scalar
    become a tile; `constant` are operators that differ from Python's at compile time.
    """

    dialect: str
    binary: Mapping[type[ast.operator], Binary]
    compare: Mapping[type[ast.cmpop], Binary]
    unary: Mapping[type[ast.unaryop], Callable[[Any], TileValue]]
    assigned: Callable[[Any], Any]
    unroll: Callable[[int, ast.AST], bool]
    widens: bool = False
    constant: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = field(default_factory=dict)


def comparison(name: str) -> Binary:
    return lambda x, y: semantic.compare(COMPARE[name], x, y)


def typed(value: Any) -> Any:
    """A number that gets a name becomes a scalar of the kernel with a dtype; its value stays known."""
    if isinstance(value, tuple):
        return remade(value, [typed(item) for item in value])
    return to_value(value) if is_number(value) else value


OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
TRITON = Rules(
    "triton",
    {operator: BINARY[name] for operator, name in OPERATORS.items()},
    {operator: comparison(name) for operator, name in COMPARISONS.items()},
    {
        ast.USub: semantic.neg,
        ast.UAdd: to_value,
        ast.Invert: semantic.invert,
        ast.Not: semantic.logical_not,
    },
    typed,
    unroll=lambda turns, body: False,
)
