"""Eager mode: a kernel's Python body runs line by line on numpy tiles, under a debugger if you like.

The operators and builtins are those of the language, carried out by the interpreter's definition of each op.
"""

from __future__ import annotations

from tinyton_lab.eager.run import active, run

__all__ = ["active", "run"]
