"""The native CPU engine's code generator: `compile` turns a function of tile IR into an LLVM module.

`clusters` decides what is computed where, `schedule` and `blueprint` what a nest needs, `nests` writes loops of
vectors, `memory`, `extents`, `arithmetic`, `narrow` and `reductions` what is in them, `regions` control flow, `module`
the frame around.
"""

from __future__ import annotations

from tinyton_lab.codegen.cpu.module import compile

__all__ = ["compile"]
