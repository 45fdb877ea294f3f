"""Attention in one pass over the keys, with or without a causal mask: each program keeps a tile of queries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def attention(
    q, k, v, out, length, scale,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    first, head = tl.program_id(0) * M, tl.program_id(1)
    m, n, d = first + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    start = head * length * D
    queries = tl.load(q + start + m[:, None] * D + d[None, :], mask=(m < length)[:, None], other=0.0)
    queries = (queries * (scale * 1.4426950408889634)).to(q.dtype.element_ty)
    most = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    last = tl.minimum(first + M, length) if CAUSAL else length
    for key in range(0, last, N):
        here = key + n
        keys = tl.load(k + start + here[None, :] * D + d[:, None], mask=(here < length)[None, :], other=0.0)
        scores = tl.dot(queries, keys)
        visible = (here < length)[None, :]
        if CAUSAL:
            visible = visible & (m[:, None] >= here[None, :])
        scores = tl.where(visible, scores, -1e30)
        highest = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - highest[:, None])
        fade = tl.exp2(most - highest)
        total = total * fade + tl.sum(weights, 1)
        values = tl.load(v + start + here[:, None] * D + d[None, :], mask=(here < length)[:, None], other=0.0)
        acc = tl.dot(weights.to(v.dtype.element_ty), values, acc * fade[:, None])
        most = highest
    result = (acc / total[:, None]).to(out.dtype.element_ty)
    tl.store(out + start + m[:, None] * D + d[None, :], result, mask=(m < length)[:, None])


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    """The answer in f64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return weights / weights.sum(2, keepdims=True) @ v


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(20)
    for length, causal, dtype in ((50, True, np.float32), (64, False, np.float32), (33, True, np.float16)):
        q, k, v = rng.standard_normal((3, 2, length, 16)).astype(dtype)
        sizes = {"length": length, "scale": 0.25, "M": 32, "N": 16, "D": 16, "CAUSAL": causal}
        yield Case(
            f"{'causal' if causal else 'whole'}-{length}-{np.dtype(dtype)}",
            attention,
            (-(-length // 32), 2),
            {"q": q, "k": k, "v": v, "out": np.zeros_like(q), **sizes},
            {"out": expected(q, k, v, 0.25, causal)},
            2e-3 if dtype is np.float16 else 2e-6,
        )
