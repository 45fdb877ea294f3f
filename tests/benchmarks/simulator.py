"""The PTX simulator: lane instructions per second, microseconds per instruction of one CTA, cost of recording."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tests.benchmarks.measure import Row, interleaved, seconds
from tests.sim import corpus
from tinyton_lab.ptx.text import parse
from tinyton_lab.sim import Launch, Module, load
from tinyton_lab.sim.fast import engine

_VECTOR_ADD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y, .param .u64 z, .param .u32 n)
{
.reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %d<10>;
ld.param.b64 %d1, [x]; ld.param.b64 %d2, [y]; ld.param.b64 %d3, [z]; ld.param.b32 %r1, [n];
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; shl.b32 %r4, %r3, 7; or.b32 %r5, %r4, %r2;
setp.lt.s32 %p1, %r5, %r1; mul.wide.s32 %d4, %r5, 4;
add.s64 %d5, %d1, %d4; add.s64 %d6, %d2, %d4; add.s64 %d7, %d3, %d4;
mov.u32 %r6, 0; @%p1 ld.global.b32 %r6, [%d5]; mov.u32 %r7, 0; @%p1 ld.global.b32 %r7, [%d6];
add.f32 %r8, %r6, %r7; @%p1 st.global.b32 [%d7], %r8;
ret;
}
"""


def _loop(module: Module, count: int) -> Callable[[], Launch]:
    x = np.ones(count, np.float32)
    z = np.zeros_like(x)
    return lambda: module.launch("add", -(-count // 128), 128, [x, x, z, np.int32(count)])


def _opened(kernel: str) -> tuple[Module, str]:
    """A module of the corpus, and the name of a kernel's entry."""
    row = corpus.KERNELS[kernel]
    return corpus.module(row["ptx"]), json.loads((corpus.ROOT / row["manifest"]).read_text())["entry"]


def _rate(run: Callable[..., Launch]) -> float:
    """G lane-instructions per second of the fast engine on one thread; the trace engine counts them."""
    lanes = run(engine="trace").counts["lane_instructions"]
    run(engine="fast", threads=1)
    return lanes / statistics.median(seconds(lambda: run(engine="fast", threads=1)) for _ in range(5)) / 1e9


def _machine_code(add: Module) -> Iterator[Row]:
    """Kernels of the corpus on larger arrays, on the fast engine."""
    rng = np.random.default_rng(0)
    x, count = np.ones(1 << 22, np.float32), np.int32(1 << 22)
    rate = _rate(partial(add.launch, "add", 1 << 15, 128, [x, x, np.zeros_like(x), count]))
    yield Row("fast: vector add of 4M elements", rate, "G lane-instr/s", 4, True)
    module, entry = _opened("triton/softmax_fp32@80")
    rows, columns = (np.int32(n) for n in (4096, 781))
    x = rng.standard_normal((4096, 781)).astype(np.float32)
    passed = [x, np.zeros_like(x), rows, columns, columns, columns, None, None]
    rate = _rate(partial(module.launch, entry, 4096, 128, passed, 16))
    yield Row("fast: softmax 4096x781", rate, "G lane-instr/s", 4, True)
    module, entry = _opened("cuda/c_mandel@90")
    passed = [np.zeros(1 << 20, np.int32), *map(np.int32, (1024, 1024, 100))]
    rate = _rate(partial(module.launch, entry, 1 << 13, 128, passed))
    yield Row("fast: mandelbrot 1024x1024", rate, "G lane-instr/s", 5, True)
    module, entry = _opened("triton/matmul_f16@80")
    a, b = (rng.standard_normal((1024, 1024)).astype(np.float16) for _ in range(2))
    passed = [a, b, np.zeros_like(a), *[np.int32(1024)] * 6, None, None]
    run = partial(module.launch, entry, (16, 16), 128, passed, 16384, engine="fast")
    program = module.program(entry)
    yield Row("fast: machine code of the f16 matmul", seconds(lambda: engine.translate(program)), "s", 0.3, False)
    yield Row("fast: f16 matmul 1024^3 on all processors", seconds(run, 3, time.perf_counter), "s", 3, False)


def rows() -> Iterator[Row]:
    module = load(_VECTOR_ADD)
    run = _loop(module, 1 << 20)
    lanes = run().counts["lane_instructions"]
    spent = statistics.median(seconds(run) for _ in range(9))
    yield Row("vector add of 1M elements", lanes / spent / 1e6, "M lane-instr/s", 100, True)
    softmax, _ = corpus.prepare("triton/softmax_fp32@80")
    lanes = softmax().counts["lane_instructions"]
    spent = statistics.median(seconds(softmax) for _ in range(9))
    yield Row("softmax of the corpus", lanes / spent / 1e6, "M lane-instr/s", 100, True)
    yield from _machine_code(module)
    small = _loop(module, 128)
    steps = small().counts["steps"]
    yield Row("vector add, one CTA of 128 lanes", seconds(small, 200) / steps * 1e6, "us/instruction", 20, False)
    matmul, _ = corpus.prepare("triton/matmul_f16@80")
    recorded, plain = interleaved(lambda: matmul(record="warp", recorded_ctas=1), matmul, 25)
    yield Row("recording one CTA of a matmul", recorded / plain, "x unrecorded", 1.3, False)
    texts = [corpus.text_of(path) for path in sorted({row["ptx"] for row in corpus.KERNELS.values()})]
    size = sum(map(len, texts))
    yield Row("parser", size / seconds(lambda: [parse(text) for text in texts]) / 1e6, "MB/s", 1, True)
