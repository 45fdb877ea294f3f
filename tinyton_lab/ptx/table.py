"""The complete instruction table: importing this module fills `ROWS` from every family."""

from __future__ import annotations

from tinyton_lab.ptx import (
    isa_async,
    isa_control,
    isa_convert,
    isa_float,
    isa_group,
    isa_integer,
    isa_logic,
    isa_matrix,
    isa_memory,
    isa_warp,
)
from tinyton_lab.ptx.isa import ROWS

FAMILIES = (
    isa_integer,
    isa_float,
    isa_logic,
    isa_convert,
    isa_memory,
    isa_control,
    isa_warp,
    isa_matrix,
    isa_async,
    isa_group,
)
__all__ = ["FAMILIES", "ROWS"]
