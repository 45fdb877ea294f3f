"""The interpreter engine: tile IR in numpy, from the op table; it defines what a kernel computes.

`machine` runs programs in batches and holds what most ops do; the other files are families of ops.
"""

from __future__ import annotations

from tinyton_lab.interpreter import atomics, collective, messages, poison, shared
from tinyton_lab.interpreter.machine import HANDLERS, Buffer, Frame, Interpreter, missing_rows, run

__all__ = [
    "HANDLERS",
    "Buffer",
    "Frame",
    "Interpreter",
    "atomics",
    "collective",
    "messages",
    "missing_rows",
    "poison",
    "run",
    "shared",
]
