"""Small PTX kernels from a few lines: what the simulator's tests share."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.sim import Launch, Module, load

REGISTERS = """.reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<40>;
.reg .f32 %f<20>; .reg .f64 %fd<20>;"""


def kernel(body: str, parameters: int = 4, before: str = "") -> str:
    """An entry `k` whose parameters' addresses are in %d0, %d1, ... and whose thread number is in %r0."""
    declared = ", ".join(f".param .u64 p{n}" for n in range(parameters))
    loads = "\n".join(f"ld.param.u64 %d{n}, [p{n}];" for n in range(parameters))
    return (
        f".version 8.5\n.target sm_90a\n.address_size 64\n{before}\n.visible .entry k({declared})\n"
        f"{{\n{REGISTERS}\n{loads}\nmov.u32 %r0, %tid.x;\n{body}\nret;\n}}\n"
    )


def run(body: str, *arrays: Any, grid: Any = 1, block: Any = 32, before: str = "", **options: Any) -> Launch:
    """Launch such a kernel on arrays, on the trace engine; the fast engine must do the same to copies."""
    module, copies = load(kernel(body, len(arrays), before)), _copies(arrays)
    told = None
    try:
        return module.launch("k", grid, block, list(arrays), **options)
    except TinytonError as fault:
        told = fault.code
        raise
    finally:
        if sys.exc_info()[0] in (None, TinytonError) and not options.keys() - {"shared", "cluster", "names"}:
            _run_fast(module, grid, block, copies, arrays, told, options)


def _copies(arrays: Any) -> list[Any]:
    """Copies that overlap and are laid out as the arrays do; none where that cannot be had by copying each."""
    plain = all(isinstance(a, np.ndarray) and a.flags.carray and a.flags.owndata for a in arrays)
    alone = len({id(a) for a in arrays}) == len(arrays)
    return [a.copy() for a in arrays] if plain and alone else []


def _run_fast(
    module: Module, grid: Any, block: Any, copies: list[Any], arrays: Any, told: str | None, options: dict[str, Any]
) -> None:
    if len(copies) != len(arrays):
        return
    try:
        module.launch("k", grid, block, copies, engine="fast", threads=1, **options)
    except TinytonError as fault:
        assert fault.code == told
        return
    assert told is None, f"the fast engine does not notice {told}"
    for mine, wanted in zip(copies, arrays):
        assert np.array_equal(mine.view(np.uint8), wanted.view(np.uint8))


def lanes(
    body: str, result: str, dtype: Any, *arrays: Any, block: int = 32, before: str = "", grid: int = 1
) -> np.ndarray:
    """Run `body` in every thread and return the value of register `result` of each."""
    size = np.dtype(dtype).itemsize
    out = np.zeros(block * grid, dtype)
    number = len(arrays)
    store = (
        f"mov.u32 %r38, %ctaid.x; mov.u32 %r39, %ntid.x; mad.lo.u32 %r38, %r38, %r39, %r0;\n"
        f"mul.wide.u32 %d39, %r38, {size}; add.u64 %d39, %d39, %d37; st.global.b{8 * size} [%d39], {result};"
    )
    run(f"mov.u64 %d37, %d{number};\n" + body + "\n" + store, *arrays, out, block=block, before=before, grid=grid)
    return out


def element(register: str, array: int, size: int, space: str = "global") -> str:
    """PTX that loads element number tid of parameter `array`."""
    return f"mul.wide.u32 %d38, %r0, {size}; add.u64 %d38, %d38, %d{array}; ld.{space}.b{8 * size} {register}, [%d38];"
