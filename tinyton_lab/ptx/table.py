"""The complete instruction table: importing this module fills `ROWS` from every family."""

from __future__ import annotations

from tinyton_lab.ptx import (
    isa_control,
    isa_convert,
    isa_float,
    isa_integer,
    isa_logic,
    isa_memory,
    isa_warp,
)
from tinyton_lab.ptx.isa import ROWS

FAMILIES = (isa_integer, isa_float, isa_logic, isa_convert, isa_memory, isa_control, isa_warp)
__all__ = ["FAMILIES", "ROWS"]
