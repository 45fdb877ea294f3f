"""Sums of tensor cores: where architectures part, how far from exact they are, and launches that ask for one."""

from __future__ import annotations

from fractions import Fraction
from math import fsum
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.sim.kit import run
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ptx.tensor_cores import TENSOR_CORES, Rule, multiply, rule

NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32}
MODELS = [name for name in TENSOR_CORES if name != "exact"]


def total(name: str, products: list[tuple[float, float]], c: float, type_: str = "f16", **told: str) -> float:
    """One element of D on a tensor core: the products stand at the first places of k."""
    a, b = np.zeros((1, 1, DEPTH[type_])), np.zeros((1, DEPTH[type_], 1))
    for k, (x, y) in enumerate(products):
        a[0, 0, k], b[0, k, 0] = x, y
    result = told.get("result", "f32")
    how = rule(TENSOR_CORES[name], told.get("instruction", "mma"), type_, result)
    with np.errstate(all="ignore"):
        found = multiply(a, b, np.full((1, 1, 1), c), type_, how=how)
        return float(found[0, 0, 0].astype(np.float16 if result == "f16" else np.float32))


LARGE, BIG, NONE = 2.0**24, 4096.0, (0.0, 0.0)
CANCELLED = [(BIG, BIG), (BIG, -BIG)]


@pytest.mark.parametrize(
    ("c", "products", "more"),
    [
        # Ones beside 2^24 lie below the last of 23 bits, not of 24; halves below the last of 24, not of 25.
        (LARGE, [(1.0, 1.0)] * 8, {"exact": 8, "sm_70": 0, "sm_75": 8, "sm_80": 8, "sm_89": 8, "sm_90": 8}),
        (LARGE, [(0.5, 1.0)] * 8, {"exact": 4, "sm_70": 0, "sm_75": 0, "sm_80": 0, "sm_89": 0, "sm_90": 4}),
        # What cancels makes room only for the groups that come after it.
        (0.0, [*CANCELLED, NONE, NONE, (0.5, 0.5)], {"exact": 0.25, "sm_70": 0.25, "sm_75": 0, "sm_80": 0}),
        (0.0, [*CANCELLED, *[NONE] * 6, (0.5, 0.5)], {"exact": 0.25, "sm_75": 0.25, "sm_86": 0.25, "sm_90": 0}),
        # A total goes toward zero, where an f32 would go to the nearest.
        (LARGE, [(1.0, 1.5)], {"exact": 2, "sm_70": 0, "sm_80": 0, "sm_90": 0}),
        (-LARGE, [(1.0, -1.5)], {"exact": -2, "sm_70": 0, "sm_80": 0, "sm_90": 0}),
    ],
)
def test_architectures_part(c: float, products: list[tuple[float, float]], more: dict[str, float]):
    assert {name: total(name, products, c) - c for name in more} == more


def test_sums_of_8_bit_floats_are_coarse_in_one_instruction_of_some():
    tiny = [(2.0**-7, 2.0**-7)]
    for name, instruction, more in [
        ("exact", "mma", 2.0**-14), ("sm_89", "mma", 0.0), ("sm_90", "mma", 2.0**-14), ("sm_90", "wgmma", 0.0)
    ]:  # fmt: skip
        assert total(name, tiny, 1.0, "e5m2", instruction=instruction) == 1 + more
    # Results have 13 bits too: what an f32 holds beyond them is lost.
    assert total("sm_90", [(1.0, 1.0)], 2.0**13 + 0.5, "e4m3", instruction="wgmma") == 2.0**13 + 1
    # Halves of the result's type go to the nearest, and the old sum is one.
    assert total("sm_80", [(1.0, 1.5)], 2048.0, result="f16") == 2050.0
    assert total("sm_80", [(1.0, 1.0)], 2048.0, result="f16") == 2048.0


def test_infinities_nan_subnormals_and_overflow():
    inf = float("inf")
    for name in MODELS:
        assert total(name, [(inf, 1.0), (1.0, 1.0)], 0.0) == inf
        assert np.isnan(total(name, [(inf, 0.0)], 0.0)) and np.isnan(total(name, [(inf, 1.0)], -inf))
        assert total(name, [(2.0**-24, 2.0**-24)], 0.0) == 2.0**-48
        assert total(name, [(2.0**127, 1.0)], 2.0**127, "bf16") == inf
        assert total(name, [(2.0**-100, 2.0**-49)], 0.0, "bf16") == 2.0**-149
        assert total(name, [(2.0**-100, 2.0**-50)], 0.0, "bf16") == 0.0
        assert total(name, [(256.0, 256.0)], 0.0, result="f16") == inf


