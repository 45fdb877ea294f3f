"""Table T5: every op of the tile IR, one row each, one file per family. `OPS` maps name to row."""

from __future__ import annotations

from tinyton_lab.ops import (
    assembly,
    atomic,
    collective,
    contract,
    control,
    elementwise,
    local,
    math,
    memory,
    message,
    product,
    program,
    reduction,
    shape,
    shared,
)
from tinyton_lab.ops.table import OPS

__all__ = [
    "OPS",
    "assembly",
    "atomic",
    "collective",
    "contract",
    "control",
    "elementwise",
    "local",
    "math",
    "memory",
    "message",
    "product",
    "program",
    "reduction",
    "shape",
    "shared",
]
