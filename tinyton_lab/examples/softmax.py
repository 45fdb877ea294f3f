"""Softmax of each row of a matrix, read and written once: each program takes one row."""

from __future__ import annotations

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl


@tt.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    values = tl.load(x + row * stride + columns, mask=inside, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + columns, weights / tl.sum(weights, axis=0), mask=inside)


if __name__ == "__main__":
    x = np.random.default_rng(0).standard_normal((64, 781), dtype=np.float32)
    out = np.empty_like(x)
    softmax[(64,)](x, out, 781, 781, BLOCK=1024)
    weights = np.exp(x - x.max(1, keepdims=True))
    print("right" if np.allclose(out, weights / weights.sum(1, keepdims=True), atol=1e-6) else "wrong")
