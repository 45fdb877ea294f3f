"""Add two vectors: each program adds one block."""

from __future__ import annotations

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl


@tt.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, total, mask=mask)


if __name__ == "__main__":
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    out = np.empty_like(x)
    vector_add[(4,)](x, y, out, x.size, BLOCK=256)
    print("right" if np.array_equal(out, x + y) else "wrong")
