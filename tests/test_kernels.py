"""Every kernel of the corpus gives the numpy answer on every engine, and its PTX assembles for every target."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import tests.kernels as corpus
import tinyton_lab as tt
from tests.kernels.case import Case

MODULES = sorted(name for _, name, _ in pkgutil.iter_modules(corpus.__path__) if name != "case")
CASES = [
    pytest.param(case, id=f"{name}-{case.name}")
    for name in MODULES
    for case in importlib.import_module(f"tests.kernels.{name}").cases()
]
ENGINES = ["interpreter", "cpu", "sim"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_engine_gives_the_numpy_answer(case: Case, engine: str) -> None:
    case.check(case.run(backend=engine), fast=engine == "sim")


@pytest.mark.parametrize("case", CASES)
def test_simulator_with_full_math_is_as_accurate_as_the_cpu(case: Case) -> None:
    case.check(case.run(backend="sim", math="full"))


@pytest.mark.parametrize("case", CASES)
def test_cuda_gives_the_numpy_answer(case: Case) -> None:
    if not tt.doctor()["cuda device"]:
        pytest.skip("no CUDA device")
    case.check(case.run(backend="cuda"), fast=True)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("case", CASES)
def test_ptx_assembles(case: Case, target: str) -> None:
    compilation = tt.inspect(case.kernel, grid=case.grid, target=target, **case.arguments, **case.options)
    assert ".entry" in compilation.stages["ptx"].text
    assert "EXIT" in compilation.stages["sass"].text
