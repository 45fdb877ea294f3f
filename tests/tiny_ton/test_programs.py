"""Programs as people write them in tiny-ton's dialect, on every engine, with any number of lanes, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyton_lab.tiny_ton as tt

ENGINES = ["interpreter", "eager", "cpu", "sim"]
Array = Any


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@tt.jit
def elementwise(x, y, out, n, BLOCK: tt.constexpr):
    at = tt.program_id(0) * BLOCK + tt.arange(0, BLOCK)
    inside = at < n
    a, b = tt.load(x + at, mask=inside), tt.load(y + at, mask=inside)
    tt.store(out + at, tt.max(a, b) * 2 - tt.relu(a) + tt.abs(b) / 4, mask=inside)


@tt.jit
def functions(x, out, n, BLOCK: tt.constexpr):
    at = tt.program_id(0) * BLOCK + tt.arange(0, BLOCK)
    v = tt.abs(tt.load(x + at, mask=at < n)) + 0.5
    tt.store(out + at, tt.exp(-v) + tt.log(v) + tt.sqrt(v) * tt.rsqrt(v + 1), mask=at < n)


@tt.jit
def reductions(x, out, n, BLOCK: tt.constexpr):
    row = tt.program_id(0)
    lane = tt.arange(0, BLOCK)
    v = tt.load(x + row * n + lane, mask=lane < n)
    tt.store(out + row, tt.reduce_sum(v) + tt.reduce_max(v))


@tt.jit
def gather(table, rows, out, n, BLOCK: tt.constexpr):
    token = tt.program_id(0)
    lane = tt.arange(0, BLOCK)
    row = tt.load(rows + token)
    tt.store(out + token * n + lane, tt.load(table + row * n + lane, mask=lane < n), mask=lane < n)


@tt.jit
def softmax(x, out, n, BLOCK: tt.constexpr):
    row, lane = tt.program_id(0), tt.arange(0, BLOCK)
    v = tt.load(x + row * n + lane, mask=lane < n, other=-float("inf"))
    weights = tt.exp(v - tt.reduce_max(v))
    tt.store(out + row * n + lane, weights / tt.reduce_sum(weights), mask=lane < n)


@tt.jit
def rmsnorm(x, gain, out, n, epsilon, BLOCK: tt.constexpr):
    row, lane = tt.program_id(0), tt.arange(0, BLOCK)
    v = tt.load(x + row * n + lane, mask=lane < n)
    scale = tt.rsqrt(tt.reduce_sum(v * v) / n + epsilon)
    tt.store(out + row * n + lane, v * scale * tt.load(gain + lane, mask=lane < n), mask=lane < n)


@tt.jit
def linear(w, x, out, n, BLOCK: tt.constexpr):
    row, lane = tt.program_id(0), tt.arange(0, BLOCK)
    acc = 0.0
    for k in range(0, n, BLOCK):
        inside = k + lane < n
        acc = acc + tt.load(w + row * n + k + lane, mask=inside) * tt.load(x + k + lane, mask=inside)
    tt.store(out + row, tt.reduce_sum(acc))


@tt.jit
def linear_of_two_rows(w, x, out, n, BLOCK: tt.constexpr):
    first, lane = tt.program_id(0) * 2, tt.arange(0, BLOCK)
    inside = lane < n
    tt.shared_store(lane, tt.load(x + lane, mask=inside))
    tt.sync()
    shared = tt.shared_load(lane)
    for row in range(2):
        product = tt.load(w + (first + row) * n + lane, mask=inside) * shared
        tt.store(out + first + row, tt.reduce_sum(product))


@tt.jit
def cross_entropy(logits, targets, out, n, BLOCK: tt.constexpr):
    row, lane = tt.program_id(0), tt.arange(0, BLOCK)
    v = tt.load(logits + row * n + lane, mask=lane < n, other=-float("inf"))
    most = tt.reduce_max(v)
    wanted = tt.load(logits + row * n + tt.load(targets + row))
    tt.store(out + row, tt.log(tt.reduce_sum(tt.exp(v - most))) + most - wanted)


@tt.jit
def attention(q, k, v, out, length, scale, D: tt.constexpr):
    """One query after the other against all keys, the softmax kept up to date."""
    query, lane = tt.program_id(0), tt.arange(0, D)
    own = tt.load(q + query * D + lane) * scale
    most, total, acc = -1e30, 0.0, 0.0
    for key in range(length):
        score = tt.reduce_sum(own * tt.load(k + key * D + lane))
        highest = tt.max(most, score)
        fade, weight = tt.exp(most - highest), tt.exp(score - highest)
        total = total * fade + weight
        acc = acc * fade + weight * tt.load(v + key * D + lane)
        most = highest
    tt.store(out + query * D + lane, acc / total)


def weights_of(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def run_elementwise(engine: str, lanes: int) -> tuple[Array, Array]:
    x, y, out = normal(70), normal(70)[::-1].copy(), np.zeros(70, np.float32)
    elementwise[(-(-70 // lanes),)](x, y, out, 70, lanes, backend=engine)
    return out, np.maximum(x, y) * 2 - np.maximum(x, 0) + np.abs(y) / 4


def run_functions(engine: str, lanes: int) -> tuple[Array, Array]:
    x, out = normal(70), np.zeros(70, np.float32)
    functions[(-(-70 // lanes),)](x, out, 70, lanes, backend=engine)
    v = np.abs(x.astype(np.float64)) + 0.5
    return out, np.exp(-v) + np.log(v) + np.sqrt(v) / np.sqrt(v + 1)


def run_reductions(engine: str, lanes: int) -> tuple[Array, Array]:
    x, out = normal(4, lanes), np.zeros(4, np.float32)
    reductions[(4,)](x, out, lanes, lanes, backend=engine)
    return out, x.sum(1) + x.max(1)


def run_gather(engine: str, lanes: int) -> tuple[Array, Array]:
    table, rows, out = normal(8, lanes), np.array([3, 0, 7], np.int32), np.zeros((3, lanes), np.float32)
    gather[(3,)](table, rows, out, lanes, lanes, backend=engine)
    return out, table[rows]


def run_softmax(engine: str, lanes: int) -> tuple[Array, Array]:
    x, out = normal(3, max(lanes - 1, 1)), np.zeros((3, max(lanes - 1, 1)), np.float32)
    softmax[(3,)](x, out, x.shape[1], lanes, backend=engine)
    return out, weights_of(x)


def run_rmsnorm(engine: str, lanes: int) -> tuple[Array, Array]:
    x, gain, out = normal(3, lanes), normal(lanes), np.zeros((3, lanes), np.float32)
    rmsnorm[(3,)](x, gain, out, lanes, 1e-5, lanes, backend=engine)
    return out, x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * gain


def run_linear(engine: str, lanes: int) -> tuple[Array, Array]:
    w, x, out = normal(5, 77), normal(77), np.zeros(5, np.float32)
    linear[(5,)](w, x, out, 77, lanes, backend=engine)
    return out, w @ x


def run_two_rows(engine: str, lanes: int) -> tuple[Array, Array]:
    w, x, out = normal(6, lanes), normal(lanes), np.zeros(6, np.float32)
    linear_of_two_rows[(3,)](w, x, out, lanes, lanes, backend=engine)
    return out, w @ x


def run_cross_entropy(engine: str, lanes: int) -> tuple[Array, Array]:
    logits, targets, out = normal(3, lanes), np.array([0, lanes // 2, lanes - 1], np.int32), np.zeros(3, np.float32)
    cross_entropy[(3,)](logits, targets, out, lanes, lanes, backend=engine)
    return out, -np.log(weights_of(logits)[np.arange(3), targets])


def run_attention(engine: str, lanes: int) -> tuple[Array, Array]:
    q, k, v = normal(3, 6, lanes)
    out, scale = np.zeros_like(q), lanes**-0.5
    attention[(6,)](q, k, v, out, 6, scale, lanes, backend=engine)
    return out, weights_of(q @ k.T * scale) @ v


PROGRAMS = (
    run_elementwise, run_functions, run_reductions, run_gather, run_softmax, run_rmsnorm, run_linear, run_two_rows,
    run_cross_entropy, run_attention,
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lanes", [27, 64])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__[4:])
def test_a_program(program: Callable[[str, int], tuple[Array, Array]], engine: str, lanes: int):
    got, want = program(engine, lanes)
    assert np.allclose(got, want, rtol=2e-5, atol=2e-5)


# Products of matrices, each step of the ladder
@tt.jit
def naive(a, b, c, M, N, K, LANES: tt.constexpr):
    """A lane per element of C."""
    at = tt.program_id(0) * LANES + tt.arange(0, LANES)
    row, column = at // N, at % N
    inside = at < M * N
    acc = 0.0
    for k in range(K):
        acc = acc + tt.load(a + row * K + k, mask=inside) * tt.load(b + k * N + column, mask=inside)
    tt.store(c + at, acc, mask=inside)


@tt.jit
def tiled(a, b, c, M, N, K, LANES: tt.constexpr):
    """A program per element of C, its lanes along K."""
    at, lane = tt.program_id(0), tt.arange(0, LANES)
    row, column = at // N, at % N
    acc = 0.0
    for k in range(0, K, LANES):
        acc = acc + tt.load(a + row * K + k + lane) * tt.load(b + (k + lane) * N + column)
    tt.store(c + at, tt.reduce_sum(acc))


@tt.jit
def shared(a, b, c, M, N, K, T: tt.constexpr):
    """A program per tile of T times T elements; each number read is used T times."""
    lane = tt.arange(0, T * T)
    i, j = lane // T, lane % T
    row, column = tt.program_id(0) * T + i, tt.program_id(1) * T + j
    acc = 0.0
    for k in range(0, K, T):
        tt.shared_store(lane, tt.load(a + row * K + k + j), buffer_size=2 * T * T)
        tt.shared_store(T * T + lane, tt.load(b + (k + i) * N + column))
        tt.sync()
        for t in range(T):
            acc = acc + tt.shared_load(i * T + t) * tt.shared_load(T * T + t * T + j)
        tt.sync()
    tt.store(c + row * N + column, acc)


@tt.jit
def swizzled(a, b, c, M, N, K, T: tt.constexpr):
    """The like, with B kept column by column, its slots mixed so that lanes hit different banks."""
    lane = tt.arange(0, T * T)
    i, j = lane // T, lane % T
    row, column = tt.program_id(0) * T + i, tt.program_id(1) * T + j
    acc = 0.0
    for k in range(0, K, T):
        tt.shared_store(lane, tt.load(a + row * K + k + j), buffer_size=2 * T * T)
        tt.shared_store(T * T + j * T + (i ^ j), tt.load(b + (k + i) * N + column))
        tt.sync()
        for t in range(T):
            acc = acc + tt.shared_load(i * T + t) * tt.shared_load(T * T + j * T + (t ^ j))
        tt.sync()
    tt.store(c + row * N + column, acc)


@tt.jit
def vectorised(a, b, c, M, N, K, T: tt.constexpr):
    """The like, four numbers of A and B read at once, along K four times as far."""
    lane = tt.arange(0, T * T)
    i, j = lane // T, lane % T
    row, column = tt.program_id(0) * T + i, tt.program_id(1) * T + j
    acc = 0.0
    for k in range(0, K, 4 * T):
        four = tt.load4(a + row * K + k + j * 4)
        for part in range(4):
            tt.shared_store(i * 4 * T + j * 4 + part, four[part], buffer_size=8 * T * T)
            tt.shared_store(4 * T * T + part * T * T + lane, tt.load(b + (k + part * T + i) * N + column))
        tt.sync()
        for t in range(4 * T):
            acc = acc + tt.shared_load(i * 4 * T + t) * tt.shared_load(4 * T * T + t * T + j)
        tt.sync()
    tt.store(c + row * N + column, acc)


LADDER = [(naive, 30, False), (tiled, 8, False), (shared, 4, True), (swizzled, 4, True), (vectorised, 4, True)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kernel", "size", "square"), LADDER, ids=[kernel.__name__ for kernel, _, _ in LADDER])
def test_a_product(kernel: Any, size: int, square: bool, engine: str):
    rows, columns, depth = 8, 12, 32
    a, b, c = normal(rows, depth), normal(depth, columns), np.zeros((rows, columns), np.float32)
    grid = (rows // size, columns // size) if square else (-(-rows * columns // (size if kernel is naive else 1)),)
    more = {"sanitize": True} if engine == "sim" else {}
    launch = kernel[grid](a, b, c, rows, columns, depth, size, backend=engine, **more)
    assert np.allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    assert [finding for finding in launch.findings or () if finding.severity == "error"] == []
