"""Rows in which elements look at each other, and atomic ones: every dtype and shape class, as the definition says.

The interpreter defines; native code gives the same bits; a GPU the same, but for the order of sums of floats.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.language.atomics import TAKES

NUMPY = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
SHAPES = [(1, 1), (2, 1), (1, 64), (128, 2), (8, 32)]
ENGINES = ["cpu", "sim"]


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    rng = np.random.default_rng([seed, *map(ord, dtype)])
    if dtype.startswith(("f", "b")):
        found = rng.normal(size=shape) * 8
        found.flat[::17] = np.nan
        found.flat[3::19] = -0.0
        found.flat[5::23] = np.inf
        return found.astype(NUMPY[dtype])
    low = 0 if dtype.startswith("u") else -100
    return rng.integers(low, 100, shape).astype(NUMPY[dtype])


def launched(kernel: Any, arrays: dict[str, Any], engine: str, grid: int = 1, **constants: Any) -> dict[str, Any]:
    mine = {name: array.copy() for name, array in arrays.items()}
    kernel[(grid,)](**mine, **constants, backend=engine, **({"math": "full"} if engine == "sim" else {}))
    return mine


def equal(got: Any, want: Any) -> bool:
    """The same bits, or NaN both."""
    bits = np.dtype(f"u{got.dtype.itemsize}")
    return bool(((got.view(bits) == want.view(bits)) | ((got != got) & (want != want))).all())


@tt.jit
def gather(x, index, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    picked = tl.gather(tl.load(x + place), tl.load(index + place), AXIS)
    tl.store(out + place, tl.flip(picked, 1 - AXIS))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", NUMPY)
def test_gather_and_flip(dtype: str, engine: str):
    for number, (m, n) in enumerate(SHAPES):
        x, index = numbers(dtype, (m, n)), numbers(("i32", "i8", "u16", "i64")[number % 4], (m, n), 1)
        for axis in (0, 1):
            arrays = {"x": x, "index": index, "out": np.zeros_like(x)}
            want, got = (launched(gather, arrays, e, AXIS=axis, M=m, N=n)["out"] for e in ("interpreter", engine))
            picked = np.take_along_axis(x, index.astype(np.int64) & ((m, n)[axis] - 1), axis)
            assert equal(want, np.ascontiguousarray(np.flip(picked, 1 - axis))) and equal(got, want), (m, n, axis)


@tt.jit
def scan(x, out, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.cumsum(tl.load(x + place), AXIS, REVERSE))


@tt.jit
def greater(a, b):
    return tl.maximum(a, b)


@tt.jit
def record(x, out, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.associative_scan(tl.load(x + place), AXIS, greater, REVERSE))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", NUMPY)
def test_scans(dtype: str, engine: str):
    for number, (m, n) in enumerate(SHAPES):
        x = numbers(dtype, (m, n))
        options = {"AXIS": number % 2, "REVERSE": number % 3 == 1, "M": m, "N": n}
        want, got = (launched(record, {"x": x, "out": np.zeros_like(x)}, e, **options)["out"]
                     for e in ("interpreter", engine))  # fmt: skip
        assert equal(got, want), (m, n)
        whole = x if x.dtype.kind in "iu" else np.round(np.nan_to_num(x.astype(np.float32), posinf=3)).astype(x.dtype)
        small = (whole % 3).astype(x.dtype) if x.dtype.kind in "iu" else np.clip(whole, -1, 1).astype(x.dtype)
        want, got = (launched(scan, {"x": small, "out": np.zeros_like(x)}, e, **options)["out"]
                     for e in ("interpreter", engine))  # fmt: skip
        assert equal(got, want), (m, n)


@tt.jit
def affine(a, b, c, d):
    return c * a, c * b + d


@tt.jit
def compose(x, y, p, q, AXIS: tl.constexpr, REVERSE: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i, j, k = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    place = (i * B + j) * C + k
    maps = (tl.load(x + place), tl.load(y + place))
    slopes, offsets = tl.associative_scan(maps, AXIS, affine, REVERSE)
    tl.store(p + place, slopes)
    tl.store(p + A * B * C + place, offsets)
    slope, offset = tl.reduce(maps, AXIS, affine, keep_dims=True)
    tl.store(q + place, slope + 0 * place)
    tl.store(q + A * B * C + place, offset + 0 * place)


def composed(x: Any, y: Any, axis: int, reverse: bool) -> tuple[Any, Any]:
    """Every composition from the first map on (the last one, with `reverse`), one step after the other."""
    maps = [np.flip(np.moveaxis(part, axis, 0), 0) if reverse else np.moveaxis(part, axis, 0) for part in (x, y)]
    slopes, offsets = (part.copy() for part in maps)
    for at in range(1, len(slopes)):
        slopes[at], offsets[at] = maps[0][at] * slopes[at - 1], maps[0][at] * offsets[at - 1] + maps[1][at]
    found = [np.flip(part, 0) if reverse else part for part in (slopes, offsets)]
    return np.moveaxis(found[0], 0, axis), np.moveaxis(found[1], 0, axis)


CUBES = [(1, 1, 1), (2, 4, 32), (1, 128, 2), (32, 8, 1), (64, 1, 16), (1, 1, 512)]


@pytest.mark.parametrize("engine", ["interpreter", "eager", *ENGINES])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_maps_are_composed_in_the_order_of_their_indices(engine: str, axis: int):
    for number, shape in enumerate(CUBES):
        rng = np.random.default_rng(number)
        x, y = (2 * rng.integers(-5, 5, shape) + 1).astype(np.int32), rng.integers(-9, 9, shape).astype(np.int32)
        reverse = number % 2 == 1
        scanned, whole = composed(x, y, axis, reverse), composed(x, y, axis, False)
        last = [np.broadcast_to(np.take(part, [-1], axis), shape) for part in whole]
        arrays = {"x": x, "y": y, "p": np.zeros((2, *shape), np.int32), "q": np.zeros((2, *shape), np.int32)}
        options = {"AXIS": axis, "REVERSE": reverse, **dict(zip("ABC", shape, strict=True))}
        for warps in (1, 4, 8) if engine == "sim" else (4,):
            got = launched(compose, arrays, engine, **options, num_warps=warps)
            np.testing.assert_array_equal(got["p"], scanned, str((shape, warps)))
            np.testing.assert_array_equal(got["q"], last, str((shape, warps)))


@tt.jit
def latest(a, b):
    return tl.where(b != 0, b, a)


@tt.jit
def last_numbers(x, whole, lines, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(whole, tl.reduce(tl.trans(tile), None, latest))
    tl.store(lines + j, tl.reduce(tl.reshape(tl.trans(tile), (N, M // 2, 2)), 1, latest).sum(1))


@pytest.mark.parametrize("engine", ["interpreter", *ENGINES])
def test_the_last_number_that_is_not_zero_is_found_in_turned_tiles(engine: str):
    for m, n, warps in ((16, 16, 1), (64, 64, 4), (8, 256, 8)):
        x = np.random.default_rng(m).integers(0, 99, (m, n)).astype(np.int32)
        x[x % 5 > 0] = 0
        got = launched(last_numbers, {"x": x, "whole": x[:1, 0], "lines": x[0]}, engine, M=m, N=n, num_warps=warps)
        assert got["whole"] == [number for number in x.T.flat if number][-1]
        halves = [[next((int(v) for v in line[half::2][::-1] if v), 0) for half in (0, 1)] for line in x.T]
        assert got["lines"].tolist() == [sum(pair) for pair in halves], (m, n)


@tt.jit
def order(x, out, AXIS: tl.constexpr, FALLS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.sort(tl.load(x + place), AXIS, FALLS))


@pytest.mark.parametrize("engine", ["interpreter", *ENGINES])
@pytest.mark.parametrize("dtype", NUMPY)
def test_sort(dtype: str, engine: str):
    for number, (m, n) in enumerate(SHAPES):
        x, axis, falls = numbers(dtype, (m, n)), number % 2, number % 3 == 0
        got = launched(order, {"x": x, "out": np.zeros_like(x)}, engine, AXIS=axis, FALLS=falls, M=m, N=n)["out"]
        want = np.sort(x.astype(np.float64) if x.dtype.kind not in "iu" else x, axis)
        want = np.flip(want, axis) if falls else want
        np.testing.assert_array_equal(got.astype(want.dtype), want)


@tt.jit
def update(x, place, cells, old, KIND: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    at, value, on = cells + tl.load(place + i), tl.load(x + i), (i & 3) != 1
    if KIND == "add":
        before = tl.atomic_add(at, value, mask=on)
    elif KIND == "max":
        before = tl.atomic_max(at, value, mask=on)
    elif KIND == "min":
        before = tl.atomic_min(at, value, mask=on)
    elif KIND == "and":
        before = tl.atomic_and(at, value, mask=on)
    elif KIND == "or":
        before = tl.atomic_or(at, value, mask=on)
    elif KIND == "xor":
        before = tl.atomic_xor(at, value, mask=on)
    elif KIND == "exchange":
        before = tl.atomic_xchg(at, value, mask=on)
    else:
        before = tl.atomic_cas(at, value, value)
    tl.store(old + i, before)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kind", "dtype"), [(kind, dtype) for kind in TAKES for dtype in sorted(TAKES[kind])])
def test_atomic_accesses(kind: str, dtype: str, engine: str):
    for length in (1, 64, 256):
        place = np.random.default_rng(length).permutation(length).astype(np.int32)
        x, cells = numbers(dtype, (length,)), numbers(dtype, (length,), 1)
        arrays = {"x": x, "place": place, "cells": cells, "old": np.zeros_like(x)}
        want, got = (launched(update, arrays, e, KIND=kind, N=length) for e in ("interpreter", engine))
        assert equal(got["cells"], want["cells"]) and equal(got["old"], want["old"]), length


@tt.jit
def guarded(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + 1)
    tl.atomic_xchg(lock, 0)


@pytest.mark.parametrize("engine", ["interpreter", *ENGINES])
def test_a_lock_lets_one_program_in_at_a_time(engine: str):
    arrays = {"lock": np.zeros(1, np.int32), "total": np.zeros(1, np.int32)}
    assert launched(guarded, arrays, engine, grid=24)["total"].tolist() == [24]
