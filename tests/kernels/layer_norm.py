"""Layer norm forward: mean and variance of a row, then scale and shift."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def layer_norm(x, weight, bias, out, mean_out, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x + columns, mask=columns < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(x + columns, mask=columns < n, other=0.0).to(tl.float32)
        values = tl.where(columns < n, values - mean, 0.0)
        squares += values * values
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_out + row, mean)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n
        w = tl.load(weight + columns, mask=mask)
        b = tl.load(bias + columns, mask=mask)
        values = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(out + columns, (values - mean) * scale * w + b, mask=mask)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(2)
    for rows, n, dtype in ((5, 300, np.float32), (2, 1024, np.float32), (3, 257, np.float16)):
        x = rng.standard_normal((rows, n)).astype(dtype)
        weight, bias = rng.random(n).astype(dtype), rng.standard_normal(n).astype(dtype)
        wide = x.astype(np.float64)
        mean = wide.mean(1, keepdims=True)
        scaled = (wide - mean) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        expected = {"out": (scaled * weight + bias).astype(dtype), "mean_out": mean[:, 0].astype(np.float32)}
        arguments = {
            "x": x, "weight": weight, "bias": bias, "out": np.zeros_like(x), "mean_out": np.zeros(rows, np.float32),
            "stride": n, "n": n, "eps": 1e-5, "BLOCK": 128,
        }  # fmt: skip
        bound = 2e-3 if dtype is np.float16 else 5e-6
        yield Case(f"{rows}x{n}-{np.dtype(dtype).name}", layer_norm, (rows,), arguments, expected, bound, bound)
