"""Tile IR to layout IR, LLVM, PTX and machine code for NVIDIA GPUs."""

from __future__ import annotations

from tinyton_lab.codegen.gpu.compile import GpuCode, compile

__all__ = ["GpuCode", "compile"]
