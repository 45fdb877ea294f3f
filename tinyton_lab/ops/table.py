"""How a row enters the op table, and the inference rules that many rows share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyton_lab.base.dtypes import int1
from tinyton_lab.ir.definition import Attrs, Mismatch, OpDef, attributes, roles
from tinyton_lab.ir.types import Tile

OPS: dict[str, OpDef] = {}
NUMBERS = ("int", "uint", "float")
INTEGERS = ("bool", "int", "uint")
ANY = ("bool", "int", "uint", "float", "pointer")


def row(name: str, operands: str, attrs: str = "", **columns: Any) -> OpDef:
    """Add a row: ``row("add", "x y", doc=...)``; operands and attributes in their short forms."""
    if name in OPS:
        raise ValueError(f"the op {name!r} is in the table already")
    OPS[name] = OpDef(name, roles(operands), attributes(attrs), **columns)
    return OPS[name]


def alike(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    """All operands have one type, which is the result's."""
    return (_one_type(types),)


def predicate(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    """All operands have one type; the result is i1 of that shape."""
    return (_one_type(types).with_element(int1),)


def _one_type(types: Sequence[Tile | None]) -> Tile:
    first = types[0]
    if first is None or any(t != first for t in types):
        raise Mismatch(f"the operands differ: {' and '.join(map(str, types))}")
    return first


def stated(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    """The result type is the attribute ``type``."""
    return (attrs["type"],)
