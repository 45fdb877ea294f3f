"""Rows of ops that say something to the compiler or the runtime and compute nothing: assertions on values, assumptions."""

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
