"""What the op table says of each row, checked on numbers: result types, totality, laws, and the emit column's shape."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tinyton_lab.base.dtypes import DTYPES, DType, integer_range
from tinyton_lab.ir.definition import Mismatch, OpDef
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops import OPS
from tinyton_lab.ops.casts import numpy_dtype

ELEMENTWISE = [row for row in OPS.values() if row.elementwise and row.numpy is not None]
COMPUTED = [dtype for dtype in DTYPES.values() if not dtype.storage_only]
BINARY = [row for row in ELEMENTWISE if len(row.roles) == 2]


def numbers(dtype: DType) -> Any:
    """Every kind of number that a dtype has, and some at random."""
    rng = np.random.default_rng(dtype.bits)
    if dtype.kind == "bool":
        return np.array([False, True])
    if dtype.kind != "float":
        low, high = integer_range(dtype)
        known = sorted({low, low + 1, 0, 1, 2, 3, dtype.bits - 1, dtype.bits, 100, high - 1, high} | {max(-1, low)})
        return np.concatenate([np.array(known, dtype.numpy), rng.integers(low, high, 9, dtype.numpy, endpoint=True)])
    known = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3e-5, 1e4, np.inf, -np.inf, np.nan]
    return np.concatenate([np.array(known), rng.normal(size=9)]).astype(dtype.numpy)


def attribute_sets(row: OpDef, dtype: DType) -> Iterator[dict[str, Any]]:
    """The attributes a row may have on that dtype."""
    if row.name == "cast":
        yield from ({"to": to} for to in DTYPES.values())
        if dtype.kind == "float":
            yield from ({"to": to, "rounding": "rtz"} for to in COMPUTED if to.kind == "float" and to.bits < dtype.bits)
    elif row.name == "bitcast":
        yield from ({"to": to} for to in DTYPES.values() if to.bits == dtype.bits and to.numpy.itemsize == dtype.bytes)
    elif not any(attribute.required for attribute in row.attributes):
        yield {}


def operands(row: OpDef, dtype: DType) -> list[Any]:
    """All pairs of the numbers of `dtype` for the last two operands; a condition first where the row wants one."""
    values = numbers(dtype)
    if len(row.roles) == 1:
        return [values]
    x, y = (grid.reshape(-1) for grid in np.meshgrid(values, values))
    third = np.arange(len(x)) % 2 == 0 if row.name == "select" else np.roll(y, 3)
    return {2: [x, y], 3: [third, x, y]}[len(row.roles)]


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_the_numpy_column_is_total_and_typed(row: OpDef):
    tried = 0
    for dtype in COMPUTED:
        if dtype.kind not in row.accepts:
            continue
        arrays = operands(row, dtype)
        types = [Tile(numpy_dtype(array), array.shape) for array in arrays]
        for attrs in attribute_sets(row, dtype):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error")
                result = row.numpy(*arrays, **attrs)  # type: ignore[misc]
            (expected,) = row.infer(types, attrs)  # type: ignore[misc]
            assert isinstance(result, np.ndarray) and result.shape == expected.shape
            assert result.dtype == expected.dtype.numpy, f"{row.name} of {dtype} {attrs}"
            tried += 1
    assert tried


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_the_numpy_column_broadcasts_over_programs(row: OpDef):
    dtype = next(d for d in reversed(COMPUTED) if d.kind in row.accepts)
    arrays = operands(row, dtype)
    attrs = next(attribute_sets(row, dtype))
    with np.errstate(all="ignore"):
        whole = row.numpy(*(np.stack([array, array]) for array in arrays), **attrs)  # type: ignore[misc]
        one = row.numpy(arrays[0][None], *(np.stack([a, a]) for a in arrays[1:]), **attrs)  # type: ignore[misc]
    if len(arrays) > 1:
        assert same_bits(whole, one)


def same_bits(x: Any, y: Any) -> bool:
    """Equal to the bit, one NaN being as good as another."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind in "iub":
        return bool((x == y).all())
    bits = np.dtype(f"u{x.dtype.itemsize}")
    same = np.ascontiguousarray(x).view(bits) == np.ascontiguousarray(y).view(bits)
    return bool((same | (np.isnan(x) & np.isnan(y))).all())


def law_cases() -> list[tuple[OpDef, str, DType]]:
    cases = itertools.product(ELEMENTWISE, COMPUTED)
    return [(row, law, dtype) for row, dtype in cases if dtype.kind in row.accepts for law in row.laws]


INTEGERS_ONLY = ("associative", "absorbing", "self-inverse", "reflexive", "irreflexive")


@pytest.mark.parametrize("case", law_cases(), ids=lambda case: f"{case[0].name}-{case[1]}-{case[2]}".replace(" ", "_"))
def test_a_law_holds(case: tuple[OpDef, str, DType]):
    row, law, dtype = case
    name, _, wanted = law.rpartition(" ")
    if dtype.kind == "float" and (name or law).startswith(INTEGERS_ONLY):
        return
    with np.errstate(all="ignore"):
        left, right = law_sides(row, name or law, wanted, dtype)
        assert same_bits(left, right)


def law_sides(row: OpDef, law: str, wanted: str, dtype: DType) -> tuple[Any, Any]:
    """The two sides of the equation that a law is."""
    f: Any = row.numpy
    values = numbers(dtype)
    if law == "idempotent" and len(row.roles) == 1:
        return f(f(values)), f(values)
    x, y = operands(row, dtype)
    z = np.roll(y, 5)
    if law in ("identity", "right identity", "absorbing"):
        unit = law_number(row, int(wanted), dtype, x)
        return f(x, unit), unit if law == "absorbing" else x
    sides = {
        "commutative": lambda: (f(x, y), f(y, x)),
        "associative": lambda: (f(f(x, y), z), f(x, f(y, z))),
        "idempotent": lambda: (f(x, x), x),
        "self-inverse": lambda: (f(x, x), np.zeros_like(x)),
        "reflexive": lambda: (f(x, x), np.ones(x.shape, bool)),
        "irreflexive": lambda: (f(x, x), np.zeros(x.shape, bool)),
    }
    return sides[law]()


def law_number(row: OpDef, wanted: int, dtype: DType, like: Any) -> Any:
    """The number a law speaks of: -1 is all ones, and the 0 of a float sum is -0.0."""
    if dtype.kind == "float":
        return np.full(like.shape, -0.0 if row.name == "add" and wanted == 0 else wanted).astype(dtype.numpy)
    if dtype.kind == "bool":
        return np.full(like.shape, wanted != 0)
    return np.full(
        like.shape, integer_range(dtype)[1] if wanted == -1 and dtype.kind == "uint" else wanted, dtype.numpy
    )


@pytest.mark.parametrize("row", BINARY, ids=lambda row: row.name)
def test_two_types_are_refused(row: OpDef):
    if row.infer is None or row.name in ("select",):
        return
    kinds = [Tile(dtype, (4,)) for dtype in COMPUTED if dtype.kind in row.accepts][:2]
    with pytest.raises(Mismatch):
        row.infer(kinds, {})


def test_every_row_is_described():
    assert [row.name for row in OPS.values() if not row.doc] == []
