"""Every kernel of the corpus gives the numpy answer on every engine, and its PTX assembles for every target."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

import tests.kernels as corpus
import tinyton_lab as tt
from tests.kernels.case import Case
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ops import OPS

MODULES = sorted(name for _, name, _ in pkgutil.iter_modules(corpus.__path__) if name != "case")
CASES = [
    pytest.param(case, id=f"{name}-{case.name}")
    for name in MODULES
    for case in importlib.import_module(f"tests.kernels.{name}").cases()
]
ENGINES = ["interpreter", "cpu", "sim"]
GPU = ("sim", "cuda")


def lacking(case: Case, engine: str) -> list[str]:
    """Ops of a kernel that an engine does not have, by the op table."""
    text = tt.inspect(case.kernel, grid=case.grid, **case.arguments, **case.options).stages["tile"].text
    key = "gpu" if engine in GPU else engine
    return [op.row.name for op in parse_function(text, OPS).walk() if key in op.row.unsupported]


def check(case: Case, engine: str, fast: bool = False, **options: Any) -> None:
    """Run a case: it gives the expected answer, or, where the engine lacks an op, exactly the fault that says so."""
    try:
        got = case.run(backend=engine, **options)
    except TinytonError as fault:
        if fault.code != "TT5012":
            raise
        assert any(f"{name} of" in str(fault) for name in lacking(case, engine)), str(fault)
        assert fault.span is not None
        return
    case.check(got, fast=fast)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_engine_gives_the_numpy_answer(case: Case, engine: str) -> None:
    check(case, engine, fast=engine == "sim")


@pytest.mark.parametrize("case", CASES)
def test_both_engines_of_the_simulator_give_the_same_bits(case: Case) -> None:
    if lacking(case, "sim"):
        return
    trace, fast = (case.run(backend="sim", simulator=engine) for engine in ("trace", "fast"))
    for name in trace:
        assert trace[name].tobytes() == fast[name].tobytes(), name


@pytest.mark.parametrize("case", CASES)
def test_simulator_with_full_math_is_as_accurate_as_the_cpu(case: Case) -> None:
    check(case, "sim", math="full")


@pytest.mark.parametrize("case", CASES)
def test_cuda_gives_the_numpy_answer(case: Case) -> None:
    if not tt.doctor()["cuda device"]:
        pytest.skip("no CUDA device")
    check(case, "cuda", fast=True)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("case", CASES)
def test_ptx_assembles(case: Case, target: str) -> None:
    compilation = tt.inspect(case.kernel, grid=case.grid, target=target, **case.arguments, **case.options)
    if not compilation.ok and lacking(case, "sim"):
        assert [fault.code for fault in compilation.diagnostics if fault.severity != "remark"] == ["TT5012"]
        return
    assert ".entry" in compilation.stages["ptx"].text
    assert "EXIT" in compilation.stages["sass"].text
