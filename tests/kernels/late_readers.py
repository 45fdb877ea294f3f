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
