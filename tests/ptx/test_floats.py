"""Floating point instructions against exact rationals: every rounding, NaN, zeros, subnormals, ties, overflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.ptx.exact import FORMATS, decode, encode
from tinyton_lab.ptx import table
from tinyton_lab.ptx.isa import TwoResults, constant, resolve
from tinyton_lab.ptx.numerics import canonical
from tinyton_lab.ptx.types import TYPES

assert table.ROWS
RAW = {"f64": np.uint64, "f32": np.uint32, "f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32}
NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF}


def function(opcode: str) -> Callable[..., Any]:
    form = resolve(opcode)
    assert form.row.run is not None
    run = form.row.run(form)
    lanes = run.first if isinstance(run, TwoResults) else run

    def quietly(*operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return lanes(*operands)

    return quietly


def call(opcode: str, name: str, *operands: np.ndarray) -> list[int]:
    """Run an instruction on bit patterns of one format and give the result's bits."""
    dtype = resolve(opcode).type.compute
    result = np.asarray(function(opcode)(*[o.view(dtype) for o in operands]))
    return (canonical(result) if result.dtype.kind == "f" else result).tolist()


def patterns(name: str, count: int, seed: int) -> np.ndarray:
    """Bit patterns with many of the interesting kinds among random ones."""
    exponent_bits, mantissa_bits = FORMATS[name]
    width, rng = 1 + exponent_bits + mantissa_bits, np.random.default_rng(seed)
    one = ((1 << exponent_bits - 1) - 1) << mantissa_bits
    top = ((1 << exponent_bits) - 1) << mantissa_bits
    special = [
        0,
        1,
        2,
        (1 << mantissa_bits) - 1,
        1 << mantissa_bits,
        one,
        one + 1,
        one - 1,
        one | 1 << mantissa_bits - 1,
        top - 1,
        top,
        top + 1,
        top | 1 << mantissa_bits - 1,
    ]
    special += [s | 1 << width - 1 for s in special]
    random = rng.integers(0, 1 << width, count, dtype=np.uint64)
    near = one + rng.integers(-(4 << mantissa_bits), 4 << mantissa_bits, count)
    return np.concatenate([special, random, near]).astype(RAW[name])


def pairs(name: str, operands: int) -> list[np.ndarray]:
    columns = [patterns(name, 300, seed) for seed in range(operands)]
    rng = np.random.default_rng(9)
    columns[1:] = [rng.permutation(column) for column in columns[1:]]
    # The same operands of opposite sign, for exact cancellation.
    flip = columns[0][:50] ^ columns[0].dtype.type(1 << (columns[0].dtype.itemsize * 8 - 1))
    if operands > 1:
        columns[1][:50] = flip
    return columns


def check(
    opcode: str, name: str, rounding: str, exact: Callable[..., Fraction | None], operands: list[np.ndarray]
) -> None:
    """Compare on all lanes whose exact result is defined by rationals."""
    results, tested = call(opcode, name, *operands), 0
    for lane, got in enumerate(results):
        values = [decode(int(column[lane]), name) for column in operands]
        if not all(map(math.isfinite, values)):
            continue
        want = exact(*map(Fraction, values))
        if want is None:
            continue
        tested += 1
        expected = encode(want, name, rounding)
        if want == 0:
            assert got & ~(1 << 8 * operands[0].dtype.itemsize - 1) == 0, (opcode, values)
        else:
            assert got == expected, (opcode, values, hex(got), hex(expected))
    assert tested > 100


def _quotient(a: Fraction, b: Fraction) -> Fraction | None:
    return a / b if b else None


ROUNDINGS = ("rn", "rz", "rm", "rp")
BINARY: dict[str, Callable[..., Fraction | None]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _quotient,
}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("mnemonic", sorted(BINARY))
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_binary_operations_round_once(mnemonic: str, name: str, rounding: str):
    operands = pairs(name, 2)
    if name == "f64" and (rounding != "rn" or mnemonic == "div"):
        # Error terms of directed f64 roundings need room: stay inside the range.
        operands = [within(column) for column in operands]
    check(f"{mnemonic}.{rounding}.{name}", name, rounding, BINARY[mnemonic], operands)


def within(column: np.ndarray) -> np.ndarray:
    """f64 patterns with the exponent moved into the middle of the range."""
    exponent = (column >> np.uint64(52)) & np.uint64(0x7FF)
    middle = np.uint64(900) + exponent % np.uint64(200)
    return (column & ~np.uint64(0x7FF << 52)) | (middle << np.uint64(52))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_fma_f32_rounds_once(rounding: str):
    check(f"fma.{rounding}.f32", "f32", rounding, lambda a, b, c: a * b + c, pairs("f32", 3))


