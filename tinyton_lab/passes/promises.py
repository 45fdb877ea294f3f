"""What authors promise about values: which promises hold for a value, and a function without them."""

from __future__ import annotations

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.rewrite import Rewriter
from tinyton_lab.ops import contract, elementwise, shape
from tinyton_lab.passes.dce import dce
from tinyton_lab.passes.outcome import Options

ORDER = ("contiguity", "divisibility", "constancy")


def promises(function: Function) -> dict[Value, list[Op]]:
    """The promises about each value, runs first; one in a branch or loop says nothing about values around it."""
    found: dict[Value, list[Op]] = {}
    blocks = {op: block for block in _blocks(function) for op in block.ops}
    for op, block in blocks.items():
        value = op.operands[0] if op.row is contract.promise else None
        if value is None or (value.owner if isinstance(value.owner, Block) else blocks[value.owner]) is not block:
            continue
        found.setdefault(value, []).append(op)
        split = split_pointers(value)
        if split is not None:
            found.setdefault(split[1], []).append(op)
    for ops in found.values():
        ops.sort(key=lambda op: next(place for place, name in enumerate(ORDER) if name in op.attrs))
    return found


def split_pointers(pointers: Value) -> tuple[Value, Value] | None:
    """The pointer and the distances from it that a tile of pointers is made of; the distances have its runs."""
    made = pointers.op
    if made is None or made.row is not elementwise.offset or made.operands[0] is None or made.operands[1] is None:
        return None
    base = made.operands[0].op
    if base is None or base.row is not shape.splat or base.operands[0] is None:
        return None
    return base.operands[0], made.operands[1]


def _blocks(function: Function) -> list[Block]:
    return [function.body, *(block for op in function.walk() for block in op.blocks)]


def without_promises(function: Function) -> Function:
    """The function as code is made from it: promises are gone, and what only they needed."""
    if all(op.row is not contract.promise for op in function.walk()):
        return function
    bare = Rewriter(function).run(lambda rewriter, op: () if op.row is contract.promise else None)
    return dce(bare, Options()).function
