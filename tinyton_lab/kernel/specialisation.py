"""One specialisation of a kernel: its compiled code, what it was compiled from, and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinyton_lab import compiler
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.options import Options
from tinyton_lab.frontend import Reached
from tinyton_lab.kernel.arguments import describe
from tinyton_lab.kernel.grid import Grid
from tinyton_lab.kernel.launch import Launch
from tinyton_lab.kernel.parameters import KernelShape
from tinyton_lab.kernel.runners import RUNNERS, Runner


class Specialisation:
    """A kernel compiled for the types of some arguments, an engine and options.

    `compilation` is its record, `fault` the error that ended it (then it cannot run).
    """

    def __init__(self, kernel: KernelShape, values: Mapping[str, Any], options: Options, engine: str) -> None:
        self.kernel, self.engine, self.options = kernel, engine, options
        request = request_for(kernel, values, options)
        self.compilation = compiler.compile(request, engine)
        self.fault: TinytonError | None = self.compilation.artifacts.get("fault")
        reached: Reached | None = self.compilation.artifacts.get("reached")
        self.fresh: Callable[[], bool] = _always if reached is None else _freshness(reached)
        """True while every helper and global that the code was made from is what it was."""
        self.run: Runner = _refuse if self.fault else RUNNERS[engine](kernel, request, self.compilation)
        """Run on a grid, with all bound arguments in order."""


def _freshness(reached: Reached) -> Callable[[], bool]:
    """The check of what the code was made from: identity of globals first, which nearly always settles it."""
    reads = [(read.namespace.get, read.name, read.value) for read in reached.reads if type(read.namespace) is dict]
    plain = len(reads) == len(reached.reads)

    def fresh() -> bool:
        for get, name, value in reads:
            if get(name) is not value:
                return reached.unchanged()
        return plain or reached.unchanged()

    return fresh


def _always() -> bool:
    return True


def _refuse(grid: Grid, values: Sequence[Any], addresses: Sequence[int], options: Mapping[str, Any]) -> Launch:
    raise RuntimeError("this specialisation did not compile")


def request_for(kernel: KernelShape, values: Mapping[str, Any], options: Options) -> compiler.Request:
    """The compiler's view of a kernel and its bound arguments."""
    arguments = {
        parameter.name: describe(kernel.name, parameter, values[parameter.name]) for parameter in kernel.parameters
    }
    return compiler.Request(kernel, kernel.name, {**arguments, **dict(kernel.bundles)}, options)
