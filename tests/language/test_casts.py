"""Casts between all dtypes: every pattern of 8 and 16 bits and the edges of the wider ones, against numpy's values.

What is expected is computed here, from numpy's and ml_dtypes' conversions to and from f32 and f64 and from Python's
integers, not by the op's own definition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.codegen.native_runs import assert_same
from tinyton_lab.base.dtypes import DTYPES, DType, integer_range

ENGINES = ["interpreter", "cpu", "sim"]
FLOATS = [dtype for dtype in DTYPES.values() if dtype.kind == "float"]
WIDE = (DTYPES["f32"], DTYPES["f64"])


@tt.jit
def cast_all(x, o0, o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11, o12, o13, o14, o15, o16, o17, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + i)
    for out in (o0, o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11, o12, o13, o14, o15, o16, o17):
        tl.store(out + i, value.to(out.dtype.element_ty))


@tt.jit
def cast_toward_zero(x, out, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty, fp_downcast_rounding="rtz"))


def patterns(dtype: DType, engine: str) -> Any:
    """Every value of a dtype of up to 16 bits, a sample of them for the simulator; the edges of the wider ones."""
    if dtype.kind == "bool":
        return np.arange(128) % 2 == 1
    if dtype.bits <= 16:
        every = np.arange(1 << dtype.bits, dtype=f"u{dtype.bytes}").view(dtype.numpy)
        return every if engine != "sim" or dtype.bits == 8 else every[::61][:1024].copy()
    rng = np.random.default_rng(dtype.bits)
    powers = [sign * 2**k + step for k in range(65) for sign in (-1, 1) for step in (-1, 0, 1)]
    if dtype.kind != "float":
        low, high = integer_range(dtype)
        inside = [n for n in powers if low <= n <= high] + [low, high]
        near = [n + (1 << max(n.bit_length() - 12, 0)) for n in inside if low <= n * 2 <= high]
        made = np.array([n for n in inside + near if low <= n <= high], dtype.numpy)
        wild = rng.integers(low, high, 2048 - len(made), dtype.numpy, endpoint=True)
        return np.concatenate([made, wild])[: 2048 if engine != "sim" else 512]
    with np.errstate(all="ignore"):
        edges = np.array([float(n) for n in powers])
        edges = np.concatenate([edges, edges + 0.5, edges * (1 + 2.0**-12), 1 / edges[edges != 0], ties()])
        edges = np.concatenate([[np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, 1e300, -1e300], edges])
        wild = rng.normal(size=8192 - len(edges)) * np.exp2(rng.uniform(-40, 40, 8192 - len(edges)))
        return np.concatenate([edges, wild]).astype(dtype.numpy)[: 8192 if engine != "sim" else 2048]


def ties() -> Any:
    """Middles between neighbours of the narrow floats, and numbers just beside them."""
    found: list[Any] = []
    for dtype in FLOATS:
        if dtype.bits <= 16:
            step = 1 if dtype.bits == 8 else 397
            every = np.arange(0, 1 << dtype.bits, step, dtype=f"u{dtype.bytes}")
            finite = np.unique(every.view(dtype.numpy).astype(np.float64))
            finite = finite[np.isfinite(finite)]
            above = np.nextafter(finite.astype(np.float32), np.float32(np.inf)).astype(np.float64)
            middles = (finite[1:] + finite[:-1]) / 2 if step == 1 else (finite + finite + dtype_step(dtype, finite)) / 2
            found += [middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf), above]
    return np.concatenate(found)


def dtype_step(dtype: DType, x: Any) -> Any:
    """The distance to the next number of a float dtype."""
    return np.exp2(np.floor(np.log2(np.maximum(np.abs(x), 2.0**-14))) - dtype.mantissa_bits)


def expected(x: Any, source: DType, to: DType) -> Any:
    """The values of `x` in another dtype."""
    with np.errstate(all="ignore"):
        if to.kind == "bool":
            return x.astype(np.float64) != 0 if source.kind == "float" else x != 0
        if to.kind != "float":
            return whole(x, source, to)
        if source.kind != "float":
            numbers = x.astype(np.uint8) if source.kind == "bool" else x
            return numbers.astype(to.numpy) if to in WIDE else numbers.astype(np.float32).astype(to.numpy)
        if source.name == "f64" and to not in WIDE and to.name != "f16":
            return rounded(x, to)
        return x.astype(to.numpy) if source in WIDE and to in WIDE else widest(x, source).astype(to.numpy)


def widest(x: Any, source: DType) -> Any:
    return x if source.name == "f64" else x.astype(np.float32)


def rounded(x: Any, to: DType) -> Any:
    """f64 to a float of 8 or 7 bits' mantissa: scaled to whole numbers, whose ties numpy rounds to even."""
    every = np.arange(1 << to.bits, dtype=f"u{to.bytes}").view(to.numpy).astype(np.float64)
    limit = every[np.isfinite(every)].max()
    least = every[every > 0].min()
    unit = np.maximum(np.exp2(np.floor(np.log2(np.abs(x))) - to.mantissa_bits), least)
    value = np.where(np.isfinite(x) & (x != 0), np.rint(x / unit) * unit, x)
    beyond = np.copysign(np.inf, x)  # what is there in ml_dtypes' formats: infinity or NaN
    return np.where(np.abs(value) > limit, beyond, value).astype(np.float32).astype(to.numpy)


