"""A lab for GPU kernels: write one, run it on any machine, look at every stage it went through.

>>> import tinyton_lab as tt, tinyton_lab.language as tl
>>> tt.float32 is tl.float32
True
"""

from __future__ import annotations

import importlib
from typing import Any

from tinyton_lab import language
from tinyton_lab._version import __version__
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.knobs import AS_TRITON
from tinyton_lab.catalogue import text as example
from tinyton_lab.kernel import Kernel, Launch, jit
from tinyton_lab.kernel.bundles import TensorDescriptor
from tinyton_lab.kernel.inspection import complete, doctor, inspect, inspect_signature, trace
from tinyton_lab.kernel.launch import backend
from tinyton_lab.language import *  # noqa: F403  # every builtin: tt.load is tl.load
from tinyton_lab.language.builtin import constexpr_function
from tinyton_lab.language.library import next_power_of_2
from tinyton_lab.record.occupancy import occupancy
from tinyton_lab.record.roofline import roofline
from tinyton_lab.tune import Config, autotune, heuristics

__all__ = [
    "Config",
    "Kernel",
    "Launch",
    "TensorDescriptor",
    "TinytonError",
    "__version__",
    "autotune",
    "backend",
    "complete",
    "constexpr_function",
    "doctor",
    "example",
    "heuristics",
    "inspect",
    "inspect_signature",
    "jit",
    "next_power_of_2",
    "occupancy",
    "roofline",
    "trace",
]
__all__ += language.__all__

_NOTEBOOK = ("Inspector", "_jupyter_labextension_paths", "load_ipython_extension", "show", "to_html")


def __getattr__(name: str) -> Any:
    """Load the notebook side and the simulator only when they are asked for."""
    if name == "sim":
        return importlib.import_module("tinyton_lab.sim")
    if name in _NOTEBOOK:
        return getattr(importlib.import_module("tinyton_lab.lab"), name)
    raise AttributeError(f"module 'tinyton_lab' has no attribute {name!r}")


if AS_TRITON.flag():
    importlib.import_module("tinyton_lab.triton_compat").install()
