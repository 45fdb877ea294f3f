"""`cvt` between every pair of formats against exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.ptx.exact import decode, encode
from tests.ptx.test_floats import function, patterns
from tests.ptx.test_integers import bits_of, values, wrap
from tinyton_lab.ptx.isa import resolve
from tinyton_lab.ptx.numerics import canonical

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
ROUND = {"rni": lambda x: round(x), "rzi": int, "rmi": math.floor, "rpi": math.ceil}


def integers(name: str) -> np.ndarray:
    if bits_of(name) == 8:
        return np.arange(256).astype(np.uint8).view(resolve(f"cvt.s64.{name}").types[1].compute)
    return values(name, 8)


def limits(name: str) -> tuple[int, int]:
    width = bits_of(name)
    return (-(1 << width - 1), (1 << width - 1) - 1) if name[0] == "s" else (0, (1 << width) - 1)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_between_integers(target: str, source: str):
    x, (low, high) = integers(source), limits(target)
    assert [int(v) for v in function(f"cvt.{target}.{source}")(x)] == [wrap(v, target) for v in x.tolist()]
    assert [int(v) for v in function(f"cvt.sat.{target}.{source}")(x)] == [min(max(v, low), high) for v in x.tolist()]


@pytest.mark.parametrize("rounding", sorted(ROUND))
@pytest.mark.parametrize("source", ["f16", "f32", "f64", "bf16"])
@pytest.mark.parametrize("target", INTEGERS)
def test_float_to_integer(target: str, source: str, rounding: str):
    bits, (low, high) = patterns(source, 300, 5), limits(target)
    form = resolve(f"cvt.{rounding}.{target}.{source}")
    got = function(form.opcode)(bits.view(form.types[1].compute))
    for pattern, result in zip(bits.tolist(), got.tolist()):
        value = decode(pattern, source)
        if math.isnan(value):
            assert result == 0
        elif math.isinf(value):
            assert result == (low if value < 0 else high)
        else:
            assert result == min(max(ROUND[rounding](Fraction(value)), low), high), value


@pytest.mark.parametrize("rounding", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("target", ["f16", "f32", "f64", "bf16"])
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float(source: str, target: str, rounding: str):
    x = integers(source)
    result = np.asarray(function(f"cvt.{rounding}.{target}.{source}")(x))
    got = (canonical(result) if result.dtype.kind == "f" else result).tolist()
    assert got == [encode(Fraction(v), target, rounding) for v in x.tolist()]


@pytest.mark.parametrize("rounding", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(
    "target, source",
    [("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64"), ("bf16", "f16"), ("f16", "bf16")],
)
def test_narrowing(target: str, source: str, rounding: str):
    bits = patterns(source, 600, 6)
    form = resolve(f"cvt.{rounding}.{target}.{source}")
    result = np.asarray(function(form.opcode)(bits.view(form.types[1].compute)))
    got = (canonical(result) if result.dtype.kind == "f" else result).tolist()
    for pattern, here in zip(bits.tolist(), got):
        value = decode(pattern, source)
        if math.isfinite(value):
            assert here == encode(Fraction(value), target, rounding, math.copysign(1, value) < 0), (value, hex(here))


@pytest.mark.parametrize("target, source", [("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16")])
def test_widening_is_exact(target: str, source: str):
    bits = np.arange(65536).astype(np.uint16) if source != "f32" else patterns("f32", 500, 7)
    form = resolve(f"cvt.{target}.{source}")
    with np.errstate(all="ignore"):
        got = function(form.opcode)(bits.view(form.types[1].compute)).astype(np.float64)
    want = np.array([decode(int(b), source) for b in bits])
    assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("rounding", sorted(ROUND))
def test_rounding_to_integral_values(rounding: str):
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e30, -0.0, 3.7], np.float32)
    got = function(f"cvt.{rounding}.f32.f32")(x)
    assert got.tolist() == [float(ROUND[rounding](Fraction(float(v)))) for v in x] and np.signbit(got[2])


@pytest.mark.parametrize("rounding", ["rn", "rna"])
def test_tf32(rounding: str):
    bits = patterns("f32", 500, 8)
    got = function(f"cvt.{rounding}.tf32.f32")(bits.view(np.float32)).view(np.uint32)
    for pattern, here in zip(bits.tolist(), got.tolist()):
        value = decode(pattern, "f32")
        if math.isfinite(value):
            want = encode(Fraction(value), "tf32", rounding, math.copysign(1, value) < 0) << 13
            assert here == want, value


@pytest.mark.parametrize("name, dtype", [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)])
def test_fp8(name: str, dtype: type):
    pairs = np.arange(65536).astype(np.uint16)
    wide = function(f"cvt.rn.f16x2.{name}x2")(pairs)
    low = (wide & np.uint32(0xFFFF)).astype(np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(all="ignore"):
        assert np.array_equal(low, (pairs & 255).astype(np.uint8).view(dtype).astype(np.float32), equal_nan=True)
    x = np.concatenate([patterns("f32", 3000, 9).view(np.float32), np.linspace(-500, 500, 4001, dtype=np.float32)])
    got = function(f"cvt.rn.satfinite.{name}x2.f32")(x, np.zeros_like(x)) >> np.uint16(8)
    limit = float(ml_dtypes.finfo(dtype).max)
    with np.errstate(all="ignore"):
        want = np.where(np.isnan(x), 0x7F, np.clip(x, -limit, limit).astype(dtype).view(np.uint8))
    assert np.array_equal(got, want)


def test_pairs_put_the_first_source_on_top():
    got = function("cvt.rn.f16x2.f32")(np.array([1.0], np.float32), np.array([2.0], np.float32))
    assert hex(int(got[0])) == "0x3c004000"
    got = function("cvt.rn.relu.bf16x2.f32")(np.array([-1.0], np.float32), np.array([2.0], np.float32))
    assert hex(int(got[0])) == "0x4000"


def test_packing_integers():
    a, b = np.array([300, -300], np.int32), np.array([-5, 70], np.int32)
    assert [hex(int(v)) for v in function("cvt.pack.sat.s8.s32.b32")(a, b, np.array([1, 2], np.uint32))] == [
        "0x17ffb",
        "0x28046",
    ]
