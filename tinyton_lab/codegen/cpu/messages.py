"""Printing and checking, element by element: lines go through a function of the launcher, a failed check is a fault."""

from __future__ import annotations

from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.codegen.cpu.extents import Extents
from tinyton_lab.codegen.cpu.lanes import Lanes
from tinyton_lab.ir.core import Op
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import message
from tinyton_lab.runtime import frame


def emit(lanes: Lanes, extents: Extents, op: Op) -> None:
    """Write a `print` or a `check`."""
    value = next(op.inputs, None)
    b = lanes.code
    if op.row is message.check and not lanes.values.checked:
        return
    if value is None or not value.type.shape:
        _element(lanes, extents, op, b.i64(0))
        return
    with b.loop(b.i64(0), b.i64(value.type.elements), 1) as at:
        _element(lanes, extents, op, at)


def _element(lanes: Lanes, extents: Extents, op: Op, at: Register) -> None:
    b, value = lanes.code, next(op.inputs, None)
    element = None if value is None else lanes.get(value, at)
    if op.row is message.check and element is not None:
        extents.fail_unless(op, element)
        return
    bits = b.i64(0) if element is None else _bits(b, element)
    function = b.job_slot(frame.PRINT, "ptr")
    job, uid = Register("%job", "ptr"), b.i64(op.uid)
    b.effect(f"call void {function.text}({job}, {uid}, i64 %program, {at}, {bits})")


def _bits(b: Code, x: Register) -> Register:
    """The bits of an element, as i64."""
    wide = {"float": "i32", "double": "i64"}.get(x.type)
    raw = x if wide is None else b.convert("bitcast", x, wide)
    return raw if raw.type == "i64" else b.convert("zext", raw, "i64")
