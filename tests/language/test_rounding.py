"""Directed rounding and conversions of the device library against rationals: exact to the bit, on every engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.accuracy import computed
from tinyton_lab.base.dtypes import DTYPES, integer_range

MODES = ["rn", "rz", "rd", "ru"]
FLOATS = [np.float32, np.float64]
Exact = Callable[..., Fraction]


def rounded(exact: Fraction, mode: str, dtype: Any) -> float:
    """A rational that is not 0 as a float of a dtype, in integer arithmetic."""
    info = np.finfo(dtype)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - int(info.nmant))
    count, upward = size / unit, exact > 0
    outward = (mode == "ru") == upward and mode != "rz"
    result = (math.ceil if outward else math.floor)(count) * unit
    if result > Fraction(float(info.max)):
        beyond = math.inf if outward else float(info.max)
        return beyond if upward else -beyond
    return float(result) if upward else -float(result)


def numbers(dtype: Any, count: int, seed: int) -> Any:
    """Ordinary numbers, small and large ones, and some that make ties and exact results."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    low, high = info.minexp - info.nmant, info.maxexp
    with np.errstate(all="ignore"):
        wild = np.exp2(rng.uniform(low, high, count)) * rng.choice([-1, 1], count)
        tame = rng.normal(size=count) * np.exp2(rng.integers(-3, 4, count))
        plain = rng.integers(-9, 10, count).astype(float)
        edge = rng.choice([float(info.max), float(info.tiny), float(info.smallest_subnormal)], count)
        edge *= rng.choice([-1, 1, 0.75], count)
        chosen = rng.integers(0, 10, count)
        return np.select([chosen < 4, chosen < 7, chosen < 9], [wild, tame, plain], edge).astype(dtype)


def check(name: str, mode: str, operands: list[Any], exact: Exact, engine: str = "cpu") -> None:
    """Compare a function with the rational that it rounds, where all operands are finite and the result is not 0."""
    dtype = operands[0].dtype.type
    got = computed(f"{name}_{mode}", operands, engine)
    for values in zip(got, *operands, strict=True):
        seen, arguments = values[0], [Fraction(float(x)) for x in values[1:]]
        try:
            wanted = exact(*arguments)
        except (ZeroDivisionError, ValueError):
            continue
        if wanted:
            right = rounded(wanted, mode, dtype)
            assert seen == right, f"{name}_{mode}{values[1:]} is {seen!r}, not {right!r}"
        else:
            assert seen == 0


