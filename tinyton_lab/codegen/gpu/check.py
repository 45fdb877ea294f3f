"""What a GPU target can compile: asked for every op before code is generated, so that LLVM never meets the unknown."""

from __future__ import annotations

from tinyton_lab.base.dtypes import DType, float32
from tinyton_lab.base.targets import Target
from tinyton_lab.codegen.gpu.lower import LOWERINGS
from tinyton_lab.ir.core import Function, Op
from tinyton_lab.ops import collective, control, elementwise, shape
from tinyton_lab.ops.casts import compute_dtype
from tinyton_lab.ops.support import refused


def check(function: Function, target: Target) -> None:
    """Raise TT5012, located, for the first op of tile IR that `target` has no code for."""
    for op in function.walk():
        reason = refusal(op, function.attrs.get("math") == "approx")
        if reason:
            raise refused(op, "gpu", str(target), reason)


def refusal(op: Op, fast: bool) -> str:
    """Why an op has no GPU code; "" where it has."""
    if "gpu" in op.row.unsupported:
        return op.row.unsupported["gpu"]
    if op.row is collective.scan:
        plain = all(inner.row.elementwise or inner.row in _BLOCK for inner in op.blocks[0].ops)
        return "" if plain else "its combining function has branches, loops or accesses"
    if op.row in LOWERINGS or op.row in _SPELLED or op.row.terminator:
        return ""
    if not op.row.elementwise:
        return "this operation has no GPU code yet"
    dtypes = [value.type.element for value in (*op.inputs, *op.results) if isinstance(value.type.element, DType)]
    if any(dtype.storage_only for dtype in dtypes) and op.row not in STORED:
        return "this element type can be loaded and stored, not computed with"
    if op.row.emit is None and op.row not in ADDRESSES and not (fast and _has_instruction(op)):
        return "this function has no GPU code of its own"
    return ""


_SPELLED = (collective.gather, collective.histogram)  # the layout passes turn them into accesses of shared memory
_BLOCK = (shape.constant, control.yield_)


def _has_instruction(op: Op) -> bool:
    """Whether fast instructions compute the op: they are of f32."""
    return op.row.approx is not None and compute_dtype(op.result.type.dtype) is float32


STORED = (elementwise.bitcast, elementwise.select, elementwise.cast)
ADDRESSES = (
    elementwise.offset,
    elementwise.pointer_to_int,
    elementwise.int_to_pointer,
    elementwise.pointer_cast,
)
