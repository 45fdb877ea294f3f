"""Vector add: every dtype, any length under a mask."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


DTYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.int16, np.int32, np.int64, np.uint8]


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for dtype in DTYPES:
        for n in (1, 127, 1000) if dtype is np.float32 else (1000,):
            x = (rng.standard_normal(n) * 50).astype(np.float32).astype(dtype)
            y = (rng.standard_normal(n) * 50).astype(np.float32).astype(dtype)
            with np.errstate(all="ignore"):
                expected = {"out": x + y}
            arguments = {"x": x, "y": y, "out": np.zeros(n, dtype), "n": n, "BLOCK": 256}
            yield Case(f"{np.dtype(dtype).name}-{n}", vector_add, (-(-n // 256),), arguments, expected)