OPERATIONS: dict[str, tuple[int, Exact]] = {
    "add": (2, lambda x, y: x + y),
    "sub": (2, lambda x, y: x - y),
    "mul": (2, lambda x, y: x * y),
    "div": (2, lambda x, y: x / y),
    "fma": (3, lambda x, y, z: x * y + z),
    "rcp": (1, lambda x: 1 / x),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("name", OPERATIONS)
def test_arithmetic_rounds_as_it_says(name: str, mode: str, dtype: Any):
    count, exact = OPERATIONS[name]
    operands = [numbers(dtype, 1024, seed) for seed in range(count)]
    if name in ("add", "fma"):
        with np.errstate(all="ignore"):
            operands[-1][::4] = -operands[0][::4] * dtype(1 - 2.0**-20)
    if name == "fma":  # cancellation down to the last bits of the product
        with np.errstate(all="ignore"):
            product = operands[0] * operands[1]
        operands[2][::3] = np.where(np.isfinite(product), -product, 1)[::3]
    check(name, mode, operands, exact)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", MODES[1:])
def test_roots_round_as_they_say(mode: str, dtype: Any):
    x = np.abs(numbers(dtype, 512, 4))
    x[:30] = np.arange(30) ** 2
    got = computed(f"sqrt_{mode}", [x], "cpu")
    bits = got.view(f"i{got.itemsize}")
    inward, outward = (np.maximum(bits + step, 0).view(dtype) for step in (-1, 1))
    for value, seen, less, more in zip(x.tolist(), *(map(Fraction, y.tolist()) for y in (got, inward, outward))):
        if mode == "ru":
            assert seen**2 >= value and (less**2 < value or seen == 0)
        else:
            assert seen**2 <= value < more**2


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_operands(dtype: Any):
    inf, nan = math.inf, math.nan
    table = {
        "add_rd": [(0.0, -0.0, -0.0), (0.0, 0.0, 0.0), (1.0, -1.0, -0.0), (inf, 1.0, inf), (inf, -inf, nan)],
        "add_ru": [(0.0, -0.0, 0.0), (1.0, -1.0, 0.0), (-inf, 1.0, -inf)],
        "sub_rd": [(1.0, 1.0, -0.0), (0.0, 0.0, -0.0)],
        "mul_rz": [(inf, 0.0, nan), (inf, -2.0, -inf), (-0.0, 3.0, -0.0)],
        "div_ru": [(1.0, 0.0, inf), (-1.0, 0.0, -inf), (1.0, inf, 0.0), (0.0, 0.0, nan), (inf, 3.0, inf)],
        "div_rz": [(1.0, -inf, -0.0), (nan, 1.0, nan)],
    }
    for name, rows in table.items():
        x, y, wanted = (np.array(column, dtype) for column in zip(*rows, strict=True))
        got = computed(name, [x, y], "cpu")
        np.testing.assert_array_equal(got, wanted, name)
        np.testing.assert_array_equal(np.signbit(got)[wanted == 0], np.signbit(wanted)[wanted == 0], name)


@pytest.mark.parametrize("name", ["add_rd", "mul_ru", "div_rz", "fma_rd", "sqrt_ru", "rcp_rd"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_engines_agree(name: str, dtype: Any):
    count = 1 if name[:4] in ("sqrt", "rcp_") else OPERATIONS[name[:3]][0]
    operands = [numbers(dtype, 128, seed) for seed in range(count)]
    wanted = computed(name, operands, "interpreter")
    for engine in ("cpu", "sim"):
        np.testing.assert_array_equal(computed(name, operands, engine), wanted, engine)


INTEGERS = {
    "int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64, "float": np.float32, "double": np.float64,
}  # fmt: skip
TO_INTEGER = [f"{source}2{to}" for source in ("float", "double") for to in ("int", "uint", "ll", "ull")]
TO_FLOAT = ["double2float", "int2float", "uint2float", "ll2float", "ull2float", "ll2double", "ull2double"]
WHOLE: dict[str, Callable[[float], int]] = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TO_INTEGER)
def test_floats_become_integers(name: str, mode: str):
    source, to = (INTEGERS[word] for word in name.split("2"))
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.normal(size=90) * 2.0 ** rng.integers(0, 70, 90), np.arange(-4, 4.5, 0.25)])
    edges = [2.0**31, 2.0**32, 2.0**63, 2.0**64, -(2.0**31), -(2.0**63), np.inf, -np.inf, np.nan, 2147483647.5, 1e30]
    x = np.concatenate([x, edges]).astype(source)
    low, high = integer_range(DTYPES[f"{np.dtype(to).kind}{np.dtype(to).itemsize * 8}"])
    signed = np.dtype(f"i{np.dtype(to).itemsize}")
    got = computed(f"{name}_{mode}", [x], "cpu", signed).view(to)
    for value, seen in zip(x.tolist(), got.tolist(), strict=True):
        whole = 0 if value != value else high if value == np.inf else low if value == -np.inf else WHOLE[mode](value)
        assert seen == min(max(whole, low), high), f"{name}_{mode}({value})"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TO_FLOAT)
def test_numbers_become_floats(name: str, mode: str):
    source, to = (INTEGERS[word] for word in name.split("2"))
    rng = np.random.default_rng(9)
    if source is np.float64:
        x = numbers(source, 300, 5)
    else:
        info = np.iinfo(source)
        x = rng.integers(info.min, info.max, 200, source, endpoint=True) >> rng.integers(0, 31, 200).astype(source)
        x = np.concatenate([x, np.array([info.min, info.max, info.max - 1, 0, 1, 2**24 + 1, 2**31 - 1], source)])
    got = computed(f"{name}_{mode}", [x], "cpu", to)
    for value, seen in zip(x.tolist(), got, strict=True):
        exact = Fraction(value)
        if mode == "rn":
            with np.errstate(all="ignore"):
                assert seen == x.dtype.type(value).astype(to), f"{name}_{mode}({value})"
        elif exact:
            assert seen == rounded(exact, mode, to), f"{name}_{mode}({value})"
