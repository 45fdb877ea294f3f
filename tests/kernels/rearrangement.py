"""Elements in other places: joined, split, gathered, flipped, sorted, scanned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def arrange(x, halves, turns, both, back, picked, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    first, second = tl.split(tl.reshape(a, (N // 2, 2)))
    tl.store(halves + tl.arange(0, N), tl.cat(first, second))
    tl.store(turns + tl.arange(0, 2 * N), tl.interleave(a, a + a))
    tl.store(both + tl.arange(0, N)[:, None] * 2 + tl.arange(0, 2)[None, :], tl.join(a, a - a))
    tl.store(back + i, tl.flip(a))
    tl.store(picked + i, tl.gather(a, (i * 7) & (N - 1), 0))


@tt.jit
def scan(x, rows, columns, products, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + place)
    tl.store(rows + place, tl.cumsum(a, 1))
    tl.store(columns + place, tl.cumsum(a, 0, reverse=True))
    tl.store(products + place, tl.cumprod(a, 1))


@tt.jit
def latest(value, place, other, at):
    newer = at >= place
    return tl.where(newer, other, value), tl.where(newer, at, place)


@tt.jit
def running(x, mask, out, where, N: tl.constexpr):
    i = tl.arange(0, N)
    seen = tl.where(tl.load(mask + i) != 0, i, -1)
    value, place = tl.associative_scan((tl.load(x + i), seen), 0, latest)
    tl.store(out + i, tl.where(place >= 0, value, 0))
    tl.store(where + i, place)


@tt.jit
def order(x, up, down, best, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + place)
    tl.store(up + place, tl.sort(a))
    tl.store(down + place, tl.sort(a, 0, True))
    tl.store(best + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], tl.topk(a, K))


def cases() -> Iterator[Case]:
    yield from arranged()
    yield from scanned()
    yield from ordered()
    yield from places()


def arranged() -> Iterator[Case]:
    for dtype in (np.float32, np.int8, np.float16, np.int64):
        x = np.arange(64).astype(dtype)
        outputs = {"halves": 64, "turns": 128, "both": 128, "back": 64, "picked": 64}
        expected = {
            "halves": np.concatenate([x[::2], x[1::2]]),
            "turns": np.stack([x, x + x], 1).reshape(-1),
            "both": np.stack([x, x - x], 1).reshape(-1),
            "back": x[::-1],
            "picked": x[np.arange(64) * 7 % 64],
        }
        arguments = {"x": x, "N": 64} | {name: np.zeros(size, dtype) for name, size in outputs.items()}
        yield Case(f"arrange-{np.dtype(dtype).name}", arrange, (1,), arguments, expected)


def scanned() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    for dtype in (np.float32, np.int32, np.int64):
        x = rng.integers(-3, 4, (8, 32)).astype(dtype)
        expected = {
            "rows": x.cumsum(1, dtype),
            "columns": x[::-1].cumsum(0, dtype)[::-1],
            "products": x.cumprod(1, dtype),
        }
        arguments = {"x": x, "M": 8, "N": 32} | {name: np.zeros((8, 32), dtype) for name in expected}
        yield Case(f"scan-{np.dtype(dtype).name}", scan, (1,), arguments, expected)
    x, mask = rng.normal(size=256).astype(np.float32), (rng.random(256) < 0.1).astype(np.int8)
    where = np.maximum.accumulate(np.where(mask != 0, np.arange(256), -1)).astype(np.int32)
    expected = {"out": np.where(where >= 0, x[where], 0).astype(np.float32), "where": where}
    arguments = {"x": x, "mask": mask, "N": 256} | {n: np.zeros(256, v.dtype) for n, v in expected.items()}
    yield Case("scan-pairs", running, (1,), arguments, expected)


def ordered() -> Iterator[Case]:
    rng = np.random.default_rng(6)
    for dtype in (np.float32, np.int16, np.uint32, np.float16):
        x = (rng.normal(size=(4, 64)) * 50 + 100 * (dtype is np.uint32)).astype(dtype)
        if dtype is np.float32:
            x[0, :4] = np.nan, np.inf, -np.inf, 0.0
        up = np.sort(x, 1)
        expected = {"up": up, "down": np.sort(x, 0)[::-1], "best": up[:, ::-1][:, :8]}
        arguments = {"x": x, "M": 4, "N": 64, "K": 8} | {n: np.zeros(v.shape, dtype) for n, v in expected.items()}
        yield Case(f"sort-{np.dtype(dtype).name}", order, (1,), arguments, expected)


@tt.jit
def extremes(x, greatest, least, last, N: tl.constexpr):
    row = tl.program_id(0)
    a = tl.load(x + row * N + tl.arange(0, N))
    tl.store(greatest + row, tl.argmax(a, 0))
    tl.store(least + row, tl.argmin(a, 0))
    tl.store(last + row, tl.argmax(a, 0, tie_break_left=False))


def places() -> Iterator[Case]:
    """Ties, NaN among numbers, nothing but NaN."""
    x = np.random.default_rng(7).integers(0, 9, (4, 512)).astype(np.float32)
    x[1, ::3], x[2], x[3] = np.nan, np.nan, 5
    loses = np.where(np.isnan(x), -np.inf, x)
    wins = np.where(np.isnan(x), np.inf, x)
    expected = {
        "greatest": loses.argmax(1).astype(np.int32),
        "least": wins.argmin(1).astype(np.int32),
        "last": (511 - loses[:, ::-1].argmax(1)).astype(np.int32),
    }
    arguments = {"x": x, "N": 512} | {name: np.zeros(4, np.int32) for name in expected}
    yield Case("places-of-extremes", extremes, (4,), arguments, expected)
