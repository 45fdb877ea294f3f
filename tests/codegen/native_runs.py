"""Run one function of tile IR on the interpreter and natively, and compare the arguments bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tinyton_lab import interpreter
from tinyton_lab.codegen.cpu import compile
from tinyton_lab.ir.core import Function
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ir.verify import verify
from tinyton_lab.llvm import native
from tinyton_lab.ops import OPS
from tinyton_lab.runtime.buffers import buffer_of
from tinyton_lab.runtime.cpu import CpuKernel, pointer_slots

Grid = tuple[int, int, int]
ONE: Grid = (1, 1, 1)


def parse(text: str) -> Function:
    function = parse_function(text, OPS)
    verify(function)
    return function


def slots(arguments: Sequence[Any]) -> list[Any]:
    """The arguments as a native launch takes them."""
    found: list[Any] = []
    for argument in arguments:
        found += pointer_slots(buffer_of("x", argument)) if isinstance(argument, np.ndarray) else [argument]
    return found


def machines() -> list[native.Machine]:
    """This processor, and on x86 its narrower self."""
    if native.host().vector_bits <= 256:
        return [native.host()]
    return [native.host(), native.machine("x86-64-v3", "+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+sse4.2")]


@cache
def kernel(text: str, checked: bool = True, machine: native.Machine | None = None) -> CpuKernel:
    return CpuKernel(compile(parse(text), checked, machine))


def run_natively(
    text: str, grid: Grid, *arguments: Any, checked: bool = True, machine: native.Machine | None = None
) -> None:
    kernel(text, checked, machine).launch(grid, slots(arguments))


def interpret(text: str, grid: Grid, *arguments: Any) -> None:
    function = parse(text)
    names = [parameter.name for parameter in function.parameters]
    wrapped = [buffer_of(n, a) if isinstance(a, np.ndarray) else a for n, a in zip(names, arguments, strict=True)]
    interpreter.run(function, grid, wrapped)


def assert_same(got: np.ndarray, want: np.ndarray) -> None:
    """Equal bit for bit, any NaN being as good as another."""
    with np.errstate(invalid="ignore"):
        plain = [array.astype(np.float64) if array.dtype.kind not in "iub" else array for array in (got, want)]
    np.testing.assert_array_equal(*plain)
    if plain[0].dtype.kind == "f":
        signs = [np.signbit(array) & ~np.isnan(array) for array in plain]
        np.testing.assert_array_equal(*signs, err_msg="signs of zeros")


def agree(
    text: str, grid: Grid, *arguments: Any, checked: bool = True, machine: native.Machine | None = None
) -> list[Any]:
    """Run on both engines from the same start; every array must end up the same. Gives the native ones."""
    ours = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    interpret(text, grid, *theirs)
    run_natively(text, grid, *ours, checked=checked, machine=machine)
    for got, want in zip(ours, theirs, strict=True):
        if isinstance(got, np.ndarray):
            assert_same(got, want)
    return ours
