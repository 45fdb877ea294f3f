"""The measured kernels in Triton."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + columns, mask=columns < n, other=-float("inf"))
    values = values - tl.max(values, axis=0)
    weights = tl.exp(values)
    tl.store(out + row * stride + columns, weights / tl.sum(weights, axis=0), mask=columns < n)
