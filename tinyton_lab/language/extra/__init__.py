"""What the language has beside its core, as `tl.extra`: the device library and a GPU's own functions."""

from __future__ import annotations

from tinyton_lab.language.extra import cuda, libdevice

__all__ = ["cuda", "libdevice"]
