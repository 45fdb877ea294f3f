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
