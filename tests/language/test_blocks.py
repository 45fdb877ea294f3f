"""Block pointers and tensor descriptors read and write the same elements as numpy's slices, on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl

ENGINES = ["interpreter", "eager", "cpu", "sim"]
CHANCE = np.random.default_rng(5)


@tt.jit
def copy2(x, o, M, N, xm, xn, om, on, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    source = tl.make_block_ptr(x, (M, N), (xm, xn), (i * BM, j * BN), (BM, BN), order=(1, 0))
    target = tl.make_block_ptr(o, (M, N), (om, on), (i * BM, j * BN), (BM, BN), order=(1, 0))
    tl.store(target, tl.load(source, boundary_check=(0, 1)), boundary_check=(0, 1))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint16, np.int64, np.float64])
@pytest.mark.parametrize("turned", [False, True])
def test_a_copy_of_any_shape_and_stride(engine: str, dtype: Any, turned: bool) -> None:
    x = (CHANCE.random((11, 21)) * 100).astype(dtype)
    x = x.T if turned else x
    out = np.zeros(x.shape, dtype)
    strides = [stride // x.itemsize for stride in (*x.strides, *out.strides)]
    copy2[(3, 6)](x, out, *x.shape, *strides, BM=8, BN=4, backend=engine)
    np.testing.assert_array_equal(out, x)


@tt.jit
def window(x, o, N, first, B: tl.constexpr, PAD: tl.constexpr):
    block = tl.make_block_ptr(x, (N,), (1,), (first,), (B,), (0,))
    tl.store(o + tl.arange(0, B), tl.load(block, boundary_check=(0,), padding_option=PAD))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("first", [-100, -3, 0, 5, 7, 100])
@pytest.mark.parametrize("pad, outside", [("", 0), ("zero", 0), ("nan", np.nan)])
def test_elements_outside_are_padded(engine: str, first: int, pad: str, outside: float) -> None:
    x, out = np.arange(1, 11, dtype=np.float32), np.zeros(8, np.float32)
    window[(1,)](x, out, 10, first, B=8, PAD=pad, backend=engine)
    places = np.arange(first, first + 8)
    inside = (places >= 0) & (places < 10)
    np.testing.assert_array_equal(out, np.where(inside, x[places.clip(0, 9)], np.float32(outside)))


@tt.jit
def step(block, far: tl.constexpr):
    return tl.advance(block, (0, far)), block.advance((0, 2 * far))


@tt.jit
def row_sums(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    total = tl.zeros((BM,), tl.float32)
    if N > 2 * BN:
        near, far = step(block, BN)
        total += tl.sum(tl.load(block, boundary_check=(0, 1)), 1) + tl.sum(tl.load(near, boundary_check=(0, 1)), 1)
        block = far
        left = N - 2 * BN
    else:
        left = N
    while left > 0:
        total += tl.sum(tl.load(block, boundary_check=(0, 1)), 1)
        block = tl.advance(block, (0, BN))
        left -= BN
    tl.store(tl.make_block_ptr(o, (M,), (1,), (tl.program_id(0) * BM,), (BM,), (0,)), total, boundary_check=(0,))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [(5, 7), (9, 40), (4, 33)])
def test_blocks_go_through_branches_loops_and_helpers(engine: str, shape: tuple[int, int]) -> None:
    x = CHANCE.integers(-9, 9, shape).astype(np.float32)
    out = np.zeros(shape[0], np.float32)
    row_sums[(3,)](x, out, *shape, BM=4, BN=8, backend=engine)
    np.testing.assert_array_equal(out, x.sum(1))


@tt.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    left = tl.make_block_ptr(a, (M, K), (K, 1), (i * BM, 0), (BM, BK), (1, 0))
    right = tl.make_block_ptr(b, (K, N), (1, K), (0, j * BN), (BK, BN), (0, 1))
    total = tl.zeros((BM, BN), tl.int32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(left, boundary_check=(0, 1)), tl.load(right, boundary_check=(0, 1)), total)
        left, right = tl.advance(left, (0, BK)), tl.advance(right, (BK, 0))
    tl.store(tl.make_block_ptr(c, (M, N), (N, 1), (i * BM, j * BN), (BM, BN), (1, 0)), total, boundary_check=(0, 1))


@pytest.mark.parametrize("engine", ["interpreter", "eager", "cpu"])
def test_an_integer_product_of_blocks(engine: str) -> None:
    a, b = CHANCE.integers(-99, 99, (33, 50)).astype(np.int8), CHANCE.integers(-99, 99, (20, 50)).astype(np.int8)
    c = np.zeros((33, 20), np.int32)
    matmul[(3, 2)](a, b, c, 33, 20, 50, BM=16, BN=16, BK=16, backend=engine)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.T.astype(np.int32))


@tt.jit
def through_descriptors(x, o, A, B, C, BB: tl.constexpr, BC: tl.constexpr, PAD: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [A, B, C], [B * C, C, 1], [1, BB, BC], padding_option=PAD)
    target = tl.make_tensor_descriptor(o, [A, B + 1, C + 1], [(B + 1) * (C + 1), C + 1, 1], [1, BB, BC])
    tl.static_assert(source.block_shape == (1, BB, BC) and source.dtype == tl.float32)
    place = [tl.program_id(0), tl.program_id(1) * BB, tl.program_id(2) * BC]
    tl.store_tensor_descriptor(target, place, tl.load_tensor_descriptor(source, place) + source.shape[0])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("pad, outside", [("zero", 0), ("nan", np.nan)])
def test_descriptors_stay_within_their_tensors(engine: str, pad: str, outside: float) -> None:
    x = CHANCE.random((2, 5, 7)).astype(np.float32)
    out = np.full((2, 6, 8), 9, np.float32)
    through_descriptors[(2, 2, 2)](x, out, *x.shape, BB=4, BC=4, PAD=pad, backend=engine)
    wanted = np.full((2, 6, 8), outside, np.float32)
    wanted[:, :5, :7] = x
    np.testing.assert_array_equal(out, wanted + np.float32(2))


@tt.jit
def rows_by_index(x, o, index, N, B: tl.constexpr, BN: tl.constexpr):
    tensor = tl.make_tensor_descriptor(x, [N, 12], [12, 1], [1, BN])
    rows = tl.load(index + tl.arange(0, B))
    picked = tensor.gather(rows, 5)
    tl.store(o + tl.arange(0, B)[:, None] * BN + tl.arange(0, BN)[None, :], picked)
    tensor.scatter(picked * 2, rows, 5)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_gathered_and_scattered(engine: str) -> None:
    x = np.arange(72, dtype=np.float32).reshape(6, 12)
    index, out = np.array([4, 0, 9, 2], np.int32), np.full((4, 8), 7, np.float32)
    wanted = np.zeros((4, 8), np.float32)
    wanted[[0, 1, 3], :7] = x[[4, 0, 2], 5:12]
    after = x.copy()
    after[[4, 0, 2], 5:12] *= 2
    rows_by_index[(1,)](x, out, index, 6, B=4, BN=8, backend=engine)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(x, after)


@tt.jit
def update(x, o, N, HOW: tl.constexpr, BN: tl.constexpr):
    tensor = tl.make_tensor_descriptor(x, [N], [1], [BN])
    value = tl.arange(0, BN)
    if HOW == "add":
        old = tensor.atomic_add([0], value)
    elif HOW == "max":
        old = tensor.atomic_max([0], value)
    elif HOW == "min":
        old = tensor.atomic_min([0], value)
    elif HOW == "and":
        old = tensor.atomic_and([0], value)
    elif HOW == "or":
        old = tensor.atomic_or([0], value)
    else:
        old = tensor.atomic_xor([0], value)
    tl.store(o + value, old)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", ["add", "max", "min", "and", "or", "xor"])
def test_descriptors_update_atomically(engine: str, how: str) -> None:
    x = np.array([5, 0, 9, 3, 2, 7], np.int32)
    out, before, value = np.zeros(8, np.int32), x.copy(), np.arange(6, dtype=np.int32)
    update[(1,)](x, out, 6, HOW=how, BN=8, backend=engine)
    wanted = {
        "add": np.add, "max": np.maximum, "min": np.minimum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }[how](before, value)  # fmt: skip
    np.testing.assert_array_equal(x, wanted)
    np.testing.assert_array_equal(out, [*before, 0, 0])


@tt.jit
def strong(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    (o + i).atomic_store((x + i).atomic_load(mask=i < 6) * 2, mask=i < 7)
    equal = o.atomic_poll(2)
    never = tl.atomic_poll(o + i, 5, timeout_ns=1000)
    tl.store(o + 8, equal)
    tl.store(o + 9, tl.sum(never.to(tl.int32)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_single_elements_are_read_and_written_undivided(engine: str, dtype: Any) -> None:
    x, out = np.arange(1, 9).astype(dtype), np.full(10, 3, dtype)
    strong[(1,)](x, out, B=8, backend=engine)
    assert out.tolist() == [2, 4, 6, 8, 10, 12, 0, 3, 1, 0]


@tt.jit
def bad(x, HOW: tl.constexpr):
    if HOW == "rank":
        tl.make_block_ptr(x, (8, 8), (8,), (0, 0), (4, 4), (1, 0))
    elif HOW == "float":
        tl.make_block_ptr(x, (8,), (1,), (0.5,), (4,), (0,))
    elif HOW == "length":
        tl.make_block_ptr(x, (8,), (1,), (0,), (3,), (0,))
    elif HOW == "axis":
        tl.load(tl.make_block_ptr(x, (8,), (1,), (0,), (4,), (0,)), boundary_check=(1,))
    elif HOW == "mask":
        tl.load(tl.make_block_ptr(x, (8,), (1,), (0,), (4,), (0,)), mask=tl.arange(0, 4) < 2)
    elif HOW == "padding":
        tl.load(tl.make_block_ptr(x, (8,), (1,), (0,), (4,), (0,)), padding_option="one")
    elif HOW == "value":
        tl.store(tl.make_block_ptr(x, (8,), (1,), (0,), (4,), (0,)), tl.arange(0, 8))
    elif HOW == "advance":
        tl.advance(x, (1,))
    elif HOW == "stride":
        tl.make_tensor_descriptor(x, [8], [2], [4])
    elif HOW == "many":
        tl.make_tensor_descriptor(x, [1] * 6, [1] * 6, [1] * 6)
    else:
        tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4, 4]).gather(tl.arange(0, 4), 0)


@pytest.mark.parametrize("engine", ["cpu", "eager"])
@pytest.mark.parametrize(
    "how, code",
    [
        ("rank", "TT2050"),
        ("float", "TT2050"),
        ("length", "TT2006"),
        ("axis", "TT2008"),
        ("mask", "TT2005"),
        ("padding", "TT2020"),
        ("value", "TT2050"),
        ("advance", "TT2050"),
        ("stride", "TT2050"),
        ("many", "TT2050"),
        ("gather", "TT2050"),
    ],
)
def test_what_is_no_block_is_a_located_fault(engine: str, how: str, code: str) -> None:
    with pytest.raises(tt.TinytonError, match=code) as caught:
        bad[(1,)](np.zeros(64, np.float32), HOW=how, backend=engine)
    assert caught.value.span is not None
