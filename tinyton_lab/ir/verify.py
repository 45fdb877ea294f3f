"""Check a function against what a level of the IR allows. A failure is a fault of the lab, never of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.ir.build import element_kind
from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.definition import Mismatch


@dataclass(frozen=True, slots=True)
class Level:
    """What is legal at one level: `allowed` op names (empty: all), and whether tiles carry layouts."""

    name: str
    allowed: frozenset[str] = frozenset()
    layouts: bool = False


TILE = Level("tile")
LAYOUT = Level("layout", layouts=True)


def verify(function: Function, level: Level = TILE) -> None:
    """Raise TT9002 at the first op that breaks a rule: undefined operand, wrong type, missing terminator, layout."""
    _verify_block(function.body, set(function.body.args), level, needs_terminator=False)


def _verify_block(block: Block, visible: set[Value], level: Level, needs_terminator: bool) -> None:
    inner = visible | set(block.args)
    for index, op in enumerate(block.ops):
        for value in op.inputs:
            if value not in inner:
                raise _fault(op, f"uses %{value.name} where it is not defined")
        _verify_op(op, level)
        if op.row.terminator and index + 1 < len(block.ops):
            raise _fault(op, "stands before the end of its block")
        for region in op.blocks:
            _verify_block(region, inner, level, needs_terminator=True)
        inner.update(op.results)
    if needs_terminator and not (block.ops and block.terminator.row.terminator):
        raise error("TT9002", what="a block ends without a terminator")


def _verify_op(op: Op, level: Level) -> None:
    if level.allowed and op.row.name not in level.allowed:
        raise _fault(op, f"is not legal in {level.name} IR")
    for value in op.inputs:
        if element_kind(value.type) not in op.row.accepts:
            raise _fault(op, f"does not take {value.type}")
    for result in op.results:
        if level.layouts and result.type.shape and result.type.layout is None:
            raise _fault(op, "has a result without a layout")
    if len(op.blocks) != op.row.regions:
        raise _fault(op, f"has {len(op.blocks)} blocks, not {op.row.regions}")
    if op.row.infer is not None and not level.layouts:
        try:
            expected = op.row.infer([None if v is None else v.type for v in op.operands], op.attrs)
        except Mismatch as mismatch:
            raise _fault(op, str(mismatch)) from None
        if expected != tuple(result.type for result in op.results):
            raise _fault(op, f"should have type {', '.join(map(str, expected))}")


def _fault(op: Op, what: str) -> TinytonError:
    return error("TT9002", op.span, what=f"{op.row.name} #{op.uid} {what}")
