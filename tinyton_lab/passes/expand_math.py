"""Spell math functions in simpler ops, the same on every engine. Knows no function: rows bring their own spelling."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Function, Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.rewrite import Rewriter
from tinyton_lab.ops import elementwise
from tinyton_lab.ops.casts import compute_dtype
from tinyton_lab.passes.constants import make_constant
from tinyton_lab.passes.outcome import Options, Outcome


def expand_math(function: Function, options: Options) -> Outcome:
    """Expand every op whose row has a spelling; with ``approx`` mathematics keep those the GPU has an instruction for.

    Narrow floats compute in f32 and round once.
    """
    facts: list[tuple[int, str]] = []

    def rule(rewriter: Rewriter, op: Op) -> Value | None:
        if op.row.expand is None or op.result.type.is_pointer:
            return None
        if options.math == "approx" and has_instruction(op):
            facts.append((op.uid, f"{op.row.name} stays: the target's fast instruction computes it"))
            return None
        return _expanded(rewriter.builder, op)

    rewriter = Rewriter(function)
    return Outcome(rewriter.run(rule), tuple(rewriter.misses), tuple(facts))


def has_instruction(op: Op) -> bool:
    """Whether fast instructions may compute this op: they are of f32."""
    return not op.attrs.get("exact") and op.row.approx is not None and compute_dtype(op.result.type.dtype).name == "f32"


def _expanded(builder: Builder, op: Op) -> Value:
    if op.row.expand is None:
        raise RuntimeError(f"expand_math: {op.row.name} has no spelling")
    dtype = op.result.type.dtype
    wide = compute_dtype(dtype)
    inputs: list[Any] = list(op.inputs)
    if wide is not dtype:
        inputs = [builder.value(elementwise.cast, x, to=wide, rounding=None) for x in inputs]
    result = op.row.expand(IrArithmetic(builder), *inputs)
    return result if wide is dtype else builder.value(elementwise.cast, result, to=dtype, rounding=None)


class IrArithmetic:
    """Arithmetic on IR values: each call is one op; Python numbers are constants of the other operands' type."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.constants: dict[Any, Value] = {}

    def __call__(self, row: OpDef, *operands: Value | float | int, **attrs: Any) -> Value:
        like = next(operand for operand in reversed(operands) if isinstance(operand, Value))
        values = [x if isinstance(x, Value) else self.constant(x, like) for x in operands]
        return self.builder.value(row, *values, **attrs)

    def constant(self, number: float | int, like: Value) -> Value:
        key = (repr(number), like.type)
        if key not in self.constants:
            self.constants[key] = make_constant(self.builder, like.type, number)
        return self.constants[key]

    def dtype(self, value: Value) -> DType:
        return value.type.dtype
