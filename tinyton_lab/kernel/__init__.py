"""`@jit`: bind arguments, specialise, cache, launch. It knows engines by name only; how they run is below."""

from __future__ import annotations

from tinyton_lab.kernel.jit import Kernel, jit
from tinyton_lab.kernel.launch import Launch, Launchable

__all__ = ["Kernel", "Launch", "Launchable", "jit"]
