"""Combining functions that branch, loop and return early: the same on every engine, in order, along every axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl

ENGINES = ["eager", "interpreter", "cpu", "sim"]
X = np.random.default_rng(11).integers(-9, 10, (4, 8)).astype(np.int32)


@tt.jit
def last_natural(a, b):
    """The later of two numbers unless it is negative: associative, not commutative."""
    if b >= 0:
        return b
    return a


@tt.jit
def stepped(a, b):
    """The greater of two numbers, found by a loop."""
    for _ in range(2):
        if a < b:
            a = b
    return a


@tt.jit
def best(a, i, b, j):
    """The greater number and where it is; of equals the first."""
    result, place = a, i
    while result < b:
        result = b
        place = j
    return result, place


@tt.jit
def kernel(x, reduced, kept, whole, up, down, AXIS: tl.constexpr, LENGTH: tl.constexpr, combine: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tile = tl.load(x + at)
    tl.store(reduced + tl.arange(0, LENGTH), tl.reduce(tile, AXIS, combine))
    tl.store(kept + at, tile + tl.reduce(tile, AXIS, combine, keep_dims=True))
    tl.store(whole, tl.reduce(tile, None, combine))
    tl.store(up + at, tl.associative_scan(tile, AXIS, combine))
    tl.store(down + at, tl.associative_scan(tile, AXIS, combine, reverse=True))


@tt.jit
def pairs(x, values, places, running, AXIS: tl.constexpr, LENGTH: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tile = tl.load(x + at)
    number, place = tl.reduce((tile.to(tl.float16), at.to(tl.int64)), AXIS, best)
    tl.store(values + tl.arange(0, LENGTH), number)
    tl.store(places + tl.arange(0, LENGTH), place)
    tl.store(running + at, tl.associative_scan((tile.to(tl.float16), at.to(tl.int64)), AXIS, best)[1])


def folded(function: Any, x: np.ndarray, axis: int) -> np.ndarray:
    """Every prefix along an axis, combined from the left."""
    rows = np.moveaxis(x, axis, 0)
    found = [rows[0]]
    for row in rows[1:]:
        found.append(function(found[-1], row))
    return np.moveaxis(np.array(found), 0, axis)


FUNCTIONS = {"last": (last_natural, lambda a, b: np.where(b >= 0, b, a)), "greatest": (stepped, np.maximum)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_tile(name: str, axis: int, engine: str):
    combine, function = FUNCTIONS[name]
    up = folded(function, X, axis)
    down = np.flip(folded(function, np.flip(X, axis), axis), axis)
    total = np.take(up, -1, axis)
    out = [np.zeros_like(x) for x in (total, X, X[0, :1], X, X)]
    kernel[(1,)](X, *out, axis, total.size, combine, backend=engine)
    wanted = [total, X + np.expand_dims(total, axis), folded(function, X.ravel(), 0)[-1:], up, down]
    for seen, value in zip(out, wanted, strict=True):
        np.testing.assert_array_equal(seen, value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("axis", [0, 1])
def test_tiles_of_several_dtypes(axis: int, engine: str):
    length = X.shape[1 - axis]
    values, places, running = np.zeros(length, np.float16), np.zeros(length, np.int64), np.zeros(X.shape, np.int64)
    pairs[(1,)](X, values, places, running, axis, length, backend=engine)
    np.testing.assert_array_equal(values, X.max(axis))
    np.testing.assert_array_equal(X.ravel()[places], X.max(axis))
    first = X.argmax(axis)
    index = first * 8 + np.arange(8) if axis == 0 else np.arange(4) * 8 + first
    np.testing.assert_array_equal(places, index)
    np.testing.assert_array_equal(np.take(running, -1, axis), index)
