"""Row sum and row maximum over a 2-D tile; integer-valued floats must be exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def row_reductions(x, sums, maxima, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    pointers = x + r[:, None] * columns + c[None, :]
    tl.store(sums + r, tl.sum(tl.load(pointers, mask=mask, other=0), axis=1), mask=r < rows)
    tl.store(maxima + r, tl.max(tl.load(pointers, mask=mask, other=-1000), axis=1), mask=r < rows)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.int32, np.float64):
        x = rng.integers(-100, 100, (21, 50)).astype(dtype)
        arguments = {
            "x": x, "sums": np.zeros(21, dtype), "maxima": np.zeros(21, dtype), "rows": 21, "columns": 50,
            "ROWS": 8, "COLUMNS": 64,
        }  # fmt: skip
        yield Case(np.dtype(dtype).name, row_reductions, (3,), arguments, {"sums": x.sum(1), "maxima": x.max(1)})
