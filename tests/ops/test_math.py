"""Accuracy of the math functions: every f16 and bf16 number, samples of f32 and f64, against a wider oracle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tinyton_lab.ops import OPS

Array = Any
WIDE = np.longdouble
ORACLES: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": lambda x: np.vectorize(math.erf, [np.float64])(x.astype(np.float64)).astype(WIDE),
}
# Where samples are drawn: uniform ranges, then ranges of binary exponents of either sign.
RANGES: dict[str, tuple[list[float], list[tuple[int, int]]]] = {
    "exp": ([105, 2], [(-30, 8)]),
    "exp2": ([152, 2], [(-30, 9)]),
    "log": ([3], [(-149, 128)]),
    "log2": ([3], [(-149, 128)]),
    "rsqrt": ([3], [(-149, 128)]),
    "sin": ([10, 1e5], [(-30, 128)]),
    "cos": ([10, 1e5], [(-30, 128)]),
    "tanh": ([10, 1], [(-149, 5)]),
    "erf": ([4, 1], [(-120, 3)]),
}
SAMPLES = {np.float32: 300_000, np.float64: 30_000}  # of each range


def ulps(got: Array, exact: Array, dtype: Any) -> Array:
    """Distance of `got` from the exact values in units of the last place of `dtype`."""
    info = ml_dtypes.finfo(dtype)
    exponent = np.maximum(np.frexp(exact)[1], int(np.log2(float(info.tiny))) + 1)
    unit = np.ldexp(WIDE(1), exponent - info.nmant - 1)
    error = np.abs(got.astype(WIDE) - exact) / unit
    limit = WIDE(float(info.max)) * (1 + WIDE(2) ** -(info.nmant + 2))
    right = (got == exact) | (np.isnan(got) & np.isnan(exact)) | (np.isinf(got) & (np.abs(exact) >= limit))
    return np.where(right & (np.signbit(got) == np.signbit(exact)) | np.isnan(exact) & np.isnan(got), 0, error)


def samples(name: str, dtype: Any) -> Array:
    rng = np.random.default_rng(len(name))
    uniform, exponents = RANGES[name]
    count = SAMPLES[dtype]
    wider = 7 if dtype is np.float64 and name in ("exp", "exp2", "log", "log2", "rsqrt") else 1
    parts = [rng.uniform(-top, top, count) for base in uniform for top in {base, base * wider}]
    for low, high in exponents:
        parts.append(np.exp2(rng.uniform(low * wider, high * wider, count)) * rng.choice([-1, 1], count))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0]
    return np.concatenate([*parts, special]).astype(dtype)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_narrow_number_is_rounded_right(name: str, dtype: Any):
    x = np.arange(65536, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        error = ulps(OPS[name].numpy(x), ORACLES[name](x.astype(WIDE)), dtype)
    worst = int(error.argmax())
    assert error[worst] <= 0.51, f"{name}({x[worst]}) is {float(error[worst]):.3f} ulp off"


@pytest.mark.parametrize("name", ORACLES)
def test_single_precision_keeps_its_bound(name: str):
    x = samples(name, np.float32)
    with np.errstate(all="ignore"):
        error = ulps(OPS[name].numpy(x), ORACLES[name](x.astype(WIDE)), np.float32)
    worst = int(error.argmax())
    assert error[worst] <= OPS[name].ulp, f"{name}({x[worst]}) is {float(error[worst]):.3f} ulp off"


@pytest.mark.parametrize("name", ORACLES)
def test_double_precision_keeps_its_bound(name: str):
    x = samples(name, np.float64)
    x = x[(np.abs(x) < 2.0**48) | ~np.isfinite(x)] if name in ("sin", "cos") else x
    with np.errstate(all="ignore"):
        error = ulps(OPS[name].numpy(x), ORACLES[name](x.astype(WIDE)), np.float64)
    worst = int(error.argmax())
    bound = OPS[name].ulp + (0.5 if name == "erf" else 0)  # its oracle is a double
    assert error[worst] <= bound, f"{name}({x[worst]!r}) is {float(error[worst]):.3f} ulp off"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_two_are_exact(dtype: Any):
    info = np.finfo(dtype)
    n = np.arange(info.minexp - info.nmant, info.maxexp).astype(dtype)
    powers = np.ldexp(dtype(1), n.astype(int))
    assert (OPS["exp2"].numpy(n) == powers).all()
    assert (OPS["log2"].numpy(powers) == n).all()


def test_exp_stays_cheap():
    """Its ops per element decide how fast softmax runs: 18 that are instructions, bitcasts being none."""
    from tinyton_lab.base.targets import CPU
    from tinyton_lab.ir.parse import parse_function
    from tinyton_lab.pipeline import run_tile_passes

    text = "kernel @k(%o: ptr<f32>, %x: f32) {\n  %1 = exp %x : f32\n  store %o, %1\n}\n"
    *_, last = run_tile_passes(parse_function(text, OPS), CPU)
    names = [op.row.name for op in last.function.walk()]
    assert len([name for name in names if name not in ("constant", "bitcast", "store")]) <= 18
