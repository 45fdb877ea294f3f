"""Every elementwise op on every dtype it accepts gives natively what the interpreter says, specials included."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from tests.codegen.native_runs import ONE, agree, machines
from tinyton_lab.base.dtypes import DTYPES, DType
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.llvm import native
from tinyton_lab.ops import OPS

LENGTH = 77
COMPUTED = [dtype for dtype in DTYPES.values() if not dtype.storage_only]
ROWS = [row for row in OPS.values() if row.elementwise and row.emit is not None and row.expand is None]
NARROW = ["f16", "bf16", "f8e4nv", "f8e5", "f8e4b8", "f8e5b16", "f8e4b15"]
PLAIN = [row for row in ROWS if row.name not in ("cast", "bitcast", "select")]


def samples(dtype: DType, length: int, seed: str) -> np.ndarray:
    """Random bits, small numbers and the values where things go wrong."""
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    if dtype.kind == "bool":
        return random.integers(0, 2, length).astype(bool)
    bits = random.integers(0, 256, length * dtype.bytes, dtype=np.uint8).view(dtype.numpy)
    small = random.integers(-5, 6, length) if dtype.signed or dtype.kind == "float" else random.integers(0, 6, length)
    values = np.where(random.random(length) < 0.4, small.astype(dtype.numpy), bits)
    if dtype.kind == "float":
        specials = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, 65504, 1e-7, 448, 464, 1e30])
        with np.errstate(over="ignore"):
            values[: len(specials)] = random.permutation(specials).astype(dtype.numpy)
    else:
        low, high = (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
        values[:6] = random.permutation(np.array([low, high, 0, 1, high - 1, dtype.bits % 128], object)).astype(
            dtype.numpy
        )
    return values


class Program:
    """A kernel of many parts: each loads its operands, applies one op and stores the result."""

    def __init__(self, length: int = LENGTH) -> None:
        self.length = length
        self.parameters: list[str] = []
        self.lines = [f"  %0 = range {{start = 0, end = {length}}} : tile<{length}xi32>"]
        self.arguments: list[np.ndarray] = []
        self.count = 1

    def part(self, row: OpDef, inputs: list[DType], result: DType, attrs: str = "", *arrays: np.ndarray) -> None:
        names: list[str] = []
        for k, dtype in enumerate(inputs):
            names.append(f"%{self.value()}")
            array = arrays[k] if arrays else samples(dtype, self.length, f"{row.name}{k}{dtype}")
            self.lines.append(f"  {names[-1]} = load %{self.parameter(dtype, array)}, distance=%0 : {self.tile(dtype)}")
        value = self.value()
        self.lines.append(f"  %{value} = {row.name} {', '.join(names)}{attrs} : {self.tile(result)}")
        out = self.parameter(result, np.zeros(self.length, result.numpy))
        self.lines.append(f"  store %{out}, %{value}, distance=%0")

    def value(self) -> int:
        self.count += 1
        return self.count

    def tile(self, dtype: DType) -> str:
        return f"tile<{self.length}x{dtype}>"

    def parameter(self, dtype: DType, array: np.ndarray) -> str:
        name = f"x{len(self.parameters)}"
        self.parameters.append(f"%{name}: ptr<{dtype}>")
        self.arguments.append(array)
        return name

    def agree(self, machine: Any = None) -> None:
        text = f"kernel @k({', '.join(self.parameters)}) {{\n" + "\n".join(self.lines) + "\n}\n"
        agree(text, ONE, *self.arguments, machine=machine, checked=False)


@pytest.mark.parametrize("machine", machines(), ids=lambda machine: f"{machine.vector_bits} bits")
@pytest.mark.parametrize("row", PLAIN, ids=lambda row: row.name)
def test_each_op_on_each_dtype(row: OpDef, machine: native.Machine) -> None:
    if "pointer" in row.accepts and row.infer is not OPS["eq"].infer:
        return
    program = Program()
    for dtype in COMPUTED:
        if dtype.kind in row.accepts:
            result = DTYPES["i1"] if row.infer is OPS["eq"].infer else dtype
            program.part(row, [dtype] * len(row.roles), result)
    program.agree(machine)


@pytest.mark.parametrize("machine", machines(), ids=lambda machine: f"{machine.vector_bits} bits")
@pytest.mark.parametrize("source", DTYPES.values(), ids=str)
def test_casts(source: DType, machine: native.Machine) -> None:
    program = Program()
    for target in DTYPES.values():
        program.part(OPS["cast"], [source], target, f" {{to = {target}}}")
        if target.bits == source.bits:
            program.part(OPS["bitcast"], [source], target, f" {{to = {target}}}")
    program.part(OPS["select"], [DTYPES["i1"], source, source], source)
    program.agree(machine)


def test_casts_toward_zero() -> None:
    program = Program()
    for source in ("f32", "f64"):
        for target in ("f16", "bf16", "f32"):
            attrs = f' {{to = {target}, rounding = "rtz"}}'
            program.part(OPS["cast"], [DTYPES[source]], DTYPES[target], attrs)
    program.agree()


@pytest.mark.parametrize("name", NARROW)
def test_every_pattern_of_a_narrow_float_widens(name: str) -> None:
    dtype = DTYPES[name]
    program = Program(1 << dtype.bits)
    patterns = np.arange(program.length, dtype=f"u{dtype.bytes}").view(dtype.numpy)
    program.part(OPS["cast"], [dtype], DTYPES["f32"], " {to = f32}", patterns)
    program.agree()


@pytest.mark.parametrize("name", NARROW)
def test_narrowing_rounds_to_nearest_even(name: str) -> None:
    dtype = DTYPES[name]
    every = np.arange(1 << dtype.bits, dtype=f"u{dtype.bytes}").view(dtype.numpy)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.unique(every.astype(np.float64))
        finite = finite[np.isfinite(finite)]
        middles = (finite[1:] + finite[:-1]) / 2
        around = np.concatenate([finite, middles, np.nextafter(middles, -np.inf), np.nextafter(middles, np.inf)])
        around = np.concatenate([around, around.astype(np.float32), finite * 1.001, [np.inf, -np.inf, np.nan, 1e300]])
        program = Program(len(around))
        for source in ("f32", "f64"):
            wide = DTYPES[source]
            program.part(OPS["cast"], [wide], dtype, f" {{to = {name}}}", around.astype(wide.numpy))
    program.agree()