def whole(x: Any, source: DType, to: DType) -> Any:
    low, high = integer_range(to)
    if source.kind == "bool":
        return x.astype(to.numpy)
    if source.kind != "float":
        return x.astype(to.numpy)  # wraps
    numbers = x.astype(np.float64)
    plain = [0 if v != v else high if v >= high else low if v <= low else int(v) for v in numbers.tolist()]
    return np.array(plain, to.numpy)


def run(kernel: Any, x: Any, outs: list[Any], engine: str) -> None:
    block = min(x.size, 2048)
    kernel[(x.size // block,)](x, *outs, block, backend=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", DTYPES.values(), ids=str)
def test_casts_to_every_dtype(source: DType, engine: str):
    x = patterns(source, engine)
    assert x.size & (x.size - 1) == 0
    outs = [np.zeros(x.size, to.numpy) for to in DTYPES.values()]
    run(cast_all, x, outs, engine)
    for to, got in zip(DTYPES.values(), outs, strict=True):
        try:
            assert_same(got, expected(x, source, to))
        except AssertionError as failure:
            raise AssertionError(f"{source} to {to}: {failure}") from None


NARROWING = [
    (source, to)
    for source in DTYPES.values()
    for to in FLOATS
    if source.name in ("f16", "bf16", "f32", "f64") and to.bits < source.bits
]


@pytest.mark.parametrize("pair", NARROWING, ids=lambda pair: f"{pair[0]}-{pair[1]}")
@pytest.mark.parametrize("engine", ENGINES)
def test_casts_toward_zero(pair: tuple[DType, DType], engine: str):
    source, to = pair
    x = patterns(source, engine if source.bits == 16 else "sim")
    got = np.zeros(x.size, to.numpy)
    run(cast_toward_zero, x, [got], engine)
    with np.errstate(all="ignore"):
        check_truncation(got, x.astype(np.float64), to)


def check_truncation(got: Any, exact: Any, to: DType) -> None:
    """The greatest number of a dtype that is not beyond the exact one."""
    seen = got.astype(np.float64)
    every = np.arange(1 << to.bits, dtype=f"u{to.bytes}").view(to.numpy) if to.bits <= 16 else None
    assert (np.isnan(seen) == (np.isnan(exact) | (np.isinf(exact) & ~has_infinity(to)))).all()
    number = np.isfinite(exact)
    assert (np.abs(seen[number]) <= np.abs(exact[number])).all()
    assert (np.signbit(seen) == np.signbit(exact))[number & (seen != 0)].all()
    if every is None:
        outward = np.nextafter(got, np.where(exact < 0, -np.inf, np.inf).astype(np.float32)).astype(np.float64)
        assert (np.abs(outward[number]) > np.abs(exact[number])).all()
        return
    sizes = np.unique(np.abs(every.astype(np.float64)))
    sizes = sizes[np.isfinite(sizes)]
    inward = sizes[np.searchsorted(sizes, np.abs(exact[number]), "right") - 1]
    np.testing.assert_array_equal(np.abs(seen[number]), inward)


def has_infinity(dtype: DType) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.array(np.inf, np.float32).astype(dtype.numpy).astype(np.float32)))


@tt.jit
def rounds(x, out, ROUNDING: tl.constexpr):
    tl.store(out, tl.load(x).to(tl.float16, fp_downcast_rounding=ROUNDING))


@pytest.mark.parametrize("mode", ["rs", "rtp", "nearest"])
def test_other_roundings_are_refused(mode: str):
    with pytest.raises(tt.TinytonError, match=f"TT2016: .*{mode}"):
        rounds[1](np.ones(1, np.float32), np.zeros(1, np.float16), mode)
