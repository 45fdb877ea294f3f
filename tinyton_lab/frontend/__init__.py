"""The front end: a kernel's Python source to tile IR. It knows what constructs mean, and no engine."""

from __future__ import annotations

from tinyton_lab.frontend.signature import ArgumentType, Constant, Runtime

__all__ = ["ArgumentType", "Constant", "Runtime"]
