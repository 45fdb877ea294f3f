"""Tiles that are stored under a mask and read whole elsewhere: what lies beyond the mask is needed too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def late_readers(x, y, whole, part, n, turns):
    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tile = tl.load(x + at, mask=at < n, other=7) | tl.load(y + at)
    carried = tile
    for _ in range(turns):
        carried = at - carried
    tl.store(whole + at, carried)
    tl.store(part + at, tile, mask=at < n)


@tt.jit
def shared_twice(x, y, first, part, whole, n):
    """Two tiles are kept, one made of the other: the first is stored under a mask only, the second also whole."""
    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tile = (tl.load(x + at) // 3 * tl.load(y + at)).to(tl.float64)
    tl.store(first + at, tile, mask=at < n)
    tl.store(part + at, tile, mask=at < n)
    tl.store(whole + at, tile)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(30)
    for n, turns in ((0, 1), (13, 1), (13, 2), (32, 3)):
        x, y = rng.integers(0, 99, (2, 32)).astype(np.int32)
        tile = np.where(np.arange(32) < n, x, 7) | y
        carried = tile
        for _ in range(turns):
            carried = np.arange(32, dtype=np.int32) - carried
        arguments = {"x": x, "y": y, "whole": np.zeros(32, np.int32), "part": np.zeros(32, np.int32)}
        expected = {"whole": carried, "part": np.where(np.arange(32) < n, tile, 0)}
        yield Case(f"{n}-{turns}", late_readers, (1,), {**arguments, "n": n, "turns": turns}, expected)
    x, y = rng.integers(0, 99, (2, 32)).astype(np.int32)
    made = x // 3 * y
    inside = np.where(np.arange(32) < 5, made, 0)
    outputs = {
        "first": inside.astype(np.float64), "part": inside.astype(np.int64), "whole": made.astype(np.int64)
    }  # fmt: skip
    arguments = {"x": x, "y": y, **{name: np.zeros_like(array) for name, array in outputs.items()}}
    yield Case("shared-twice", shared_twice, (1,), {**arguments, "n": 5}, outputs)
