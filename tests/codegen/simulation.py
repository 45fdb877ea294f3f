"""Compile entries of the corpus for GPU targets and run their PTX in the simulator."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests import kernels
from tests.kernels.case import Case, fresh
from tinyton_lab import frontend, sim
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.codegen.gpu import GpuCode, compile
from tinyton_lab.ir.core import Function
from tinyton_lab.kernel.arguments import describe
from tinyton_lab.pipeline import run_tile_passes

KERNELS = sorted(module.name for module in pkgutil.iter_modules(kernels.__path__) if module.name != "case")


def corpus() -> list[Case]:
    """Every entry of the corpus that GPUs have code for, named by its file and its own name."""
    with_code = [name for name in KERNELS if name not in ("attention", "matmul")]  # dot has no GPU code yet
    modules = [(name, importlib.import_module(f"tests.kernels.{name}")) for name in with_code]
    return [Case(**vars(case) | {"name": f"{name}-{case.name}"}) for name, module in modules for case in module.cases()]


def tile_ir(kernel: Any, arguments: Mapping[str, Any], target: str, **attrs: Any) -> Function:
    """The tile IR of a kernel after the tile passes."""
    attrs = {"num_warps": 4, "math": "approx", "fp_fusion": False} | attrs
    types = {p.name: describe(kernel.name, p, arguments[p.name]) for p in kernel.parameters}
    function = frontend.lower(kernel, types, attrs).function
    for step in run_tile_passes(function, TARGETS[target], math=attrs["math"], verify=True):
        function = step.function
    return function


def gpu_code(kernel: Any, arguments: Mapping[str, Any], target: str = "sm_80", **attrs: Any) -> GpuCode:
    """Compile a kernel for the arguments of a launch."""
    return compile(tile_ir(kernel, arguments, target, **attrs), TARGETS[target])


def simulate(code: GpuCode, grid: Any, arguments: Mapping[str, Any], sanitize: bool = False) -> sim.Launch:
    """Run compiled code on `arguments`, arrays in place."""
    values = [arguments[name] for name, _ in code.parameters]
    passed = [
        value if isinstance(value, np.ndarray) else tile.dtype.numpy.type(value)
        for value, (_, tile) in zip(values, code.parameters, strict=True)
    ]
    names = [name for name, _ in code.parameters]
    shared = code.dynamic_shared_bytes
    return sim.load(code.ptx).launch(code.entry, grid, (code.threads,), passed, shared, sanitize=sanitize, names=names)


def run_case(case: Case, sanitize: bool = False, **attrs: Any) -> tuple[GpuCode, dict[str, np.ndarray], sim.Launch]:
    """Compile an entry and run it on fresh copies; its code, the arrays that have an expected value, the launch."""
    arguments = {name: fresh(value) for name, value in case.arguments.items()}
    code = gpu_code(case.kernel, arguments, **{**case.options, **attrs})
    launch = simulate(code, case.grid, arguments, sanitize)
    return code, {name: arguments[name] for name in case.expected}, launch
