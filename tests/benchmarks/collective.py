"""The native engine on one thread against numpy: argmax, scans, sorts, gathers, histograms, atomics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.benchmarks.measure import Row, interleaved
from tinyton_lab.base import knobs

Run = Callable[[], object]
HEIGHT, WIDTH, BINS, FIRST = 1024, 1024, 256, 8


@tt.jit
def argmax(x, out, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row, tl.argmax(tl.load(x + row * BLOCK + columns), axis=0))


@tt.jit
def cumsum(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@tt.jit
def sort(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@tt.jit
def topk(x, out, BLOCK: tl.constexpr, K: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row * K + tl.arange(0, K), tl.topk(tl.load(x + row * BLOCK + columns), K))


@tt.jit
def gather(x, index, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@tt.jit
def take(x, index, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + tl.load(index + at)))


@tt.jit
def histogram(index, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row * BINS + tl.arange(0, BINS), tl.histogram(tl.load(index + row * BLOCK + columns), BINS))


@tt.jit
def count(index, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(index + at), 1)


def rows() -> Iterator[Row]:
    with mock.patch.dict(os.environ, {knobs.CPU_THREADS.variable: "1"}):
        for name, (ours, numpy, bar) in _contenders().items():
            ours()
            numpy()
            mine, theirs = interleaved(ours, numpy)
            yield Row(name, theirs / mine, "x numpy", bar, True, f"{mine * 1e3:.2f} ms")


def _contenders() -> dict[str, tuple[Run, Run, float]]:
    """Ours, numpy's, and the bar: 1 where numpy runs a plain loop, 0 (only shown) where it has code of its own."""
    random = np.random.default_rng(0)
    x, index = random.standard_normal((HEIGHT, WIDTH), np.float32), random.integers(0, WIDTH, (HEIGHT, WIDTH))
    narrow, bins = index.astype(np.int32), (index % BINS).astype(np.int32)
    out, places, counts = np.zeros_like(x), np.zeros(HEIGHT, np.int32), np.zeros((HEIGHT, BINS), np.int32)
    best, totals, flat = np.zeros((HEIGHT, FIRST), np.float32), np.zeros(WIDTH, np.int32), narrow.ravel()

    def run(kernel: tt.Kernel, *arguments: object, **constants: int) -> Run:
        return lambda: kernel[(HEIGHT,)](*arguments, BLOCK=WIDTH, backend="cpu", **constants)

    return {
        "argmax of rows": (run(argmax, x, places), lambda: x.argmax(1), 0),
        "cumsum of rows": (run(cumsum, x, out), lambda: np.cumsum(x, 1, out=out), 1),
        "sort of rows": (run(sort, x, out), lambda: np.sort(x, 1), 0),
        "topk of rows, 8 of 1024": (run(topk, x, best, K=FIRST), lambda: np.partition(x, WIDTH - FIRST, 1), 0),
        "gather within rows": (run(gather, x, narrow, out), lambda: np.take_along_axis(x, index, 1), 1),
        "load through indices": (run(take, x, narrow, out), lambda: np.take(x.ravel(), flat), 1),
        "histogram of rows": (
            run(histogram, bins, counts, BINS=BINS),
            lambda: [np.bincount(row, minlength=BINS) for row in bins],
            1,
        ),
        "counts by atomic_add": (run(count, narrow, totals), lambda: np.bincount(flat, minlength=WIDTH), 0),
    }
