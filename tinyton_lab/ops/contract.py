"""Rows of ops that tell the compiler something and compute nothing."""

from __future__ import annotations

from tinyton_lab.ops.table import row

assume = row(
    "assume",
    "condition",
    accepts=("bool",),
    effect="control",
    example="tl.assume(n > 0)",
    doc="Promise that a scalar condition holds; analyses may use it.",
)

promise = row(
    "promise",
    "x",
    "contiguity= divisibility= constancy=",
    accepts=("bool", "int", "uint", "float", "pointer"),
    effect="control",
    example="tl.max_contiguous(tl.multiple_of(x, 16), 16)",
    doc="Promise facts along each axis of a value, as the pass axis_info states them; analyses may use them.",
)
