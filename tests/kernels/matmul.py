"""A product of matrices of any size in tiles, programs in groups of rows; whole numbers, so that every sum is exact."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def matmul(
    a, b, c, rows, columns, depth, a_row, a_column, b_row, b_column, c_row, c_column,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    down, across = tl.cdiv(rows, M), tl.cdiv(columns, N)
    number = tl.program_id(0)
    first = number // (GROUP * across) * GROUP
    height = tl.minimum(down - first, GROUP)
    within = number % (GROUP * across)
    m = (first + within % height) * M + tl.arange(0, M)
    n = within // height * N + tl.arange(0, N)
    k = tl.arange(0, K)
    a_tile = a + m[:, None] * a_row + k[None, :] * a_column
    b_tile = b + k[:, None] * b_row + n[None, :] * b_column
    acc = tl.zeros((M, N), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for start in range(0, depth, K):
        x = tl.load(a_tile, mask=(m < rows)[:, None] & (k < depth - start)[None, :], other=0)
        y = tl.load(b_tile, mask=(k < depth - start)[:, None] & (n < columns)[None, :], other=0)
        acc = tl.dot(x, y, acc)
        a_tile += K * a_column
        b_tile += K * b_row
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    tl.store(c + m[:, None] * c_row + n[None, :] * c_column, acc.to(c.dtype.element_ty), mask=inside)


@tt.jit
def add_products(a, b, c, M: tl.constexpr, TURNS: tl.constexpr):
    m = tl.arange(0, M)
    at = m[:, None] * M + m[None, :]
    total = tl.load(c + at)
    for _ in range(TURNS):
        total += tl.dot(tl.load(a + at), tl.trans(tl.load(b + at)), input_precision="ieee")
    tl.store(c + at, total)


def elements(array: np.ndarray) -> tuple[int, int]:
    """The strides of a matrix, in elements."""
    row, column = (stride // array.itemsize for stride in array.strides)
    return row, column


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(12)
    for dtype, result in (
        (np.float32, np.float32),
        (np.float16, np.float16),
        (ml_dtypes.bfloat16, np.float32),
        (ml_dtypes.float8_e4m3fn, np.float32),
        (np.int8, np.int32),
    ):
        for rows, columns, depth, tile in ((64, 32, 64, (16, 16, 16)), (45, 70, 37, (32, 64, 16))):
            a, b = (rng.integers(-3, 4, shape).astype(dtype) for shape in ((rows, depth), (columns, depth)))
            b, c, (m, n, k) = b.T, np.zeros((rows, columns), result), tile
            names = ("a_row", "a_column", "b_row", "b_column", "c_row", "c_column")
            strides = dict(zip(names, (*elements(a), *elements(b), *elements(c)), strict=True))
            sizes = {"rows": rows, "columns": columns, "depth": depth, "M": m, "N": n, "K": k, "GROUP": 2}
            want = (a.astype(np.int64) @ b.astype(np.int64)).astype(result)
            grid = (-(-rows // m) * -(-columns // n),)
            name = f"{np.dtype(dtype).name}-{rows}x{columns}x{depth}"
            yield Case(name, matmul, grid, {"a": a, "b": b, "c": c, **sizes, **strides}, {"c": want})
    a, b, c = (rng.integers(-9, 9, (16, 16)).astype(np.float32) for _ in range(3))
    yield Case("sum", add_products, (1,), {"a": a, "b": b, "c": c, "M": 16, "TURNS": 3}, {"c": c + 3 * (a @ b.T)})
