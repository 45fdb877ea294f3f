"""Math functions keep the bounds that are stated: against stored exact values, and on every number of 16 bits."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.accuracy import DOMAINS, computed, narrow_error, same_signs, ulps
from tinyton_lab.ops import OPS
from tinyton_lab.ops.accuracy import ACCURACY, NARROW, ROUNDED, Accuracy

DATA = Path(__file__).parent.parent / "data" / "accuracy.npz"
FLOATS = [np.float32, np.float64]
BY_ORDER = ("jn", "yn")  # their exact values stand in test_libdevice
EXACT = ("sqrt", "sqrt_rn")


@cache
def stored() -> dict[str, Any]:
    with np.load(DATA) as values:
        return dict(values)


def bound(name: str, dtype: Any) -> float:
    if name in EXACT:
        return ROUNDED
    return ACCURACY[name].single if dtype is np.float32 else ACCURACY[name].double


def test_every_stated_bound_is_tested():
    assert sorted(set(ACCURACY) - set(DOMAINS)) == sorted(BY_ORDER)
    assert sorted(set(DOMAINS) - set(ACCURACY)) == sorted(EXACT)
    assert sorted(stored()) == sorted(f"{name}-{d}" for name in DOMAINS for d in ("float32", "float64"))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", DOMAINS)
def test_errors_are_within_the_bound(name: str, dtype: Any):
    *operands, high, low = stored()[f"{name}-{np.dtype(dtype).name}"]
    row = ACCURACY.get(name, Accuracy(name, ROUNDED, ROUNDED))
    got = computed(name, [x.astype(dtype) for x in operands], "cpu")
    error = ulps(got, high, low, dtype, float(row.flat))
    error[np.isnan(high)] = 0  # infinite operands of several: tested with the special values
    worst = int(error.argmax())
    assert error[worst] <= bound(name, dtype), f"{name}{[x[worst] for x in operands]} is {error[worst]} ulp off"


@pytest.mark.parametrize("name", [name for name, domains in DOMAINS.items() if len(domains) == 1])
def test_every_number_of_16_bits(name: str):
    assert narrow_error(name, ACCURACY.get(name, Accuracy(name, 0, 0)).flat) <= bound(name, np.float32)


@pytest.mark.parametrize("name", ["exp", "tan", "lgamma", "hypot"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_round_once(name: str, dtype: Any):
    x = np.arange(0, 65536, 7, dtype=np.uint16).view(dtype)
    operands = [x, np.roll(x, 99)][: len(DOMAINS[name])]
    got = computed(name, operands, "cpu").astype(np.float64)
    with np.errstate(all="ignore"):
        wide = computed(name, [v.astype(np.float64) for v in operands], "cpu")
        rounded = wide.astype(np.float32).astype(dtype).astype(np.float64)
        info = ml_dtypes.finfo(dtype)
        exponent = np.maximum(np.frexp(np.where(np.isfinite(wide), wide, 1.0))[1], int(info.minexp) + 1)
        error = np.abs(got - wide) / np.ldexp(1.0, exponent - int(info.nmant) - 1)
    finite = np.isfinite(rounded) & np.isfinite(got)
    assert (error[finite] <= NARROW).all()
    np.testing.assert_array_equal(got[~finite], rounded[~finite])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", DOMAINS)
def test_engines_give_the_same_bits(name: str, dtype: Any):
    operands = [x.astype(dtype) for x in stored()[f"{name}-{np.dtype(dtype).name}"][:-2]]
    wanted = computed(name, operands, "cpu")
    # Functions of the library compute in f64: their f32 ones are not code of their own but for shorter polynomials.
    for engine in ("interpreter", "sim") if dtype is np.float64 or name in OPS else ("interpreter",):
        got = computed(name, operands, engine)
        np.testing.assert_array_equal(got, wanted, engine)
        assert same_signs(got, wanted), engine


@pytest.mark.parametrize("engine", ["cpu", "sim"])
@pytest.mark.parametrize("name", ["pow", "tgamma", "erfc", "log10", "hypot", "tan"])
def test_fused_arithmetic_keeps_the_bounds(name: str, engine: str):
    *operands, high, low = stored()[f"{name}-float64"]
    error = ulps(computed(name, operands, engine, fp_fusion=True), high, low, np.float64)
    assert error[~np.isnan(high)].max() <= ACCURACY[name].double


@pytest.mark.parametrize("name", ["exp", "log2", "tanh", "sin", "sqrt", "pow"])
def test_the_library_stays_exact_with_fast_instructions(name: str):
    operands = [x.astype(np.float32) for x in stored()[f"{name}-float32"][:-2]]
    wanted = computed(name, operands, "cpu")
    np.testing.assert_array_equal(computed(name, operands, "sim", math="approx"), wanted)
    if name in ("exp", "tanh"):
        assert not np.array_equal(computed(f"fast_{name}f", operands, "sim", math="approx"), wanted, equal_nan=True)