def by_definition(a: Any, b: Any, c: float, how: Rule, least: int) -> float:
    """The rule with whole numbers, one element at a time."""
    total = Fraction(c)
    for first in range(0, len(a), how.group):
        pairs = list(zip(a[first : first + how.group], b[first : first + how.group], strict=True))
        terms = [(Fraction(x) * Fraction(y), exponent(x, least) + exponent(y, least)) for x, y in pairs]
        terms.append((total, exponent(float(total), -126)))
        largest = max((e for value, e in terms if value), default=0)
        unit = Fraction(2) ** (largest - how.bits)
        total = sum((int(value / unit) * unit for value, _ in terms), Fraction(0))
        last = Fraction(2) ** (exponent(float(total), -126) - how.result_bits)
        total = int(total / last) * last
    return float(total)


def exponent(x: float, least: int) -> int:
    return max(int(np.frexp(x)[1]) - 1, least)


LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14}


@pytest.mark.parametrize("type_", NUMPY)
@pytest.mark.parametrize("name", MODELS)
def test_sums_are_as_defined_and_near_the_exact_ones(name: str, type_: str):
    rng = np.random.default_rng(len(name) + len(type_))
    shape, depth = (2, 4, 4), DEPTH[type_]
    spread = 2.0 ** rng.integers(-6, 6, (3, *shape[:2], depth))
    a = (rng.normal(size=(2, 4, depth)) * spread[0]).astype(NUMPY[type_]).astype(np.float64)
    b = (rng.normal(size=(2, depth, 4)) * spread[1].transpose(0, 2, 1)).astype(NUMPY[type_]).astype(np.float64)
    if type_ == "tf32":
        a, b = (x.astype(np.float32).view(np.uint32) & 0xFFFFE000 for x in (a, b))
        a, b = (x.astype(np.uint32).view(np.float32).astype(np.float64) for x in (a, b))
    c = (rng.normal(size=shape) * 2.0 ** rng.integers(-9, 9, shape)).astype(np.float32).astype(np.float64)
    for instruction in ("mma", "wgmma"):
        how = rule(TENSOR_CORES[name], instruction, type_, "f32")
        assert how is not None
        got = multiply(a, b, c, type_, how=how)
        for at in np.ndindex(shape):
            left, right, old = a[at[0], at[1]], b[at[0], :, at[2]], float(c[at])
            assert got[at] == by_definition(left, right, old, how, LEAST[type_]), at
            products = [*(left * right), old]
            largest = max(abs(x) for x in products) * len(products)
            groups = -(-depth // how.group)
            lost = groups * ((how.group + 1) * 2.0**-how.bits + 2.0**-how.result_bits) * largest
            assert abs(got[at] - fsum(products)) <= lost, at


MULTIPLY = """
mov.b32 %r1, 0x3c003c00; mov.b32 %r2, 0x38003800; mov.f32 %f1, 0f4B800000;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r1, %r1, %r1, %r1}, {%r2, %r2},
    {%f1, %f1, %f1, %f1};
mul.wide.u32 %d3, %r0, 4; add.u64 %d3, %d3, %d0; st.global.f32 [%d3], %f5;
"""


def test_a_launch_adds_as_it_is_told():
    found: dict[str, float] = {}
    for name in ("exact", "sm_80", "sm_90"):
        out = np.zeros(32, np.float32)
        run(MULTIPLY, out, tensor_cores=name)
        assert len(set(out.tolist())) == 1
        found[name] = out[0] - 2.0**24
    assert found == {"exact": 8.0, "sm_80": 0.0, "sm_90": 8.0}
    out = np.zeros(32, np.float32)
    run(MULTIPLY, out)
    assert out[0] == 2.0**24 + 8
    with pytest.raises(TinytonError, match=r"TT6030: tensor_cores='sm_1' is not simulated[\s\S]*'sm_80'"):
        run(MULTIPLY, out, tensor_cores="sm_1")
