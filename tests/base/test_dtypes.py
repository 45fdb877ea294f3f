"""Promotion: the rules that every engine relies on."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from tinyton_lab.base import dtypes
from tinyton_lab.base.dtypes import DTYPES, promote, promote_scalar

COMPUTED = [dtype for dtype in DTYPES.values() if not dtype.storage_only]


@pytest.mark.parametrize(("a", "b"), list(itertools.product(COMPUTED, COMPUTED)), ids=str)
def test_promotion_is_symmetric_and_holds_both(a: dtypes.DType, b: dtypes.DType) -> None:
    common = promote(a, b)
    assert common is promote(b, a)
    assert (
        common is not None
        and common.bits >= max(a.bits, b.bits) - (8 if common.kind == "float" else 0)
        or (common is not None and common.kind == "float")
    )


@pytest.mark.parametrize(
    ("a", "b", "plain", "division"),
    [
        ("f16", "bf16", "f16", "f32"),
        ("f16", "f16", "f16", "f32"),
        ("bf16", "bf16", "bf16", "f32"),
        ("bf16", "i32", "f32", "f32"),
        ("i32", "u32", "u32", None),
        ("i64", "u32", "i64", None),
        ("i8", "i16", "i16", "i16"),
        ("i1", "i8", "i8", None),
    ],
)
def test_known_promotions(a: str, b: str, plain: str, division: str | None) -> None:
    first, second = DTYPES[a], DTYPES[b]
    assert str(promote(first, second)) == plain
    assert str(promote(first, second, division=True)) == str(division)


TABLE = json.loads((Path(__file__).parent.parent / "data" / "promotion.json").read_text(encoding="utf-8"))
PUBLIC = {dtype.public: dtype for dtype in DTYPES.values()}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_promotion_is_that_of_triton(name: str) -> None:
    """Every pair of dtypes, of two tensors and of a tensor and a number, plain and under division."""
    rules = {"tensors": promote, "number": promote_scalar}
    rows = [row for row in TABLE if row[1] == name]
    assert len(rows) == len(DTYPES) + 7
    for kind, a, b, *wanted in rows:
        found = [rules[kind](PUBLIC[a], PUBLIC[b], division=division) for division in (False, True)]
        assert [dtype and dtype.public for dtype in found] == wanted, (kind, a, b)


def test_scalars_are_weak() -> None:
    assert promote_scalar(dtypes.int8, dtypes.int64) is dtypes.int8
    assert promote_scalar(dtypes.int8, dtypes.float32) is dtypes.float32
    assert promote_scalar(dtypes.bfloat16, dtypes.float32, division=True) is dtypes.float32


@pytest.mark.parametrize("value", [0, -1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, -(2**31) - 1])
def test_integers_are_typed_by_value(value: int) -> None:
    dtype = dtypes.of_python_int(value)
    assert dtype is not None
    low, high = dtypes.integer_range(dtype)
    assert low <= value <= high


def test_integers_beyond_64_bits_have_no_type() -> None:
    assert dtypes.of_python_int(2**64) is None
