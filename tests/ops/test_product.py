"""The definition of a product of matrices: which types have one, the order of its sums, one rounding a step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tinyton_lab.base.dtypes import DTYPES, float16, float32, float64, int8, int32
from tinyton_lab.ir.definition import Mismatch
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops import product

RANDOM = np.random.default_rng(5)


def rounded(exact: Fraction, dtype: type) -> Fraction:
    """An exact number rounded once: the nearest of the neighbours that numpy offers, ties to even."""
    near = dtype(float(exact))
    candidates = [near, np.nextafter(near, dtype(-np.inf)), np.nextafter(near, dtype(np.inf))]
    bits = {np.float32: np.uint32, np.float64: np.uint64}[dtype]
    best = min(candidates, key=lambda x: (abs(Fraction(float(x)) - exact), int(np.array(x).view(bits)) & 1))
    return Fraction(float(best))


@pytest.mark.parametrize(("dtype", "out"), [(np.float32, float32), (np.float64, float64)])
def test_each_step_is_one_fused_multiply_add_in_order(dtype: type, out: object):
    a, b, acc = (RANDOM.standard_normal(shape).astype(dtype) for shape in ((4, 8), (8, 2), (4, 2)))
    found = product.dot_numpy(a, b, acc, out=out)
    for i, j in np.ndindex(4, 2):
        total = Fraction(float(acc[i, j]))
        for k in range(8):
            total = rounded(total + Fraction(float(a[i, k])) * Fraction(float(b[k, j])), dtype)
        assert Fraction(float(found[i, j])) == total


def test_halves_are_summed_in_single_and_rounded_at_the_end():
    a, b = RANDOM.standard_normal((4, 16)).astype(np.float16), RANDOM.standard_normal((16, 4)).astype(np.float16)
    single = product.dot_numpy(a, b, out=float32)
    assert np.array_equal(single, product.dot_numpy(a.astype(np.float32), b.astype(np.float32), out=float32))
    assert np.array_equal(product.dot_numpy(a, b, out=float16), single.astype(np.float16))


def test_small_integers_wrap_in_32_bits():
    a, b = (
        RANDOM.integers(-128, 128, (2, 4, 64)).astype(np.int8),
        RANDOM.integers(-128, 128, (2, 64, 8)).astype(np.int8),
    )
    acc = np.full((2, 4, 8), 2**31 - 1, np.int32)
    want = (a.astype(np.int64) @ b.astype(np.int64) + acc).astype(np.int32)
    assert np.array_equal(product.dot_numpy(a, b, acc, out=int32), want)
    assert (want < 0).any()


def test_programs_share_an_operand():
    a, b = RANDOM.standard_normal((3, 4, 8)).astype(np.float32), RANDOM.standard_normal((1, 8, 4)).astype(np.float32)
    whole = product.dot_numpy(a, b, out=float32)
    assert all(np.array_equal(whole[i : i + 1], product.dot_numpy(a[i : i + 1], b, out=float32)) for i in range(3))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_dtype_has_its_products_or_none(dtype):
    x, y = Tile(dtype, (16, 32)), Tile(dtype, (32, 8))
    possible = product.product_dtypes(dtype)
    for out in (float16, float32, float64, int32):
        if out in possible:
            assert product.infer_dot((x, y, None), {"out": out}) == (Tile(out, (16, 8)),)
        else:
            with pytest.raises(Mismatch):
                product.infer_dot((x, y, None), {"out": out})
    assert bool(possible) == (dtype.kind == "float" or dtype is int8)


@pytest.mark.parametrize(
    ("a", "b"), [((4, 8), (4, 8)), ((8,), (8, 4)), ((2, 4, 8), (8, 4)), ((2, 4, 8), (4, 8, 4)), ((), ())]
)
def test_shapes_without_a_product(a: tuple[int, ...], b: tuple[int, ...]):
    with pytest.raises(Mismatch):
        product.infer_dot((Tile(float32, a), Tile(float32, b), None), {"out": float32})
