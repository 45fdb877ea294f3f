"""A cold compile of vector add for a GPU, from the Python source to PTX and cubin, with the LLVM process running."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.benchmarks.measure import Row, seconds
from tinyton_lab import compiler
from tinyton_lab.base.options import Options
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.kernel.arguments import describe
from tinyton_lab.llvm.worker import WORKER

ROUNDS = 15


@tt.jit
def shifted_add(x, y, out, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask) + SHIFT, mask=mask)


def rows() -> Iterator[Row]:
    WORKER.start()
    took = [_compile(number) for number in range(ROUNDS)]
    wall = statistics.median(taken for taken, _ in took)
    cpu = statistics.median(taken for _, taken in took)
    yield Row("cold compile, vector add to PTX and cubin, wall", wall, "s", 0.2, False, f"{cpu:.3f} s of this process")


def _compile(number: int) -> tuple[float, float]:
    """Wall and process seconds of one compilation that nothing has seen before."""
    x = np.zeros(1024, np.float32)
    arguments = {"x": x, "y": x, "out": x, "n": 1024, "SHIFT": float(number + 2), "BLOCK": 1024}
    types = {p.name: describe("shifted_add", p, arguments[p.name]) for p in shifted_add.parameters}
    request = compiler.Request(shifted_add, "shifted_add", types, Options(math="approx", target=TARGETS["sm_80"]))
    begun = time.perf_counter()
    cpu = seconds(lambda: compiler.compile(request, "cuda"))
    return time.perf_counter() - begun, cpu
