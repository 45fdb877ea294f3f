"""GPU code of the corpus: right for any number of warps, without races, the same bytes every time."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.codegen.simulation import corpus, gpu_code, run_case
from tests.kernels.case import Case

CORPUS = corpus()
ONE_EACH = list({case.kernel: case for case in reversed(CORPUS)}.values())


@pytest.mark.parametrize("warps", [1, 2, 8, 16])
@pytest.mark.parametrize("case", ONE_EACH, ids=lambda case: case.name)
def test_any_number_of_warps_is_right_and_races_nowhere(case: Case, warps: int):
    code, got, launch = run_case(case, sanitize=True, num_warps=warps)
    case.check(got, fast=True)
    assert launch.findings == []
    assert code.assembled().spill_bytes == 0


def test_arithmetic_is_exact_and_unfused():
    case = next(case for case in CORPUS if case.name.startswith("layer_norm"))
    plain = gpu_code(case.kernel, case.arguments).ptx
    fused = gpu_code(case.kernel, case.arguments, fp_fusion=True).ptx
    assert "add.rn.f32" in plain and "mul.rn.f32" in plain and "fma.rn.f32" not in plain
    assert "fma.rn.f32" in fused


def test_code_carries_its_launch():
    case = next(case for case in CORPUS if case.name == "vector_add-float32-1000")
    code = gpu_code(case.kernel, case.arguments, num_warps=2)
    assert (code.entry, code.threads, code.shared_bytes) == ("vector_add", 64, 0)
    assert [name for name, _ in code.parameters] == ["x", "y", "out", "n"]
    assert ".reqntid 64" in code.ptx and "ld.global.v4.b32" not in code.ptx
    wide = gpu_code(case.kernel, {**case.arguments, "n": 1024}, num_warps=2)
    assert "ld.global.v4.b32" in wide.ptx


@tt.jit
def larger(a, b):
    return tl.maximum(a, b)


@tt.jit
def later(a, b):
    return tl.where(b != 0, b, a)


@tt.jit
def reduced(x, out, KIND: tl.constexpr):
    tile = tl.load(x + tl.arange(0, 2048))
    if KIND == "sum":
        tl.store(out, tl.sum(tile))
    elif KIND == "index":
        tl.store(out, tl.max(tile, 0, return_indices=True)[1].to(tl.float32))
    elif KIND == "larger":
        tl.store(out, tl.reduce(tile, 0, larger))
    else:
        tl.store(out, tl.reduce(tile, 0, later))


@pytest.mark.parametrize(("kind", "shuffles"), [("sum", 5), ("larger", 5), ("index", 10), ("later", 5)])
def test_a_reduction_shuffles_once_per_bit_of_a_lane(kind: str, shuffles: int):
    """Also where it keeps the order of elements: another layout makes neighbours of them."""
    arrays = {"x": np.zeros(2048, np.float32), "out": np.zeros(1, np.float32)}
    ptx = gpu_code(reduced, {**arrays, "KIND": kind}).ptx
    assert ptx.count("shfl.sync") == shuffles


PRINT = """
from tests.codegen.simulation import corpus, gpu_code
for case in corpus()[::5]:
    code = gpu_code(case.kernel, case.arguments)
    print("".join(stage.text for stage in code.stages))
"""


def test_the_same_bytes_every_time():
    seen = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PRINT]
        seen.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(seen) == 1 and len(seen.pop()) > 10000
