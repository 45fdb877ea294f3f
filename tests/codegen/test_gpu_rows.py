"""Every elementwise row, for every dtype and target: the simulator computes what the row's numpy column says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.codegen.simulation import simulate
from tinyton_lab.base.dtypes import DTYPES, DType, int1, integer_range
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.codegen.gpu import compile
from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Function, Parameter
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import OPS, elementwise, memory, shape

LENGTH = 128
COMPUTED = [dtype for dtype in DTYPES.values() if not dtype.storage_only]
ROWS = [row for row in OPS.values() if row.elementwise and row.emit is not None]


def uses(dtype: DType) -> Iterator[tuple[OpDef, dict[str, Any]]]:
    """The rows that take a dtype, with each set of attributes.

    The remainder of narrow floats is left out: kernels take it in f32.
    """
    for row in ROWS:
        if dtype.kind not in row.accepts or (row is elementwise.mod and dtype.kind == "float" and dtype.bits < 32):
            continue
        if row is elementwise.cast:
            yield from ((row, {"to": to}) for to in COMPUTED)
            narrower = [to for to in COMPUTED if to.kind == dtype.kind == "float" and to.bits < dtype.bits]
            yield from ((row, {"to": to, "rounding": "rtz"}) for to in narrower)
        elif row is elementwise.bitcast:
            yield from ((row, {"to": to}) for to in COMPUTED if to.bits == dtype.bits)
        else:
            yield row, {}


def values(dtype: DType, seed: int) -> np.ndarray:
    """Elements of a dtype with its special values among them."""
    source = np.random.default_rng(seed)
    if dtype is int1:
        return source.random(LENGTH) < 0.5
    if dtype.kind != "float":
        low, high = integer_range(dtype)
        made = source.integers(low, high, LENGTH, dtype=dtype.numpy, endpoint=True)
        made[:40] = source.integers(0, 9, 40)
        made[40:42] = low, high
    else:
        made = source.standard_normal(LENGTH) * 10
        made[:12] = [0, -0.0, 1, -1.5, np.inf, -np.inf, np.nan, 3e9, -3e9, 1e-40, 65504, 2.5]
        made[20:40] = np.round(made[20:40])
    source.shuffle(made)
    with np.errstate(all="ignore"):
        return made.astype(dtype.numpy)


def program(dtype: DType) -> tuple[Function, list[tuple[str, DType]]]:
    """One kernel of all rows: inputs ``x y z c``, and one output for each use."""
    pointer = Tile(Pointer(dtype))
    parameters = [Parameter(name, pointer, 16) for name in "xyz"] + [Parameter("c", Tile(Pointer(int1)), 16)]
    chosen = list(uses(dtype))
    results = [_result(row, dtype, attrs) for row, attrs in chosen]
    parameters += [Parameter(f"o{at}", Tile(Pointer(result)), 16) for at, result in enumerate(results)]
    function = Function("rows", parameters, {"num_warps": 1})
    builder = Builder(function)
    places = builder.value(shape.range_, start=0, end=LENGTH)
    loaded = [builder.emit(memory.load, [source, places]).result for source in function.body.args[:4]]
    for (row, attrs), out in zip(chosen, function.body.args[4:], strict=True):
        made = builder.emit(row, _operands(row, loaded), attrs).result
        builder.emit(memory.store, [out, made, places])
    return function, [(f"o{at}", result) for at, result in enumerate(results)]


def _result(row: OpDef, dtype: DType, attrs: dict[str, Any]) -> DType:
    first = Tile(int1) if row is elementwise.select else Tile(dtype)
    types = [first, *[Tile(dtype)] * (len(row.roles) - 1)]
    return row.infer(types, attrs)[0].dtype if row.infer is not None else dtype


def _operands(row: OpDef, loaded: list[Any]) -> list[Any]:
    return [loaded[3], *loaded[:2]] if row is elementwise.select else loaded[: len(row.roles)]


def comparable(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Elements that numpy compares right: its test of NaN does not know ml_dtypes."""
    return array.astype(np.float64) if dtype.kind == "float" else array


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", COMPUTED, ids=str)
def test_rows(dtype: DType, target: str):
    function, outputs = program(dtype)
    code = compile(function, TARGETS[target])
    assert code.assembled().cubin
    sources = [values(dtype, seed) for seed in range(3)] + [values(int1, 3)]
    arguments = dict(zip("xyzc", sources, strict=True)) | {o: np.zeros(LENGTH, d.numpy) for o, d in outputs}
    simulate(code, (1,), arguments)
    for (row, attrs), (name, result) in zip(uses(dtype), outputs, strict=True):
        with np.errstate(all="ignore"):
            wanted = np.asarray(row.numpy(*_operands(row, sources), **attrs)).astype(result.numpy)
        message = f"{row.name} of {dtype} {attrs}"
        np.testing.assert_array_equal(comparable(arguments[name], result), comparable(wanted, result), message)
        if result.kind == "float" and row is not elementwise.bitcast:
            numbers = ~np.isnan(wanted)
            signs = np.signbit(arguments[name]) == np.signbit(wanted)
            assert signs[numbers].all(), f"{message}: the sign of a zero"
