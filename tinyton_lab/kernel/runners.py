"""How each engine runs a compiled kernel. A runner takes the grid, all bound values and the launch options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.dtypes import DType
from tinyton_lab.compiler import Request, span_of
from tinyton_lab.frontend import DIALECTS, Runtime
from tinyton_lab.ir.core import Function
from tinyton_lab.ir.types import Tile
from tinyton_lab.kernel.grid import Grid
from tinyton_lab.kernel.launch import Launch, is_asked, recording_level
from tinyton_lab.kernel.parameters import REACHABLE, KernelShape
from tinyton_lab.record.metrics import Metrics
from tinyton_lab.record.stage import Compilation
from tinyton_lab.runtime import cuda
from tinyton_lab.runtime.buffers import Buffer, buffer_of, is_tensor

# Each runner imports its engine itself: `import tinyton_lab` loads none of them.
READABLE = 0x101  # numpy's flags of an array that needs no second look: gapless in C order, and aligned
WRITABLE = READABLE | 0x400
Runner = Callable[[Grid, Sequence[Any], Sequence[int], Mapping[str, Any]], Launch]


def cpu_runner(kernel: KernelShape, request: Request, compilation: Compilation) -> Runner:
    """Native code: each argument flattened into the slots that the code reads."""
    from tinyton_lab.runtime.cpu import CpuKernel, pointer_slots

    native = CpuKernel(compilation.artifacts["cpu"])
    launch, result = native.launch, Launch(compilation, "cpu")
    written: Collection[str] = compilation.artifacts["written"]
    picks = [
        (at, name, WRITABLE if name in written else READABLE, scalar_slot(parameter.dtype, parameter.pointer))
        for (name, at), parameter in zip(_places(kernel, compilation), native.code.parameters, strict=True)
    ]

    def run(grid: Grid, values: Sequence[Any], addresses: Sequence[int], options: Mapping[str, Any]) -> Launch:
        slots: list[int | float] = []
        array = 0
        for at, name, plain, slot in picks:
            value = values[at]
            if slot is not None:
                slots.append(slot(value))
                continue
            if type(value) is np.ndarray:
                address = addresses[array]
                array += 1
                if value.flags.num & plain == plain:
                    slots += address, address, value.nbytes, 0
                    continue
            slots += pointer_slots(_argument(kernel.name, name, value, written))
        if grid[0] and grid[1] and grid[2]:
            launch(grid, slots)
        return result

    return run


def scalar_slot(dtype: DType, pointer: bool) -> Callable[[Any], int | float] | None:
    """How a scalar argument lies in its slot: narrow floats as their bits. None for a pointer, which has four slots."""
    if pointer:
        return None
    if dtype.kind == "float" and dtype.bits < 32:
        integer = np.dtype(f"u{dtype.bytes}")
        return lambda value: int(np.asarray(value).astype(dtype.numpy).view(integer))
    return float if dtype.kind == "float" else int


def interpreter_runner(kernel: KernelShape, request: Request, compilation: Compilation) -> Runner:
    """Numpy, from the op table."""
    from tinyton_lab import interpreter

    function: Function = compilation.artifacts["function"]
    places = _places(kernel, compilation)
    written = compilation.artifacts["written"]

    def run(grid: Grid, values: Sequence[Any], addresses: Sequence[int], options: Mapping[str, Any]) -> Launch:
        arguments = [_argument(kernel.name, n, values[at], written) for n, at in places]
        if options.get("poison"):
            interpreter.poison.run(compilation.artifacts["lowered"], grid, arguments)
        else:
            interpreter.run(function, grid, arguments)
        return Launch(compilation, "interpreter")

    return run


def eager_runner(kernel: KernelShape, request: Request, compilation: Compilation) -> Runner:
    """The Python body itself, line by line."""
    from tinyton_lab import eager

    types = {name: given.tile for name, given in request.arguments.items() if isinstance(given, Runtime)}
    written = compilation.artifacts["written"]
    names = [parameter.name for parameter in kernel.parameters]

    def run(grid: Grid, values: Sequence[Any], addresses: Sequence[int], options: Mapping[str, Any]) -> Launch:
        bound = {n: _argument(kernel.name, n, v, written) if n in types else v for n, v in zip(names, values)}
        rules = DIALECTS[request.function.dialect]
        eager.run(
            request.function, grid, bound, types, rules, kernel.bundles, request.options.sanitize_overflow
        )
        return Launch(compilation, "eager")

    return run


def simulator_runner(kernel: KernelShape, request: Request, compilation: Compilation) -> Runner:
    """The PTX, warp by warp."""
    from tinyton_lab.runtime import simulator

    code = compilation.artifacts["gpu"]
    types = dict(code.parameters)
    places = _places(kernel, compilation)
    names = [name for name, _ in places]
    written = compilation.artifacts["written"]
    lines = {number: (uids[0], span_of(compilation, uids[0])) for number, uids in enumerate(code.ptx_lines, 1) if uids}

    def run(grid: Grid, values: Sequence[Any], addresses: Sequence[int], options: Mapping[str, Any]) -> Launch:
        arguments = {name: _argument(kernel.name, name, values[at], written) for name, at in places}
        if not (grid[0] and grid[1] and grid[2]):
            return Launch(compilation, "sim", metrics=Metrics(None, [] if is_asked("metrics", options) else None))
        passed = [_simulated(types[name], value) for name, value in arguments.items()]
        outcome = simulator.run(
            code.ptx, code.entry, grid, (code.threads, 1, 1), passed, names, code.dynamic_shared_bytes,
            record=options.get("record") or recording_level(), source_map=lines,
            metrics=is_asked("metrics", options), sanitize=is_asked("sanitize", options),
            engine=options.get("simulator") or "trace", model=options.get("model"),
            reachable=[value.array for name, value in arguments.items() if name.startswith(f"{REACHABLE}.")],
        )  # fmt: skip
        print(*outcome.output, sep="", end="")
        return Launch(compilation, "sim", tuple(outcome.findings), outcome.metrics, outcome.recording, outcome.model)

    return run


def cuda_runner(kernel: KernelShape, request: Request, compilation: Compilation) -> Runner:
    """The machine code on a device."""
    code = compilation.artifacts["gpu"]
    types = dict(code.parameters)
    places = _places(kernel, compilation)
    program = cuda.Program(code.assembled().cubin, code.entry, code.threads, code.dynamic_shared_bytes)
    written = compilation.artifacts["written"]

    def run(grid: Grid, values: Sequence[Any], addresses: Sequence[int], options: Mapping[str, Any]) -> Launch:
        arguments: list[cuda.Argument] = []
        for name, at in places:
            value = values[at]
            if isinstance(value, np.ndarray) or is_tensor(value) and cuda.on_host(value):
                value = _argument(kernel.name, name, value, written).array
            arguments.append(cuda.Argument(name, value, None if types[name].is_pointer else types[name].dtype.numpy))
        cuda.session().launch(program, grid, arguments, written)
        return Launch(compilation, "cuda")

    return run


def _simulated(type: Tile, value: Any) -> Any:
    """The array itself for a pointer, a numpy scalar of the parameter's dtype otherwise."""
    return value.array if isinstance(value, Buffer) else np.asarray(value).astype(type.dtype.numpy)[()]


def _places(kernel: KernelShape, compilation: Compilation) -> list[tuple[str, int]]:
    """The run-time parameters of the compiled code, and where they stand among the bound values."""
    positions = {parameter.name: index for index, parameter in enumerate(kernel.parameters)}
    return [(p.name, positions[p.name]) for p in compilation.artifacts["function"].parameters]


def _argument(kernel: str, name: str, value: Any, written: Collection[str]) -> Any:
    """A buffer for an array or tensor, the value itself otherwise.

    Raises TT3009 for a read-only array to write to, TT3017 for a misaligned one.
    """
    if not isinstance(value, np.ndarray) and not is_tensor(value):
        return value
    buffer = buffer_of(name, value)
    if name in written and not buffer.writable:
        raise error("TT3009", kernel=kernel, name=name)
    if not buffer.aligned:
        raise error("TT3017", kernel=kernel, name=name, bytes=buffer.dtype.bytes)
    return buffer


RUNNERS: dict[str, Callable[[KernelShape, Request, Compilation], Runner]] = {
    "cpu": cpu_runner,
    "sim": simulator_runner,
    "cuda": cuda_runner,
    "interpreter": interpreter_runner,
    "eager": eager_runner,
}
