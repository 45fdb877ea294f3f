"""The PTX simulator: any PTX, every lane, no GPU. `load` opens a text; nothing here knows the kernel language."""

from __future__ import annotations

from tinyton_lab.sim.launch import Launch
from tinyton_lab.sim.module import Module, load
from tinyton_lab.sim.slice import Slice, why

__all__ = ["Launch", "Module", "Slice", "load", "why"]
