"""Look at a kernel without (or besides) running it for its result: `inspect`, `trace`, `doctor`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from tinyton_lab import compiler
from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.targets import DEFAULT_GPU
from tinyton_lab.base.targets import target as find_target
from tinyton_lab.kernel.jit import Kernel
from tinyton_lab.kernel.options import read_options
from tinyton_lab.kernel.signature_text import read_signature
from tinyton_lab.kernel.specialisation import request_for
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation
from tinyton_lab.runtime import cuda


def inspect(kernel: Kernel, *args: Any, grid: Any = (1,), target: str | None = None, **kwargs: Any) -> Compilation:
    """Compile a kernel for these arguments through every stage, down to SASS; nothing is run.

    Arguments are given as at a launch; `target` is ``sm_80`` unless another GPU is named. Without arguments the latest
    compilation of the kernel is given, or, where there is none, its source and syntax tree. A kernel that does not
    compile gives the stages up to the fault and the fault in `diagnostics`.

    >>> import numpy as np
    >>> import tinyton_lab as tt, tinyton_lab.language as tl
    >>> @tt.jit
    ... def zero(x, BLOCK: tl.constexpr):
    ...     tl.store(x + tl.arange(0, BLOCK), 0.0)
    >>> compilation = tt.inspect(zero, np.ones(32, np.float32), BLOCK=32)
    >>> compilation.stages["ptx"].text.count(".entry")
    1
    """
    if not args and not kwargs:
        latest = kernel.compilations[-1] if kernel.compilations else compiler.read(kernel, kernel.name)
        return complete(latest, target)
    kernel, values, given = kernel.bound(args, kwargs)
    options = read_options(
        kernel.name, {**kernel.defaults(), **given, "target": target or given.get("target") or DEFAULT_GPU}, "sim"
    )
    compilation = compiler.compile(request_for(kernel, values, options), "inspect")
    kernel.keep(compilation)
    return compilation


def inspect_signature(
    kernel: Kernel, signature: str, constants: Mapping[str, Any] | None = None, target: str | None = None
) -> Compilation:
    """Compile a kernel through every stage for types written as text, without arrays.

    `signature` lists the types of the run-time parameters (``"*fp32:16, *fp32, i32"``), `constants` the constexprs.
    """
    options = read_options(kernel.name, {**kernel.defaults(), "target": target or DEFAULT_GPU}, "sim")
    arguments = read_signature(kernel.name, kernel.parameters, signature, constants or {})
    compilation = compiler.compile(compiler.Request(kernel, kernel.name, arguments, options), "inspect")
    kernel.keep(compilation)
    return compilation


def complete(compilation: Compilation, target: str | None = None) -> Compilation:
    """A record with every stage: what `inspect` would give for the arguments that `compilation` was made for."""
    return compiler.complete(compilation, find_target(target or DEFAULT_GPU))


def trace(kernel: Kernel, *args: Any, grid: Any, level: str = "warp", **kwargs: Any) -> Recording:
    """Run a kernel in the PTX simulator and give what every warp did.

    Arguments are those of a launch, and written like one. `level` is ``warp`` (every instruction with lane values) or
    ``mem`` (memory accesses and barriers only).
    """
    launch = kernel[grid](*args, **{**kwargs, "backend": "sim", "record": level})
    if launch.recording is None:
        raise error("TT3013", kernel=kernel.name, name="level", value=level, why="it must be 'warp' or 'mem'")
    return launch.recording


def doctor() -> dict[str, Any]:
    """What is available here: engines, tools and optional packages, each True, False or a version."""
    from tinyton_lab.runtime import assembler  # loads modules that no launch needs

    return {
        "cpu engine": _present("llvmlite"),
        "SASS": assembler.available(),
        "cuda device": cuda.device_count() > 0,
        "graphs": _present("graphviz"),
        "notebook": _present("IPython") and _present("anywidget"),
        "torch": _present("torch"),
    }


def _present(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
