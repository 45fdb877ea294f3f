"""Values that the compared kernels read: every pair of odd ones, and random ones. Knows no kernel."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

LANES = 256  # of a tile; a launch has two programs, one for the odd values and one for the plain ones
HALVES = ("odd", "plain")
FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
EIGHTS = ("float8e4nv", "float8e5", "float8e4b8", "float8e5b16")
NUMPY: dict[str, Any] = {
    "int1": np.bool_,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4nv": ml_dtypes.float8_e4m3fn,
    "float8e5": ml_dtypes.float8_e5m2,
    "float8e4b8": ml_dtypes.float8_e4m3fnuz,
    "float8e5b16": ml_dtypes.float8_e5m2fnuz,
    "float8e4b15": np.uint8,  # a pointer to bytes: no array library has this dtype
}
# 16 values, of which every pair meets.
ODD_FLOATS = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, -2.5, 3, 1e-3, 100, -7.25, 30000, -1e-6, 6e-8]
ODD_WHOLE = [0, 1, -1, 2, -2, 3, 7, -8, 31, 32, 100, -100]


def numpy_dtype(name: str) -> Any:
    """The numpy dtype of an array for a pointer to `name`."""
    return np.dtype(NUMPY.get(name, name))


def odd(dtype: str) -> np.ndarray:
    """The 16 odd values of a dtype: infinities, NaN, both zeros; the ends of the range of integers."""
    kind = numpy_dtype(dtype)
    if dtype == "int1":
        return np.arange(16) % 3 == 0
    if dtype == "float8e4b15":
        return np.array([0, 128, 1, 129, 8, 64, 71, 120, 126, 127, 254, 255, 56, 57, 200, 63], np.uint8)
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        return np.array([*np.array(ODD_WHOLE).astype(kind), ends.min, ends.max, ends.min + 1, ends.max - 1], kind)
    return np.array(ODD_FLOATS, np.float64).astype(kind)


def plain(dtype: str, chance: np.random.Generator) -> np.ndarray:
    """Random values of a moderate size, no zero among them."""
    kind = numpy_dtype(dtype)
    if dtype == "int1":
        return chance.random(LANES) < 0.5
    if kind.kind == "i":
        return (chance.integers(1, 101, LANES) * chance.choice([-1, 1], LANES)).astype(kind)
    if kind.kind == "u":
        return chance.integers(1, 101, LANES).astype(kind)
    return (chance.standard_normal(LANES) * 8).astype(kind)


def operands(dtype: str) -> list[np.ndarray]:
    """Three arrays for the two programs: 512 elements each."""
    chance, values = np.random.default_rng(0), odd(dtype)
    odds = np.repeat(values, 16), np.tile(values, 16), np.tile(np.roll(values, 5), 16)
    return [np.concatenate([x, plain(dtype, chance)]) for x in odds]


def indices() -> np.ndarray:
    """A permutation of the numbers of the lanes, for each program."""
    chance = np.random.default_rng(1)
    return np.concatenate([chance.permutation(LANES) for _ in HALVES]).astype(np.int32)
