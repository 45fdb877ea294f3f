"""Rows of structured control flow. Result types are stated by the builder: they are those of the values carried."""

from __future__ import annotations

from tinyton_lab.ops.table import ANY, row

for_ = row(
    "for",
    "lower upper step *inits",
    regions=1,
    accepts=ANY,
    effect="control",
    layout="control",
    example="for i in range(0, n, 4): ...",
    doc="Run the block with the index (its first argument) from lower, by step, while index < upper (> for a "
    "negative step). The other arguments are carried; the block yields their next values. A zero step runs nothing.",
)
while_ = row(
    "while",
    "*inits",
    regions=2,
    accepts=ANY,
    effect="control",
    layout="control",
    example="while i < n: ...",
    doc="The first block takes the carried values and ends with `condition`; while that holds, the second takes "
    "what `condition` passes and yields the next carried values. Results are what the last `condition` passed.",
)
if_ = row(
    "if",
    "condition",
    regions=2,
    accepts=ANY,
    effect="control",
    layout="control",
    example="if n > 0: ...",
    doc="Run the first block where the scalar condition holds, else the second; results are what it yields.",
)
yield_ = row(
    "yield",
    "*values",
    accepts=ANY,
    terminator=True,
    effect="control",
    layout="control",
    doc="End a block, giving its values to the op that holds it.",
)
condition = row(
    "condition",
    "test *values",
    accepts=ANY,
    terminator=True,
    effect="control",
    layout="control",
    doc="End the first block of a `while`: go on if the test holds; the values are passed on.",
)
