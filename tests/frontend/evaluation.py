"""Run a kernel as its tile IR says, in the interpreter: the shortest way from a kernel's text to its results."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.frontend.lowering import Device
from tinyton_lab import interpreter
from tinyton_lab.base import dtypes
from tinyton_lab.frontend import Constant, Runtime, lower
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ir.verify import verify
from tinyton_lab.runtime.buffers import buffer_of, element_dtype


def describe_argument(value: Any, constexpr: bool) -> Runtime | Constant:
    if constexpr or value is None:
        return Constant(value)
    if isinstance(value, np.ndarray):
        dtype = element_dtype(value)
        assert dtype is not None
        return Runtime(Tile(Pointer(dtype)))
    if isinstance(value, float):
        return Runtime(Tile(dtypes.float32))
    dtype = dtypes.of_python_int(value)
    assert dtype is not None
    return Runtime(Tile(dtype), known=1 if value == 1 else None)


def launch(kernel: Device, grid: tuple[int, ...], **arguments: Any) -> None:
    """Run `kernel`; names in capitals are compile-time values."""
    described = {name: describe_argument(value, name.isupper()) for name, value in arguments.items()}
    function = lower(kernel, described).function
    verify(function)
    values = [arguments[parameter.name] for parameter in function.parameters]
    buffers = [buffer_of(p.name, v) if isinstance(v, np.ndarray) else v for p, v in zip(function.parameters, values)]
    x, y, z = (*grid, 1, 1)[:3]
    interpreter.run(function, (x, y, z), buffers)
