"""Greatest errors of the math functions: sampled in f32 and f64, and for every float of 16 bits, against their bounds.

``python -m tests.benchmarks.accuracy`` writes the exact values anew that tests compare with. Both need mpmath.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.accuracy import DOMAINS, agreeing, computed, exact, narrow_error, samples, ulps
from tests.benchmarks.measure import Row
from tinyton_lab.ops.accuracy import ACCURACY, ROUNDED

DATA = Path(__file__).parent.parent / "data" / "accuracy.npz"
COUNT = 1000
STORED = 60
LARGE_ANGLES = ("sin", "cos", "tan")


def digits(name: str) -> int:
    """How many bits to compute with: angles up to the greatest f64 need as many."""
    return 1300 if name in LARGE_ANGLES else 300


def rows() -> Iterator[Row]:
    if importlib.util.find_spec("mpmath") is None:
        yield Row("exact values need mpmath, which is not installed", 1, "package missing", 0, False)
        return
    for name, domains in DOMAINS.items():
        row = ACCURACY.get(name)
        for dtype in (np.float32, np.float64):
            operands = samples(name, dtype, COUNT)
            high, low = exact(name, operands, digits(name))
            error = ulps(computed(name, operands, "cpu"), high, low, dtype, 1.0 if row and row.flat else 0.0)
            error[np.isnan(high)] = 0
            bound = ROUNDED if row is None else row.single if dtype is np.float32 else row.double
            note = f"{'flat, ' if row and row.flat else ''}{error.size} samples"
            yield Row(f"{name} of {dtype.__name__}", float(error.max()), "ulp", bound, False, note)
        if len(domains) == 1:
            error = narrow_error(name, bool(row and row.flat))
            yield Row(f"{name} of all f16 and bf16 numbers", error, "ulp of f32", row.single if row else 0.51, False)
        different = sum(not agreeing(name, dtype) for dtype in (np.float32, np.float64))
        yield Row(f"{name}: engines that differ", different, "", 0, False, "interpreter, cpu, sim")


def write() -> None:
    """Store operands and exact values of each function as sums of two f64."""
    stored = {}
    for name in DOMAINS:
        for dtype in (np.float32, np.float64):
            operands = samples(name, dtype, STORED)
            values = [x.astype(np.float64) for x in operands] + list(exact(name, operands, digits(name)))
            stored[f"{name}-{np.dtype(dtype).name}"] = np.stack(values)
    np.savez_compressed(DATA, **stored)


if __name__ == "__main__":
    write()
