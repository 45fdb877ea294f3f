"""tiny-ton's own dialect: vector add, a sum, a fused softmax."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab.tiny_ton as tt
from tests.kernels.case import Case
from tests.kernels.softmax import reference


@tt.jit
def vector_add(a_ptr, b_ptr, c_ptr, N, BLOCK: tt.constexpr):
    pid = tt.program_id(0)
    offsets = pid * BLOCK + tt.arange(0, BLOCK)
    mask = offsets < N
    a = tt.load(a_ptr + offsets, mask=mask)
    b = tt.load(b_ptr + offsets, mask=mask)
    tt.store(c_ptr + offsets, a + b, mask=mask)


@tt.jit
def reduce_sum(x_ptr, out_ptr, N, BLOCK: tt.constexpr):
    offsets = tt.arange(0, BLOCK)
    x = tt.load(x_ptr + offsets, mask=offsets < N)
    tt.store(out_ptr, tt.reduce_sum(x))


@tt.jit
def softmax(x_ptr, out_ptr, N, BLOCK: tt.constexpr):
    row = tt.program_id(0)
    offsets = tt.arange(0, BLOCK)
    mask = offsets < N
    x = tt.load(x_ptr + row * N + offsets, mask=mask, other=-1e30)
    e = tt.exp(x - tt.reduce_max(x))
    tt.store(out_ptr + row * N + offsets, e / tt.reduce_sum(e), mask=mask)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    for dtype in (np.float32, np.float16, np.int32):
        a, b = ((rng.standard_normal(100) * 9).astype(dtype) for _ in range(2))
        arguments = {"a_ptr": a, "b_ptr": b, "c_ptr": np.zeros(100, dtype), "N": 100, "BLOCK": 32}
        yield Case(f"add-{np.dtype(dtype).name}", vector_add, (4,), arguments, {"c_ptr": a + b})
    x = rng.integers(-50, 50, 100).astype(np.float32)
    arguments = {"x_ptr": x, "out_ptr": np.zeros(1, np.float32), "N": 100, "BLOCK": 128}
    yield Case("sum", reduce_sum, (1,), arguments, {"out_ptr": x.sum(keepdims=True)})
    rows = rng.standard_normal((4, 60)).astype(np.float32)
    arguments = {"x_ptr": rows, "out_ptr": np.zeros_like(rows), "N": 60, "BLOCK": 64}
    yield Case("softmax", softmax, (4,), arguments, {"out_ptr": reference(rows)}, 2e-6, 4e-6)
