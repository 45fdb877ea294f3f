"""Two-dimensional tiles over strided arrays: transposition, broadcast, a bias row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def transpose_add(x, bias, out, rows, columns, sx0, sx1, so0, so1, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    mask = (r < rows) & (c < columns)
    values = tl.load(x + r * sx0 + c * sx1, mask=mask) + tl.load(bias + c, mask=c < columns)
    tl.store(out + c * so0 + r * so1, values, mask=mask)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(4)
    wide = rng.standard_normal((40, 70)).astype(np.float32)
    for name, x in (("rows", wide), ("every other", wide[::2, 1::3]), ("columns", wide.T)):
        rows, columns = x.shape
        bias, out = rng.standard_normal(columns).astype(np.float32), np.zeros((columns, rows), np.float32)
        s0, s1 = (s // 4 for s in x.strides)
        arguments = {
            "x": x, "bias": bias, "out": out, "rows": rows, "columns": columns, "sx0": s0, "sx1": s1, "so0": rows,
            "so1": 1, "R": 16, "C": 32,
        }  # fmt: skip
        grid = (-(-rows // 16), -(-columns // 32))
        yield Case(name, transpose_add, grid, arguments, {"out": (x + bias).T.copy()})
