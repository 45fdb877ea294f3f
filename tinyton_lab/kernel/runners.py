"""How each engine runs a compiled kernel. A runner takes the grid, all bound values and the launch options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tinyton_lab import eager, interpreter
from tinyton_lab.base.diagnostics import error
from tinyton_lab.compiler import Request
from tinyton_lab.frontend import DIALECTS, Runtime
from tinyton_lab.ir.core import Function
from tinyton_lab.kernel.grid import Grid
from tinyton_lab.kernel.launch import Launch
from tinyton_lab.kernel.parameters import KernelShape
from tinyton_lab.record.stage import Compilation
from tinyton_lab.runtime.buffers import buffer_of, is_tensor

Runner = Callable[[Grid, Sequence[Any], Sequence[int], Mapping[str, Any]], Launch]
Pick = Callable[[Any], "tuple[int | float, ...]"]


def interpreter_runner(kernel: KernelShape, request: Request, compilation: Compilation) -> Runner:
    """Numpy, from the op table."""
    function: Function = compilation.artifacts["function"]
    places = _places(kernel, compilation)
    written = compilation.artifacts["written"]

    def run(grid: Grid, values: Sequence[Any], addresses: Sequence[int], options: Mapping[str, Any]) -> Launch:
        interpreter.run(function, grid, [_argument(kernel.name, n, values[at], written) for n, at in places])
        return Launch(compilation, "interpreter")

    return run


def eager_runner(kernel: KernelShape, request: Request, compilation: Compilation) -> Runner:
    """The Python body itself, line by line."""
    types = {name: given.tile for name, given in request.arguments.items() if isinstance(given, Runtime)}
    written = compilation.artifacts["written"]
    names = [parameter.name for parameter in kernel.parameters]

    def run(grid: Grid, values: Sequence[Any], addresses: Sequence[int], options: Mapping[str, Any]) -> Launch:
        bound = {n: _argument(kernel.name, n, v, written) if n in types else v for n, v in zip(names, values)}
        eager.run(request.function, grid, bound, types, DIALECTS[request.function.dialect])
        return Launch(compilation, "eager")

    return run


def _places(kernel: KernelShape, compilation: Compilation) -> list[tuple[str, int]]:
    """The run-time parameters of the compiled code, and where they stand among the bound values."""
    positions = {parameter.name: index for index, parameter in enumerate(kernel.parameters)}
    return [(p.name, positions[p.name]) for p in compilation.artifacts["function"].parameters]


def _argument(kernel: str, name: str, value: Any, written: Collection[str]) -> Any:
    """A buffer for an array or tensor, the value itself otherwise. Raises TT3009 for a read-only array to write to."""
    if not isinstance(value, np.ndarray) and not is_tensor(value):
        return value
    buffer = buffer_of(name, value)
    if name in written and not buffer.writable:
        raise error("TT3009", kernel=kernel, name=name)
    return buffer


RUNNERS: dict[str, Callable[[KernelShape, Request, Compilation], Runner]] = {
    "interpreter": interpreter_runner,
    "eager": eager_runner,
}
