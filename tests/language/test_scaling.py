"""Products of scaled small floats against numpy, format by format."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl

ENGINES = ["interpreter", "eager", "cpu"]
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
BYTES = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
CHANCE = np.random.default_rng(11)


@tt.jit
def product(
    a, b, sa, sb, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, KA: tl.constexpr, KB: tl.constexpr,
    MA: tl.constexpr, NB: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr,
):  # fmt: skip
    left = tl.load(a + tl.arange(0, MA)[:, None] * KA + tl.arange(0, KA)[None, :])
    right = tl.load(b + tl.arange(0, KB)[:, None] * NB + tl.arange(0, NB)[None, :])
    groups = tl.arange(0, K // 32)[None, :]
    left_scale = tl.load(sa + tl.arange(0, M)[:, None] * (K // 32) + groups) if sa is not None else None
    right_scale = tl.load(sb + tl.arange(0, N)[:, None] * (K // 32) + groups) if sb is not None else None
    total = tl.dot_scaled(left, left_scale, FA, right, right_scale, FB, lhs_k_pack=PA, rhs_k_pack=PB)
    tl.store(o + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], total)


def operand(format: str, rows: int, k: int, packed: bool) -> tuple[np.ndarray, np.ndarray]:
    """(what lies in memory, its values) of a matrix with K along its last axis."""
    if format == "e2m1":
        codes = CHANCE.integers(0, 16, (rows, k)).astype(np.uint8)
        memory = codes[:, 0::2] | codes[:, 1::2] << 4 if packed else codes[0::2] | codes[1::2] << 4
        return memory, E2M1[codes]
    if format in BYTES:
        memory = CHANCE.standard_normal((rows, k)).astype(BYTES[format])
        return memory.view(np.uint8), memory.astype(np.float32)
    memory = CHANCE.standard_normal((rows, k)).astype({"bf16": ml_dtypes.bfloat16, "fp16": np.float16}[format])
    return memory, memory.astype(np.float32)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "left, right, packs",
    [
        ("e2m1", "e2m1", (True, True)),
        ("e2m1", "e4m3", (False, True)),
        ("e5m2", "e2m1", (True, False)),
        ("e4m3", "e5m2", (True, True)),
        ("bf16", "e4m3", (True, True)),
        ("fp16", "e2m1", (True, True)),
    ],
)
def test_the_product(engine: str, left: str, right: str, packs: tuple[bool, bool]) -> None:
    m, n, k = 16, 32, 64
    a, x = operand(left, m, k, packs[0])
    b, y = operand(right, n, k, packs[1])
    scales = [CHANCE.integers(120, 134, (rows, k // 32)).astype(np.uint8) for rows in (m, n)]
    factors = [np.repeat(np.exp2(scale.astype(np.float32) - 127), 32, 1) for scale in scales]
    plain = left in ("bf16", "fp16")
    out, b = np.zeros((m, n), np.float32), np.ascontiguousarray(b.T)
    product[(1,)](
        a, b, None if plain else scales[0], scales[1], out, M=m, N=n, K=k, KA=a.shape[1], KB=b.shape[0], MA=a.shape[0],
        NB=b.shape[1], FA=left, FB=right, PA=packs[0], PB=packs[1], backend=engine,
    )  # fmt: skip
    wanted: Any = (x if plain else x * factors[0]).astype(np.float64) @ (y * factors[1]).T.astype(np.float64)
    np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=2e-5 * np.abs(wanted).max())


@tt.jit
def powers(x, o, B: tl.constexpr):
    zero = tl.zeros((16, 32), tl.uint8)
    scale = tl.load(x + tl.arange(0, 16))[:, None]
    ones = (zero + 0x38).to(tl.float8e4nv, bitcast=True)
    total = tl.dot_scaled(ones, scale, "e4m3", tl.trans(ones), None, "e4m3")
    tl.store(o + tl.arange(0, 16), tl.max(total, 1) / 32)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_ends_of_the_scale(engine: str) -> None:
    codes = np.array([0, 1, 2, 64, 126, 127, 128, 200, 249, 250, 251, 252, 253, 254, 255, 127], np.uint8)[:16]
    out = np.zeros(16, np.float32)
    powers[(1,)](codes, out, B=16, backend=engine)
    # Sums of 32 reach infinity beyond 2 ** 122.
    with np.errstate(over="ignore"):
        wanted = (np.exp2(codes.astype(np.float64) - 127).astype(np.float32) * np.float32(32)) / np.float32(32)
    wanted[codes == 255] = np.nan
    np.testing.assert_array_equal(out, wanted)
