"""Sum each row of a matrix: a reduction, with shuffles in a warp and a barrier between warps."""

from __future__ import annotations

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl


@tt.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + columns, mask=columns < n, other=0.0)
    tl.store(out + row, tl.sum(values, axis=0))


if __name__ == "__main__":
    x = np.arange(8 * 200, dtype=np.float32).reshape(8, 200)
    out = np.empty(8, np.float32)
    row_sum[(8,)](x, out, 200, BLOCK=256)
    print("right" if np.array_equal(out, x.sum(1)) else "wrong")
