"""Products of matrices on the native engine, bounds checked: share of the peak of one core, and against numpy."""

from __future__ import annotations

import ctypes
import os
import statistics
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np

from tests.benchmarks.measure import Row, interleaved, seconds
from tests.kernels.matmul import matmul
from tinyton_lab.base import knobs
from tinyton_lab.llvm import native

SIZE = 1024
TURNS = 4_000_000
TILES = {(64, 64, 32): 0.55, (128, 128, 64): 0.68}


def peak(lanes: int, chains: int) -> Callable[[], None]:
    """A loop of independent fused multiply-adds of f32 vectors: nothing but the units' own speed."""
    type = f"<{lanes} x float>"
    phis = "\n".join(f"  %a{n} = phi {type} [zeroinitializer, %entry], [%b{n}, %loop]" for n in range(chains))
    steps = "\n".join(
        f"  %b{n} = call {type} @llvm.fma.v{lanes}f32({type} %x, {type} %x, {type} %a{n})" for n in range(chains)
    )
    total = "\n".join(f"  %s{n} = fadd {type} {f'%s{n - 1}' if n else 'zeroinitializer'}, %b{n}" for n in range(chains))
    text = f"""
declare {type} @llvm.fma.v{lanes}f32({type}, {type}, {type})
define void @peak(ptr %p, i64 %n) {{
entry:
  %x = load {type}, ptr %p, align 4
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
{total}
  store {type} %s{chains - 1}, ptr %p, align 4
  ret void
}}
"""
    module = native.session(native.host()).link(text, ["peak"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(module.addresses["peak"])
    memory = np.zeros(64, np.float32)

    def run(kept: native.NativeModule = module) -> None:
        function(memory.ctypes.data, TURNS)

    return run


def peak_rate() -> float:
    """Floating-point operations per second of one core, the widest vectors that are the fastest."""
    widths = [lanes for lanes in (4, 8, 16) if 32 * lanes <= native.host().vector_bits]
    rates: list[float] = []
    for lanes in widths:
        run = peak(lanes, 12)
        run()
        rates.append(max(2 * lanes * 12 * TURNS / seconds(run) for _ in range(3)))
    return max(rates)


def rows() -> Iterator[Row]:
    with mock.patch.dict(os.environ, {knobs.CPU_THREADS.variable: "1"}):
        yield from _rows()


def _rows() -> Iterator[Row]:
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, SIZE, SIZE), np.float32)
    for (m, n, k), bar in TILES.items():
        yield from _tile(a, b, m, n, k, bar)
    for name in ("float16",):
        yield from _tile(a.astype(name), b.astype(name), 128, 128, 64, 0.0)


def _tile(a: np.ndarray, b: np.ndarray, m: int, n: int, k: int, bar: float) -> Iterator[Row]:
    out = np.zeros((SIZE, SIZE), np.float32)
    grid = ((SIZE // m) * (SIZE // n),)
    strides = (SIZE, 1, SIZE, 1, SIZE, 1)

    def ours() -> None:
        matmul[grid](a, b, out, SIZE, SIZE, SIZE, *strides, M=m, N=n, K=k, GROUP=8, backend="cpu")

    single = [x.astype(np.float32) for x in (a, b)]
    other = np.zeros_like(out)
    ours()
    rates: list[float] = []
    shares: list[float] = []
    mine, theirs = interleaved(ours, lambda: np.matmul(*single, out=other), rounds=5)
    for _ in range(3):
        top = peak_rate()
        rates.append(2 * SIZE**3 / seconds(ours))
        shares.append(rates[-1] / top)
    name = f"{a.dtype} matmul {SIZE}^3, tile {m}x{n}x{k}"
    note = f"{statistics.median(rates) / 1e9:.1f} GFLOP/s"
    yield Row(name, statistics.median(shares), "of FMA peak", bar, True, note)
    yield Row(name, theirs / mine, "x numpy", 0.0, True, f"{mine * 1e3:.1f} ms")
