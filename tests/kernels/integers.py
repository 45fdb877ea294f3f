"""Integer arithmetic at its edges: C division, wrap, shifts, bit operations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def integers(x, y, quotient, remainder, mixed, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(quotient + i, a // b)
    tl.store(remainder + i, a % b)
    tl.store(mixed + i, ((a + b) * 3 - (a & b)) ^ (~a | (b << 2)) + (a >> 1))


def cases() -> Iterator[Case]:
    for dtype in (np.int32, np.int64, np.int8, np.uint32, np.uint16):
        info = np.iinfo(dtype)
        values = np.array([0, 1, 2, 3, 7, 100, info.max, info.min, info.max - 1, 5], dtype)
        x, y = (grid.reshape(-1)[:64].copy() for grid in np.meshgrid(values, values[values != 0]))
        with np.errstate(all="ignore"):
            wide_x, wide_y = x.astype(object), y.astype(object)
            truncated = np.array([abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(wide_x, wide_y)])
            quotient = truncated.astype(np.int64 if info.min < 0 else np.uint64).astype(dtype)
            remainder = (x - quotient * y).astype(dtype)
            mixed = ((x + y) * dtype(3) - (x & y)) ^ (~x | (y << dtype(2))) + (x >> dtype(1))
        arguments = {"x": x, "y": y, "N": 64} | {n: np.zeros(64, dtype) for n in ("quotient", "remainder", "mixed")}
        expected = {"quotient": quotient, "remainder": remainder, "mixed": mixed}
        yield Case(np.dtype(dtype).name, integers, (1,), arguments, expected)
