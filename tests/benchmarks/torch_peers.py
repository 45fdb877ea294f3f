"""The native engine, bounds checked, against torch and numpy on one thread and on two: rows, products, attention."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.benchmarks.cpu import add, layer_norm, numpy_softmax, row_sum, softmax
from tests.benchmarks.matmul import peak_rate
from tests.benchmarks.measure import Row
from tests.kernels.attention import attention
from tests.kernels.matmul import matmul
from tinyton_lab.base import knobs

Run = Callable[[], object]
ROUNDS = 15


@tt.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) > p
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(kept, value / (1 - p), 0.0), mask=i < n)


def fastest(*runs: Run) -> list[float]:
    """The shortest wall time of each contender; they take turns, so that all see the same machine."""
    best = [float("inf")] * len(runs)
    for run in runs:
        run()
    for _ in range(ROUNDS):
        for number, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def rows() -> Iterator[Row]:
    torch: Any = None
    if importlib.util.find_spec("torch") is not None:
        import torch
    else:
        print("torch is not installed: the rows that compare with it are left out")
    for threads in (1, 2):
        if torch is not None:
            torch.set_num_threads(threads)
        with mock.patch.dict(os.environ, {knobs.CPU_THREADS.variable: str(threads)}):
            yield from _rows(torch, threads)
    yield from _scaling()


def _rows(torch: Any, threads: int) -> Iterator[Row]:
    random = np.random.default_rng(0)
    words = f", {threads} thread{'s' if threads > 1 else ''}"
    if torch is not None:
        yield from _elementwise(torch, random, threads, words)
        yield from _by_row(torch, random, threads, words)
        yield from _attention(torch, random, threads, words)
    if threads == 1:
        yield from _largest_tile(random)


def _elementwise(torch: Any, random: np.random.Generator, threads: int, words: str) -> Iterator[Row]:
    n = 1 << 24
    x, y, out, other = (random.random(n, np.float32) for _ in range(4))
    a, b, c = (torch.from_numpy(array) for array in (x, y, other))
    mine, plain, theirs = fastest(
        lambda: add[(n // 4096,)](x, y, out, n, BLOCK=4096, backend="cpu"),
        lambda: np.add(x, y, out=other),
        lambda: torch.add(a, b, out=c),
    )
    if threads == 1:
        yield Row("vector add of 16M f32" + words, plain / mine, "x numpy", 1.2, True)
    yield Row("vector add of 16M f32" + words, theirs / mine, "x torch", 1.15 if threads == 2 else 0, True)
    n = 1 << 22
    x, out = random.random(n, np.float32), np.zeros(n, np.float32)
    a = torch.from_numpy(x)
    mine, theirs = fastest(
        lambda: dropout[(n // 1024,)](x, out, n, 0.5, 7, BLOCK=1024, backend="cpu"),
        lambda: torch.nn.functional.dropout(a, 0.5, True),
    )
    yield Row("dropout of 4M f32" + words, theirs / mine, "x torch", 5 if threads == 1 else 0, True)


def _by_row(torch: Any, random: np.random.Generator, threads: int, words: str) -> Iterator[Row]:
    for height, width, bar in ((4096, 1024, 1.3), (1823, 781, 1.2)):
        x = random.standard_normal((height, width), np.float32)
        out, a = np.zeros_like(x), torch.from_numpy(x)
        mine, theirs, plain = fastest(
            lambda x=x, out=out, height=height, width=width: softmax[(height,)](
                x, out, width, BLOCK=1024, backend="cpu"
            ),
            lambda a=a: torch.softmax(a, 1),
            lambda x=x: numpy_softmax(x),
        )
        yield Row(f"softmax {height}x{width} f32" + words, theirs / mine, "x torch", bar, True, f"{mine * 1e3:.2f} ms")
        yield Row(f"softmax {height}x{width} f32" + words, plain / mine, "x numpy", 3, True)
    x, w, b = (
        random.standard_normal((4096, 1024), np.float32),
        random.random(1024, np.float32),
        np.ones(1024, np.float32),
    )
    out, sums = np.zeros_like(x), np.zeros(4096, np.float32)
    tx, tw, tb = (torch.from_numpy(array) for array in (x, w, b))
    mine, theirs = fastest(
        lambda: layer_norm[(4096,)](x, w, b, out, 1024, 1e-5, BLOCK=1024, backend="cpu"),
        lambda: torch.nn.functional.layer_norm(tx, (1024,), tw, tb),
    )
    yield Row("layer norm 4096x1024 f32" + words, theirs / mine, "x torch", 1.8, True, f"{mine * 1e3:.2f} ms")
    mine, theirs = fastest(lambda: row_sum[(4096,)](x, sums, 1024, BLOCK=1024, backend="cpu"), lambda: torch.sum(tx, 1))
    bar = 0.95 if threads == 1 else 0.7
    yield Row("row sum 4096x1024 f32" + words, theirs / mine, "x torch", bar, True, f"{mine * 1e3:.2f} ms")


def _attention(torch: Any, random: np.random.Generator, threads: int, words: str) -> Iterator[Row]:
    heads, length, d = 4, 1024, 64
    q, k, v = random.standard_normal((3, heads, length, d), np.float32)
    out = np.zeros_like(q)
    tensors = [torch.from_numpy(array)[None] for array in (q, k, v)]
    mine, theirs, plain = fastest(
        lambda: attention[(length // 64, heads)](
            q, k, v, out, length, d**-0.5, M=64, N=64, D=d, CAUSAL=True, backend="cpu"
        ),
        lambda: torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True),
        lambda: numpy_attention(q, k, v, d**-0.5),
    )
    bar = 1.3 if threads == 1 else 1.5
    yield Row("causal attention 4x1024x64 f32" + words, theirs / mine, "x torch", bar, True, f"{mine * 1e3:.2f} ms")
    if threads == 1:
        yield Row("causal attention 4x1024x64 f32" + words, plain / mine, "x numpy", 3.4, True)


def numpy_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> np.ndarray:
    scores = np.matmul(q, k.transpose(0, 2, 1)) * np.float32(scale)
    scores = np.where(np.tril(np.ones(scores.shape[1:], np.bool_)), scores, np.float32(-np.inf))
    return np.matmul(numpy_softmax(scores.reshape(-1, scores.shape[2])).reshape(scores.shape), v)


def _product(random: np.random.Generator, m: int, n: int, k: int) -> Run:
    size = 1024
    a, b = random.standard_normal((2, size, size), np.float32)
    out, strides = np.zeros_like(a), (size, 1) * 3
    return lambda: matmul[(size // m * (size // n),)](
        a, b, out, size, size, size, *strides, M=m, N=n, K=k, GROUP=8, backend="cpu"
    )


def _largest_tile(random: np.random.Generator) -> Iterator[Row]:
    run = _product(random, 128, 256, 64)
    (mine,) = fastest(run)
    share = 2 * 1024**3 / mine / peak_rate()
    yield Row("float32 matmul 1024^3, tile 128x256x64, 1 thread", share, "of FMA peak", 0.72, True)


def _scaling() -> Iterator[Row]:
    """Two threads against one, where the arithmetic and not the memory takes the time."""
    random = np.random.default_rng(1)
    q, k, v = random.standard_normal((3, 8, 1024, 64), np.float32)
    out = np.zeros_like(q)
    x, y = random.random(1 << 21, np.float32), np.zeros(1 << 21, np.float32)
    kernels: dict[str, Run] = {
        "matmul 1024^3": _product(random, 128, 128, 64),
        "attention 8x1024x64": lambda: attention[(16, 8)](
            q, k, v, out, 1024, 0.125, M=64, N=64, D=64, CAUSAL=True, backend="cpu"
        ),
        "dropout of 2M": lambda: dropout[(2048,)](x, y, 1 << 21, 0.5, 7, BLOCK=1024, backend="cpu"),
    }
    for name, run in kernels.items():

        def on(threads: int, run: Run = run) -> Run:
            def timed() -> None:
                with mock.patch.dict(os.environ, {knobs.CPU_THREADS.variable: str(threads)}):
                    run()

            return timed

        one, two = fastest(on(1), on(2))
        yield Row(f"{name}: two threads", one / two, "x one thread", 1.75, True)
