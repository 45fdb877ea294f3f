"""Counting and accumulating: histograms, atomic accesses by many programs, functions of scalars, random numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def count(x, counts, some, n, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i, mask=i < n, other=-1)
    bins = tl.arange(0, BINS)
    tl.store(counts + bins, tl.histogram(a, BINS))
    tl.store(some + bins, a.histogram(BINS, mask=(i & 1) == 0))


@tt.jit
def accumulate(x, place, total, most, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + i, mask=i < n)
    at = tl.load(place + i, mask=i < n)
    tl.atomic_add(total + at, a, mask=i < n)
    tl.atomic_max(most + at, a, mask=i < n, sem="relaxed")


@tt.jit
def bits(x, cells, old, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.atomic_or(cells + i, a, sem="release", scope="sys")
    tl.atomic_and(cells + i, a | 12)
    tl.atomic_xor(cells + i, 5)
    tl.atomic_min(cells + i, 100)
    tl.store(old + i, tl.atomic_xchg(cells + i, i))
    tl.store(old + N + i, tl.atomic_cas(cells + i, a, a + 1, sem="acquire", scope="cta"))


@tt.jit
def tickets(counter, out):
    mine = tl.atomic_add(counter, 1)
    tl.atomic_add(out + mine, mine + 1)


@tt.jit
def steps(n, limit):
    count = 0
    while n != 1 and count < limit:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count, n


@tt.jit
def collatz(x, out, last, N: tl.constexpr):
    i = tl.arange(0, N)
    turns, final = tl.map_elementwise(steps, tl.load(x + i), 200)
    tl.store(out + i, turns)
    tl.store(last + i, final)


@tt.jit
def noise(uniform, words, normal, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(uniform + i, tl.rand(seed, i))
    tl.store(words + i, tl.randint(seed, i).to(tl.uint32, bitcast=True))
    tl.store(normal + i, tl.randn(seed, i))


def cases() -> Iterator[Case]:
    yield from counted()
    yield from accumulated()
    numbers = np.arange(1, 65, dtype=np.int32)
    turns = np.array([turns_of(int(n)) for n in numbers], np.int32)
    arguments = {"x": numbers, "out": np.zeros(64, np.int32), "last": np.zeros(64, np.int32), "N": 64}
    yield Case("collatz", collatz, (1,), arguments, {"out": turns, "last": np.ones(64, np.int32)})
    words = philox_words(np.uint64(7), 256)
    signed = words.view(np.int32)
    uniform = (np.where(signed < 0, ~signed, signed).astype(np.float32) * np.float32(4.6566127342e-10)).astype(
        np.float32
    )
    arguments = {"uniform": np.zeros(256, np.float32), "words": np.zeros(256, np.uint32), "seed": 7, "N": 256}
    arguments["normal"] = np.zeros(256, np.float32)
    yield Case("noise", noise, (1,), arguments, {"uniform": uniform, "words": words})


def counted() -> Iterator[Case]:
    x = np.random.default_rng(8).integers(-2, 20, 100).astype(np.int32)
    expected = {
        "counts": np.bincount(x[(x >= 0) & (x < 16)], minlength=16).astype(np.int32),
        "some": np.bincount(x[::2][(x[::2] >= 0) & (x[::2] < 16)], minlength=16).astype(np.int32),
    }
    arguments = {"x": x, "n": 100, "N": 128, "BINS": 16} | {name: np.zeros(16, np.int32) for name in expected}
    yield Case("histogram", count, (1,), arguments, expected)


def accumulated() -> Iterator[Case]:
    rng = np.random.default_rng(9)
    place = rng.integers(0, 5, 250).astype(np.int32)
    for dtype in (np.int32, np.uint64, np.float32, np.float64):
        x = rng.integers(0, 50, 250).astype(dtype)
        total, most = np.zeros(5, dtype), np.zeros(5, dtype)
        np.add.at(total, place, x)
        np.maximum.at(most, place, x)
        arguments = {"x": x, "place": place, "n": 250, "N": 64, "total": np.zeros(5, dtype), "most": np.zeros(5, dtype)}
        yield Case(f"accumulate-{np.dtype(dtype).name}", accumulate, (4,), arguments, {"total": total, "most": most})
    x = rng.integers(0, 16, 64).astype(np.int32)
    old = np.minimum(((x | 3) & (x | 12)) ^ 5, 100).astype(np.int32)
    taken = np.arange(64, dtype=np.int32)
    expected = {"cells": np.where(taken == x, x + 1, taken).astype(np.int32), "old": np.concatenate([old, taken])}
    arguments = {"x": x, "cells": np.full(64, 3, np.int32), "old": np.zeros(128, np.int32), "N": 64}
    yield Case("bits", bits, (1,), arguments, expected)
    expected = {"counter": np.array([16], np.int32), "out": np.arange(1, 17, dtype=np.int32)}
    yield Case("tickets", tickets, (16,), {"counter": np.zeros(1, np.int32), "out": np.zeros(16, np.int32)}, expected)


def turns_of(number: int) -> int:
    turns, number = 0, int(number)
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        turns += 1
    return turns


def philox_words(seed: np.uint64, count: int) -> np.ndarray:
    """The first word of Philox 4x32 with ten rounds, in 64-bit integers."""
    low = np.uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = (np.arange(count, dtype=np.uint64), *(np.zeros(count, np.uint64) for _ in range(3)))
    k0, k1 = seed & low, seed >> np.uint64(32)
    for _ in range(10):
        first, second = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1 = (second >> np.uint64(32)) ^ c1 ^ k0, second & low
        c2, c3 = (first >> np.uint64(32)) ^ c3 ^ k1, first & low
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return c0.astype(np.uint32)
