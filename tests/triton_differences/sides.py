"""Runs a case on one side and gives what it leaves in memory, as bytes, or in words why it did not run."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable

import numpy as np

from tests.triton_differences.inputs import HALVES
from tests.triton_differences.kernels import Case, arguments, kernel

Answer = list[np.ndarray] | str  # one array per program, or why there is none


def halves(result: np.ndarray) -> list[np.ndarray]:
    return list(result.reshape(len(HALVES), -1))


def _quiet(run: Callable[[], None]) -> str:
    """Run without a word on the terminal; gives the words of an error, or nothing."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            run()
        except Exception as problem:
            return " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
    return ""


def ours(case: Case, dtype: str, engine: str) -> Answer:
    """What an engine of this package makes of a case."""
    import tinyton_lab as tt
    import tinyton_lab.language as tl

    arrays = arguments(case, dtype)
    words = _quiet(lambda: kernel(case, dtype, tt, tl)[(2,)](*arrays, 200, backend=engine))
    return words or halves(arrays[-1])


def theirs(case: Case, dtype: str) -> Answer:
    """What Triton's interpreter makes of a case; the process must have started with ``TRITON_INTERPRET=1``."""
    import torch
    import triton
    import triton.language as tl

    arrays = arguments(case, dtype)
    names = [dtype] * 3 + ["int32", case.result(dtype)]
    tensors = [
        torch.from_numpy(array.view(f"u{array.itemsize}")).view(getattr(torch, TORCH.get(name, name)))
        for array, name in zip(arrays, names, strict=True)
    ]
    words = _quiet(lambda: kernel(case, dtype, triton, tl)[(2,)](*tensors, 200))
    return words or halves(arrays[-1])


# What torch calls dtypes; float8e4b15 it does not have, its pointers are to bytes.
TORCH = {
    "int1": "bool",
    "float8e4nv": "float8_e4m3fn",
    "float8e5": "float8_e5m2",
    "float8e4b8": "float8_e4m3fnuz",
    "float8e5b16": "float8_e5m2fnuz",
}


def canonical(values: np.ndarray) -> bytes:
    """The bytes of values, with one NaN for all: which one an operation gives is nobody's promise."""
    values = values.copy()
    if values.dtype.kind not in "iub":
        with np.errstate(all="ignore"):
            values[np.isnan(values)] = np.nan
    return values.tobytes()
