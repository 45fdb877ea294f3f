"""Fused softmax: one row per program, rows of any length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    values = tl.load(x + row * stride + columns, mask=inside, other=-float("inf"))
    values = values - tl.max(values, axis=0)
    weights = tl.exp(values)
    tl.store(out + row * stride + columns, weights / tl.sum(weights, axis=0), mask=inside)


def reference(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    weights = np.exp(wide - wide.max(1, keepdims=True))
    return (weights / weights.sum(1, keepdims=True)).astype(x.dtype)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(1)
    for rows, n, warps in ((7, 781, 4), (3, 64, 1), (2, 16384, 8)):
        x = rng.standard_normal((rows, n)).astype(np.float32)
        arguments = {"x": x, "out": np.zeros_like(x), "stride": n, "n": n, "BLOCK": 1 << (n - 1).bit_length()}
        options = {"num_warps": warps}
        yield Case(f"{rows}x{n}", softmax, (rows,), arguments, {"out": reference(x)}, 2e-6, 4e-6, options)
