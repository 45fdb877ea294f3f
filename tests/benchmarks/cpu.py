"""The native engine, bounds checked: elementwise and row kernels on one thread against numpy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.benchmarks.measure import Row, interleaved
from tinyton_lab.base import knobs


@tt.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@tt.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < n
    values = tl.load(x + row * n + columns, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + columns, powers / tl.sum(powers, axis=0), mask=mask)


@tt.jit
def layer_norm(x, weight, bias, out, n, eps, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < n
    values = tl.load(x + row * n + columns, mask=mask, other=0.0)
    centred = tl.where(mask, values - tl.sum(values, axis=0) / n, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    w, b = tl.load(weight + columns, mask=mask), tl.load(bias + columns, mask=mask)
    tl.store(out + row * n + columns, centred * scale * w + b, mask=mask)


@tt.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * n + columns, mask=columns < n, other=0.0), axis=0))


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def numpy_layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * w + b


def rows() -> Iterator[Row]:
    before = os.environ.get(knobs.CPU_THREADS.variable)
    os.environ[knobs.CPU_THREADS.variable] = "1"
    try:
        yield from _throughput()
    finally:
        if before is None:
            del os.environ[knobs.CPU_THREADS.variable]
        else:
            os.environ[knobs.CPU_THREADS.variable] = before


def _throughput() -> Iterator[Row]:
    random = np.random.default_rng(0)
    n = 1 << 24
    x, y, out = random.random(n, np.float32), random.random(n, np.float32), np.zeros(n, np.float32)
    yield _row(
        "vector add of 16M f32",
        lambda: add[(n // 1024,)](x, y, out, n, BLOCK=1024, backend="cpu"),
        lambda: np.add(x, y, out=out),
        0.95,
    )
    for height, width, bar in ((4096, 1024, 2.5), (1823, 781, 0.0)):
        a = random.standard_normal((height, width), np.float32)
        b = np.zeros_like(a)
        ours = _launch(softmax, (height,), a, b, width)
        yield _row(f"softmax {height}x{width} f32", ours, lambda a=a: numpy_softmax(a), bar)
    a, b = random.standard_normal((4096, 1024), np.float32), np.zeros((4096, 1024), np.float32)
    w, v = random.random(1024, np.float32), random.random(1024, np.float32)
    ours = _launch(layer_norm, (4096,), a, w, v, b, 1024, 1e-5)
    yield _row("layer norm 4096x1024 f32", ours, lambda: numpy_layer_norm(a, w, v), 2.5)
    sums = np.zeros(4096, np.float32)
    yield _row("row sum 4096x1024 f32", _launch(row_sum, (4096,), a, sums, 1024), lambda: a.sum(axis=1), 0.95)


def _launch(kernel: tt.Kernel, grid: tuple[int, ...], *arguments: object) -> Callable[[], object]:
    return lambda: kernel[grid](*arguments, BLOCK=1024, backend="cpu")


def _row(measure: str, ours: Callable[[], object], numpy: Callable[[], object], bar: float) -> Row:
    ours()
    numpy()
    mine, theirs = interleaved(ours, numpy)
    return Row(measure, theirs / mine, "x numpy", bar, True, f"{mine * 1e3:.2f} ms")
