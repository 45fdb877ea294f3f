"""The native engine on one thread against Triton's interpreter, which runs the very same source."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from tests.benchmarks.cpu import add, layer_norm, row_sum, softmax
from tests.benchmarks.measure import Row, seconds
from tests.kernels.attention import attention
from tests.kernels.matmul import matmul
from tinyton_lab.base import knobs

ROUNDS, PEER_ROUNDS = 5, 1
LEAST = 0.1  # seconds of one measurement: processor time comes in ticks


@dataclass(frozen=True, slots=True)
class Contest:
    """One launch: `kernel` over `grid` on f32 arrays of the given shapes (``array(...)``) and on numbers."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    constants: dict[str, Any]
    bar: float


@dataclass(frozen=True, slots=True)
class array:
    shape: tuple[int, ...]


def _rows(kernel: Any, vectors: int, *numbers: Any, bar: float = 1000) -> Contest:
    height, width = 1024, 1024
    result = array((height,)) if kernel is row_sum else array((height, width))
    arguments = (array((height, width)), *[array((width,))] * vectors, result, width, *numbers)
    return Contest(kernel, (height,), arguments, {"BLOCK": 1024}, bar)


def _matmul(size: int, m: int, n: int, k: int) -> Contest:
    square, constants = array((size, size)), {"M": m, "N": n, "K": k, "GROUP": 8}
    sizes = (size, size, size, size, 1, size, 1, size, 1)
    return Contest(matmul, (size // m * (size // n),), (square, square, square, *sizes), constants, 150)


def _attention(length: int, d: int, m: int, n: int) -> Contest:
    each, constants = array((2, length, d)), {"M": m, "N": n, "D": d, "CAUSAL": True}
    return Contest(attention, (length // m, 2), (each, each, each, each, length, d**-0.5), constants, 150)


CONTESTS = {
    "vector add of 1M f32, block 1024": Contest(
        add, (1024,), (array((1 << 20,)), array((1 << 20,)), array((1 << 20,)), 1 << 20), {"BLOCK": 1024}, 1000
    ),
    "softmax 1024x1024 f32": _rows(softmax, 0),
    "layer norm 1024x1024 f32": _rows(layer_norm, 2, 1e-5),
    "row sum 1024x1024 f32": _rows(row_sum, 0),
    "matmul 512^3 f32, tile 64x64x32": _matmul(512, 64, 64, 32),
    "matmul 512^3 f32, tile 128x128x32": _matmul(512, 128, 128, 32),
    "matmul 1024^3 f32, tile 128x128x64": _matmul(1024, 128, 128, 64),
    "causal attention 2x512x64 f32, tile 64x64": _attention(512, 64, 64, 64),
}


def rows() -> Iterator[Row]:
    if importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None:
        print("triton or torch is not installed: nothing to compare with")
        return
    theirs = _peer()
    with mock.patch.dict(os.environ, {knobs.CPU_THREADS.variable: "1"}):
        for name, contest in CONTESTS.items():
            mine, result = _best(contest, contest.kernel, np.asarray, ROUNDS, backend="cpu")
            took, wanted = theirs[name]
            near = abs(result - wanted) <= 1e-4 * max(abs(wanted), 1.0)
            note = f"{mine * 1e3:.2f} ms" + ("" if near else f", but the results differ: {result} and {wanted}")
            yield Row(name, took / mine, "x the interpreter", contest.bar, True, note)


def _best(
    contest: Contest, kernel: Any, tensor: Callable[[np.ndarray], Any], rounds: int, **options: Any
) -> tuple[float, float]:
    """The median process CPU time of some rounds, after one that compiles; and the sum of the last array."""
    random = np.random.default_rng(0)
    arrays = [random.random(a.shape, np.float32) if isinstance(a, array) else a for a in contest.arguments]
    passed = [tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
    last = next(a for a in reversed(arrays) if isinstance(a, np.ndarray))

    def run() -> None:
        kernel[contest.grid](*passed, **contest.constants, **options)

    run()
    repeat = 1 + int(LEAST / max(seconds(run, 3), 1e-6)) if rounds > 1 else 1
    return statistics.median(seconds(run, repeat) for _ in range(rounds)), float(last.sum(dtype=np.float64))


# -- Triton's side, in a process of its own -------------------------------------------------------------------------
def _peer() -> dict[str, tuple[float, float]]:
    command = [sys.executable, "-c", f"import {__name__} as contests; contests.interpret()"]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    printed = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout
    return {name: (took, result) for name, (took, result) in json.loads(printed).items()}


def interpret() -> None:
    """Print what each contest takes in Triton's interpreter, as JSON."""
    import torch
    import triton

    def reread(kernel: Any) -> Any:
        """The kernel's source once more, under Triton's names, at the same place of the same file."""
        lines, first = inspect.getsourcelines(kernel.fn)
        names: dict[str, Any] = {"tt": triton, "tl": triton.language}
        exec(compile("\n" * (first - 1) + "".join(lines), inspect.getfile(kernel.fn), "exec", dont_inherit=True), names)
        return names[kernel.name]

    torch.set_num_threads(1)
    took = {
        name: _best(contest, reread(contest.kernel), torch.from_numpy, PEER_ROUNDS)
        for name, contest in CONTESTS.items()
    }
    print(json.dumps(took))
