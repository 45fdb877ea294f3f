"""What the native engine can run: asked for every op ahead, so that no code generator meets the unknown."""

from __future__ import annotations

from tinyton_lab.codegen.cpu import arithmetic
from tinyton_lab.codegen.cpu.clusters import ATOMIC, LANEWISE, MESSAGES, REGIONS
from tinyton_lab.codegen.cpu.schedule import VIEWS
from tinyton_lab.ir.core import Function, Op
from tinyton_lab.ops import collective, contract, elementwise, memory, product, program, reduction, shape, shared
from tinyton_lab.ops.support import refused

STRUCTURED = (
    *REGIONS,
    *LANEWISE,
    *ATOMIC,
    *MESSAGES,
    *shared.ROWS,
    *VIEWS,
    shape.constant,
    shape.range_,
    shape.reshape,
    program.program_id,
    program.num_programs,
    memory.load,
    memory.store,
    reduction.reduce,
    product.dot,
    contract.assume,
)
COMBINING = (reduction.reduce, collective.scan)


def check(function: Function) -> None:
    """Raise TT5012, located, for the first op that this engine has no code for."""
    for op in function.walk():
        reason = refusal(op)
        if reason:
            raise refused(op, "cpu", "the engine cpu", reason)


def refusal(op: Op) -> str:
    """Why an op has no native code; "" where it has."""
    if "cpu" in op.row.unsupported:
        return op.row.unsupported["cpu"]
    if op.row in COMBINING and any(not _combines(inner) for inner in op.blocks[0].ops):
        return "its combining function has branches, loops or accesses"
    if op.row in STRUCTURED or op.row.terminator:
        return ""
    if not op.row.elementwise:
        return "this operation has no native code yet"
    if op.row.emit is None and op.row not in arithmetic.SPECIAL and op.row is not elementwise.select:
        return "this function has no native code of its own"
    return ""


def _combines(op: Op) -> bool:
    return op.row.elementwise or op.row.terminator or op.row is shape.constant
