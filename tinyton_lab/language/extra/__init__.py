"""What the language has beside its core, as `tl.extra`: the device library and a GPU's own functions.

Both are loaded when a kernel, or an import, first asks for them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tinyton_lab.language.extra import cuda, libdevice

__all__ = ["cuda", "libdevice"]


def __getattr__(name: str) -> Any:
    if name == "libdevice":
        return importlib.import_module("tinyton_lab.language.extra.libdevice")
    if name == "cuda":
        return importlib.import_module("tinyton_lab.language.extra.cuda")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