def test_fma_f32_at_ties():
    """Products whose sum with c lies exactly between two f32 values, or a hair beside."""
    one = 0x3F800000
    a = np.array([one + 1, one + 1, one + 3, one + 0x400001, 0x00800001, 0x00000003], np.uint32)
    b = np.array([one + 1, one + 1, one + 5, one + 0x200001, 0x3F000001, 0x3F000000], np.uint32)
    c = np.array([one, 0xBF800000, 0x33800000, 0x2F800000, 0x80000001, 0x00000001], np.uint32)
    lanes = [np.concatenate([x] * 20) for x in (a, b, c)]
    check("fma.rn.f32", "f32", "rn", lambda a, b, c: a * b + c, lanes)


def test_fma_f64_rounds_once():
    check("fma.rn.f64", "f64", "rn", lambda a, b, c: a * b + c, pairs("f64", 3))


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("mnemonic", ["add", "sub", "mul"])
def test_narrow_formats(mnemonic: str, name: str):
    check(f"{mnemonic}.{name}", name, "rn", BINARY[mnemonic], pairs(name, 2))


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_narrow_fma(name: str):
    check(f"fma.rn.{name}", name, "rn", lambda a, b, c: a * b + c, pairs(name, 3))


@pytest.mark.parametrize("mnemonic", ["add", "sub", "mul", "fma", "min", "max", "neg", "abs"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_packed_halves_are_two_numbers(mnemonic: str, name: str):
    count = {"fma": 3, "neg": 1, "abs": 1}.get(mnemonic, 2)
    low, high = pairs(name, count), [column[::-1].copy() for column in pairs(name, count)]
    packed = [(h.astype(np.uint32) << 16) | lo for lo, h in zip(low, high)]
    opcode = f"{mnemonic}{'.rn' if mnemonic == 'fma' else ''}.{name}"
    got = call(opcode + "x2", "f32", *packed)
    assert got == [hi << 16 | lo for lo, hi in zip(call(opcode, name, *low), call(opcode, name, *high))]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_square_roots(name: str, rounding: str):
    operand = patterns(name, 300, 1) & RAW[name]((1 << 8 * RAW[name]().itemsize - 1) - 1)
    results = call(f"sqrt.{rounding}.{name}", name, operand)
    for bits, got in zip(operand.tolist(), results):
        value = decode(bits, name)
        if not math.isfinite(value) or value == 0 or (name == "f64" and value < 1e-290):
            continue
        # The result is right when the exact root lies on the right side of its neighbours' bounds.
        below, here, above = (Fraction(decode(got + step, name)) for step in (-1, 0, 1))
        square = Fraction(value)
        if rounding == "rn":
            assert ((below + here) / 2) ** 2 <= square <= ((here + above) / 2) ** 2
        elif rounding == "rp":
            assert below**2 < square <= here**2
        else:
            assert here**2 <= square < above**2


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_reciprocals(name: str, rounding: str):
    operand = patterns(name, 300, 2) if name == "f32" else within(patterns(name, 300, 2))
    check(f"rcp.{rounding}.{name}", name, rounding, lambda a: 1 / a if a else None, [operand])


@pytest.mark.parametrize(
    "opcode",
    [
        "add.f32",
        "mul.f32",
        "fma.rn.f32",
        "div.rn.f32",
        "sqrt.rn.f32",
        "add.f16",
        "mul.bf16",
        "max.NaN.f32",
        "min.NaN.f16",
    ],
)
def test_nan_is_canonical(opcode: str):
    name = opcode.split(".")[-1]
    bits = {"f32": 0xFFC12345, "f16": 0xFE11, "bf16": 0xFFC1}[name]
    count = {"fma": 3, "sqrt": 1}.get(opcode.split(".")[0], 2)
    assert call(opcode, name, *[np.array([bits], RAW[name])] * count) == [NAN[name]]


def test_minimum_and_maximum():
    nan, minus, plus, one = 0x7FC00001, 0x80000000, 0, 0x3F800000
    a, b = np.array([nan, one, nan, minus, plus], np.uint32), np.array([one, nan, nan, plus, minus], np.uint32)
    assert call("min.f32", "f32", a, b) == [one, one, 0x7FFFFFFF, minus, minus]
    assert call("max.f32", "f32", a, b) == [one, one, 0x7FFFFFFF, plus, plus]
    assert call("max.NaN.f32", "f32", a, b)[:3] == [0x7FFFFFFF] * 3
    x, y = np.array([-3.0, 2.0], np.float32).view(np.uint32), np.array([2.0, 5.0], np.float32).view(np.uint32)
    assert np.array(call("min.xorsign.abs.f32", "f32", x, y), np.uint32).view(np.float32).tolist() == [-2.0, 2.0]


def test_flushing_keeps_the_sign():
    tiny = np.array([1, 0x80000001, 0x007FFFFF], np.uint32)
    zero = np.zeros(3, np.uint32) | (tiny & np.uint32(0x80000000))
    assert call("add.ftz.f32", "f32", tiny, zero) == [0, 0x80000000, 0]
    assert call("mul.ftz.f32", "f32", np.array([0x00800000], np.uint32), np.array([0x3F000000], np.uint32)) == [0]
    assert call("mul.f32", "f32", np.array([0x00800000], np.uint32), np.array([0x3F000000], np.uint32)) == [0x00400000]


def test_saturation():
    x = np.array([-1.0, 0.25, 7.0, np.nan], np.float32).view(np.uint32)
    zero = np.zeros(4, np.uint32)
    assert np.array(call("add.sat.f32", "f32", x, zero), np.uint32).view(np.float32).tolist() == [0.0, 0.25, 1.0, 0.0]


@pytest.mark.parametrize(
    "opcode, reference, bound",
    [
        ("ex2.approx.f32", np.exp2, 2**-22),
        ("lg2.approx.f32", np.log2, 2**-22),
        ("rsqrt.approx.f32", lambda x: x**-0.5, 2**-22.9),
        ("rcp.approx.f32", lambda x: 1 / x, 2**-23),
        ("sqrt.approx.f32", np.sqrt, 2**-23),
        ("tanh.approx.f32", np.tanh, 2**-11),
        ("rsqrt.approx.f64", lambda x: x**-0.5, 2**-18),
        ("rcp.approx.ftz.f64", lambda x: 1 / x, 2**-18),
    ],
)
def test_approximations_are_within_their_bounds(opcode: str, reference: Callable[..., Any], bound: float):
    dtype = np.float64 if opcode.endswith("f64") else np.float32
    x = np.geomspace(0.01, 100, 5001).astype(dtype)
    got, want = function(opcode)(x).astype(np.float64), reference(x.astype(np.float64))
    assert float(np.max(np.abs(got - want) / np.maximum(np.abs(want), 0.5))) <= bound


@pytest.mark.parametrize("opcode, reference", [("sin.approx.f32", np.sin), ("cos.approx.f32", np.cos)])
def test_trigonometry(opcode: str, reference: Callable[..., Any]):
    x = np.linspace(-np.pi, np.pi, 5001).astype(np.float32)
    assert float(np.max(np.abs(function(opcode)(x).astype(np.float64) - reference(x.astype(np.float64))))) <= 2**-20.5


@pytest.mark.parametrize(
    "word, expected",
    [
        ("finite", [1, 1, 0, 0, 1]),
        ("infinite", [0, 0, 1, 0, 0]),
        ("number", [1, 1, 1, 0, 1]),
        ("notanumber", [0, 0, 0, 1, 0]),
        ("normal", [1, 1, 0, 0, 0]),
        ("subnormal", [0, 0, 0, 0, 1]),
    ],
)
def test_classes(word: str, expected: list[int]):
    x = np.array([0.0, 1.5, -np.inf, np.nan, 1e-40], np.float32)
    assert function(f"testp.{word}.f32")(x).astype(int).tolist() == expected


def test_copysign():
    a, b = np.array([-1.0, 1.0], np.float32), np.array([3.0, -4.0], np.float32)
    found = function("copysign.f32")(a.view(np.uint32), b.view(np.uint32))
    assert found.view(np.float32).tolist() == [-3.0, 4.0]


def test_literals_too_large_for_their_type_are_infinite_without_a_warning(recwarn: pytest.WarningsRecorder):
    half, single, bits = (TYPES[name] for name in ("f16", "f32", "b32"))
    assert np.isinf(constant(70000, half)) and np.isinf(constant(1e300, single))
    assert constant(1e300, bits) == 0x7F800000
    assert not recwarn.list


def test_only_an_exact_zero_has_the_sign_of_its_rounding():
    tiny, zero = np.array([5e-324, 1.0]), np.array([-0.0, -1.0])
    found = function("fma.rm.f64")(tiny, tiny, zero)
    assert np.signbit(found).tolist() == [False, True] and (found == 0).all()
