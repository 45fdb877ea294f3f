"""Kernels whose tile IR is kept as goldens: each shows a few constructs."""

from __future__ import annotations

import tinyton_lab.language as tl
from tests.frontend.lowering import device


@device
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    """Add two vectors.

    def not_code(x): the docstring is inert
    """
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@device
def row_sum(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(axis=0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(x + row * stride + i, mask=i < n, other=0.0)
    tl.store(out + row, tl.sum(acc, axis=0))


@device
def row_extremes(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + i[None, :])
    tl.store(out + i, tl.max(tile, 1) - tl.min(tile, axis=1))
    value, place = tl.max(tile, 0, return_indices=True)
    tl.store(out + N + i, value)
    tl.store(out + 2 * N + i, place)


@device
def branches(x, out, n):
    value = tl.load(x)
    if n > 10:
        scale = 2.0
    elif n == 0:
        return
    else:
        scale = 0.5
    sign = 1.0 if value > 0 else -1.0
    tl.store(out, value * scale * sign)


@device
def while_loop(out, n):
    a, b = 0, 1
    steps = 0
    while b < n and steps < 100:
        a, b = b, a + b
        steps += 1
    tl.store(out, a)
    tl.store(out + 1, steps)


@device
def scaled(value, factor=2.0):
    return value * factor


@device
def pair(value):
    return value - 1, scaled(value, factor=3)


@device
def calls(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    low, high = pair(scaled(tl.load(x + i)))
    tl.store(out + i, tl.where(low < high, low, high))
    tl.store(out, tl.cdiv(N, 3))


@device
def unrolled(x, out, N: tl.constexpr):
    total: tl.constexpr = N * 2
    acc = tl.full((N,), 0, tl.int32)
    for k in tl.static_range(2):
        acc = acc + tl.load(x + k * total + tl.arange(0, N))
    tl.store(out + tl.arange(0, N), acc)


@device
def optional_bias(x, bias, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if bias is not None:
        v += tl.load(bias + i)
    tl.store(out + i, v)


@device
def logic(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    both = (v > 2) and not (v > 5)
    chain = 0 <= v < 7
    tl.store(out + i, (both or chain) & (v != 3), mask=~both)


@device
def operators(x, out):
    v = tl.load(x)
    tl.store(out, -v + (v // 3) * (v % 3) - (v << 2) + (v >> 1) ^ (v & 6) | ~v)
    tl.store(out + 1, v / 2)
    tl.store(out + 2, v**3)


@device
def nested_loops(x, out, n, m):
    total = 0.0
    for i in tl.range(0, n, num_stages=2):
        row = 0.0
        for j in range(m - 1, -1, -1):
            row += tl.load(x + i * m + j)
        total += row
    tl.store(out, total)


@device
def pointer_walk(a, b, out, stride):
    for i in range(4):
        tl.store(out + i, tl.load(a))
        a += stride
        a, b = b, a


CASES = {
    "vector_add": (vector_add, {"x": "*f32!", "y": "*f32!", "out": "*f32!", "n": "i32", "BLOCK": 1024}),
    "row_sum": (row_sum, {"x": "*f32!", "out": "*f32", "stride": "i32", "n": "i32", "BLOCK": 128}),
    "row_extremes": (row_extremes, {"x": "*f32", "out": "*f32", "N": 8}),
    "branches": (branches, {"x": "*f32", "out": "*f32", "n": "i32"}),
    "while_loop": (while_loop, {"out": "*i32", "n": "i32"}),
    "calls": (calls, {"x": "*f16", "out": "*f32", "N": 16}),
    "unrolled": (unrolled, {"x": "*i32", "out": "*i32", "N": 16}),
    "optional_bias": (optional_bias, {"x": "*f32", "bias": None, "out": "*f32", "N": 16}),
    "logic": (logic, {"x": "*i32", "out": "*i32", "N": 16}),
    "operators": (operators, {"x": "*i32", "out": "*f32"}),
    "nested_loops": (nested_loops, {"x": "*f32", "out": "*f32", "n": "i32", "m": "i32"}),
    "pointer_walk": (pointer_walk, {"a": "*f32", "b": "*f32", "out": "*f32", "stride": "=1"}),
}
