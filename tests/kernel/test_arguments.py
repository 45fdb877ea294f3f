"""Keys tell apart exactly what code is made for; descriptions type every kind of argument."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tinyton_lab.base import dtypes
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.frontend.signature import Constant, Runtime
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.kernel.arguments import argument_key, constexpr_key, describe, runtime_key
from tinyton_lab.kernel.parameters import KernelParameter

RUNTIME = KernelParameter("n", constexpr=False)
CONSTEXPR = KernelParameter("C", constexpr=True)


@pytest.mark.parametrize(
    "values",
    [(1, 1.0, True), (0.0, -0.0), ((1, 2), (1, 2.0)), (None, 0, False), ("1", 1), (dtypes.int8, dtypes.uint8)],
)
def test_constexprs_are_keyed_by_type_and_bits(values: tuple[Any, ...]) -> None:
    keys = [constexpr_key(value) for value in values]
    assert len(set(keys)) == len(keys)


def test_nan_is_one_constexpr() -> None:
    assert constexpr_key(math.nan) == constexpr_key(float("nan"))
    assert constexpr_key(Constexpr(3)) == constexpr_key(3)


def test_unhashable_constexprs_are_named() -> None:
    with pytest.raises(TinytonError, match="TT3008") as caught:
        argument_key("kernel", CONSTEXPR, [1, 2])
    assert "C" in str(caught.value)


def test_integers_share_code_by_class_of_value() -> None:
    assert runtime_key(5) == runtime_key(7) != runtime_key(16) == runtime_key(32)
    assert runtime_key(1) not in (runtime_key(5), runtime_key(16))
    assert len({runtime_key(value) for value in (5, 2**31 + 1, 2**32 + 1, 2**63 + 1, 5.0, True, None)}) == 7


def test_arrays_share_code_by_dtype_and_alignment() -> None:
    base = np.zeros(64, np.float32)
    start = -base.ctypes.data % 16 // 4
    aligned, shifted = base[start:], base[start + 1 :]
    assert runtime_key(aligned) == runtime_key(aligned[4:8]) != runtime_key(shifted)
    assert runtime_key(aligned) != runtime_key(aligned.view(np.int32))
    assert describe("kernel", RUNTIME, aligned) == Runtime(Tile(Pointer(dtypes.float32)), 16)
    assert describe("kernel", RUNTIME, shifted) == Runtime(Tile(Pointer(dtypes.float32)), 1)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (5, Runtime(Tile(dtypes.int32))),
        (32, Runtime(Tile(dtypes.int32), 16)),
        (1, Runtime(Tile(dtypes.int32), known=1)),
        (3_000_000_001, Runtime(Tile(dtypes.uint32))),
        (2**40, Runtime(Tile(dtypes.int64), 16)),
        (0.5, Runtime(Tile(dtypes.float32))),
        (True, Runtime(Tile(dtypes.int1))),
        (np.float64(0.5), Runtime(Tile(dtypes.float64))),
        (np.int8(3), Runtime(Tile(dtypes.int8))),
        (ml_dtypes.bfloat16(1.5), Runtime(Tile(dtypes.bfloat16))),
        (None, Constant(None)),
        (Constexpr(7), Constant(7)),
        (dtypes.float16, Constant(dtypes.float16)),
    ],
)
def test_descriptions(value: Any, want: Any) -> None:
    assert describe("kernel", RUNTIME, value) == want


def test_annotated_scalars_take_their_dtype() -> None:
    parameter = KernelParameter("n", constexpr=False, dtype=dtypes.int64)
    assert describe("kernel", parameter, 5) == Runtime(Tile(dtypes.int64))


@pytest.mark.parametrize(
    ("value", "code"), [("text", "TT3005"), (np.zeros(1, np.complex64), "TT3006"), (2**64, "TT3007"), ([1], "TT3005")]
)
def test_what_has_no_type_is_named(value: Any, code: str) -> None:
    with pytest.raises(TinytonError, match=code) as caught:
        describe("kernel", RUNTIME, value)
    assert "n" in str(caught.value)
