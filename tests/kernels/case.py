"""What one entry of the corpus says: a kernel, its arguments, and what must come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One launch. `expected` maps an argument to its value afterwards.

    `rtol` is 0 where every engine must agree with numpy bit for bit; elsewhere the relative error allowed, with
    `approx` the wider bound for a GPU's fast instructions.
    """

    name: str
    kernel: Any
    grid: Any
    arguments: Mapping[str, Any]
    expected: Mapping[str, np.ndarray]
    rtol: float = 0.0
    approx: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self, **options: Any) -> dict[str, np.ndarray]:
        """Launch on fresh copies (strides kept) and give the arguments that have an expected value."""
        arguments = {name: fresh(value) for name, value in self.arguments.items()}
        self.kernel[self.grid](**arguments, **self.options, **options)
        return {name: arguments[name] for name in self.expected}

    def check(self, got: Mapping[str, np.ndarray], fast: bool = False) -> None:
        """Compare with the expectation; exact ones by bits (NaN equals NaN)."""
        bound = max(self.rtol, self.approx) if fast else self.rtol
        for name, want in self.expected.items():
            if bound:
                a, b = got[name].astype(np.float64), want.astype(np.float64)
                np.testing.assert_allclose(a, b, rtol=bound, atol=bound, err_msg=f"{self.name}: {name}")
            else:
                np.testing.assert_array_equal(got[name], want, err_msg=f"{self.name}: {name}")


def fresh(value: Any) -> Any:
    """A copy of an array with the same strides; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    copy = np.lib.stride_tricks.as_strided(
        np.empty(_span(value), np.uint8).view(value.dtype), value.shape, value.strides
    )
    copy[...] = value
    return copy


def _span(array: np.ndarray) -> int:
    if any(stride < 0 for stride in array.strides):
        raise ValueError("write a corpus case for negative strides with its own base array")
    return (
        sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize if array.size else 0
    )
