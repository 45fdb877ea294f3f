"""Every op on every dtype and kind of shape: the interpreter, native code and the simulator give the same bits.

The programs are made from the op table, one of all elementwise rows for each dtype and shape, so a new row is in them;
what has structure is written once in the language, for each dtype and shape again.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.codegen.native_runs import assert_same, slots
from tests.codegen.simulation import simulate
from tests.ops.test_rows import numbers
from tinyton_lab import interpreter
from tinyton_lab.base.dtypes import DTYPES, DType, int1
from tinyton_lab.base.targets import CPU, TARGETS
from tinyton_lab.codegen import cpu, gpu
from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Function, Parameter
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import OPS, elementwise, memory, shape
from tinyton_lab.pipeline import run_tile_passes
from tinyton_lab.runtime.buffers import buffer_of
from tinyton_lab.runtime.cpu import CpuKernel

COMPUTED = [dtype for dtype in DTYPES.values() if not dtype.storage_only]
SHAPES: dict[str, tuple[int, ...]] = {
    "scalar": (), "one": (1,), "odd": (64,), "row": (128,), "matrix": (4, 16), "cube": (2, 4, 8),
}  # fmt: skip
ODD = 45  # elements of the shape `odd` that its mask leaves on


def rows(dtype: DType) -> Iterator[tuple[OpDef, dict[str, Any]]]:
    """The elementwise rows that take a dtype; casts have tests of their own."""
    for row in OPS.values():
        if row.elementwise and row.numpy is not None and dtype.kind in row.accepts and row is not elementwise.cast:
            if row is elementwise.bitcast:
                yield from ((row, {"to": to}) for to in COMPUTED if to.bits == dtype.bits and dtype is not int1)
            elif not (row is elementwise.mod and dtype.kind == "float" and dtype.bits < 32):  # kernels take it in f32
                yield row, {}


class Program:
    """A kernel of all rows: each loads ``x y z c`` once and stores one result for each row."""

    def __init__(self, dtype: DType, kind: str) -> None:
        self.dtype, self.shape, self.uses = dtype, SHAPES[kind], list(rows(dtype))
        inputs = [dtype] * 3 + [int1]
        self.results = [self.result(row, attrs) for row, attrs in self.uses]
        names = [*"xyzc", *(f"o{at}" for at in range(len(self.uses)))]
        parameters = [Parameter(n, Tile(Pointer(d)), 16) for n, d in zip(names, inputs + self.results, strict=True)]
        self.function = Function("rows", parameters, {"num_warps": 1, "math": "full"})
        self.builder = Builder(self.function)
        self.where = self.places(kind)
        loaded = [self.builder.emit(memory.load, [p, *self.where]).result for p in self.function.body.args[:4]]
        for (row, attrs), out in zip(self.uses, self.function.body.args[4:], strict=True):
            made = self.builder.emit(row, chosen(row, loaded), attrs).result
            self.builder.emit(memory.store, [out, made, *self.where])

    def places(self, kind: str) -> list[Any]:
        """The offsets of all elements, and the mask of an odd number of them."""
        b = self.builder
        if not self.shape:
            return []
        flat = b.value(shape.range_, start=0, end=prod(self.shape))
        if kind == "odd":
            limit = b.value(shape.constant, value=ODD, type=flat.type)
            return [flat, b.value(elementwise.lt, flat, limit)]
        return [b.value(shape.reshape, flat, shape=self.shape) if len(self.shape) > 1 else flat]

    def result(self, row: OpDef, attrs: dict[str, Any]) -> DType:
        first = Tile(int1) if row is elementwise.select else Tile(self.dtype)
        types = [first, *[Tile(self.dtype)] * (len(row.roles) - 1)]
        return row.infer(types, attrs)[0].dtype  # type: ignore[misc]

    def arrays(self) -> list[Any]:
        """Inputs with every kind of number, and outputs that show what was not written."""
        size, values = prod(self.shape), numbers(self.dtype)
        rng = np.random.default_rng(size)
        inputs = [rng.choice(values, size) for _ in "xyz"] + [rng.random(size) < 0.5]
        return [*inputs, *(np.ones(size, dtype.numpy) for dtype in self.results)]


def chosen(row: OpDef, loaded: list[Any]) -> list[Any]:
    return [loaded[3], *loaded[:2]] if row is elementwise.select else loaded[: len(row.roles)]


def lowered(function: Function, target: Any) -> Function:
    for step in run_tile_passes(function, target, math="full"):
        function = step.function
    return function


def interpreted(program: Program) -> list[Any]:
    arrays = program.arrays()
    names = [parameter.name for parameter in program.function.parameters]
    with np.errstate(all="ignore"):
        interpreter.run(program.function, (1, 1, 1), [buffer_of(n, a) for n, a in zip(names, arrays, strict=True)])
    return arrays


def compare(program: Program, got: list[Any], wanted: list[Any]) -> None:
    for (row, attrs), mine, theirs in zip(program.uses, got[4:], wanted[4:], strict=True):
        try:
            assert_same(mine, theirs)
        except AssertionError as failure:
            raise AssertionError(f"{row.name} of {program.dtype} {attrs}: {failure}") from None


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("dtype", COMPUTED, ids=str)
def test_rows_on_engines(dtype: DType, kind: str):
    program = Program(dtype, kind)
    wanted, got = interpreted(program), program.arrays()
    CpuKernel(cpu.compile(lowered(program.function, CPU), True)).launch((1, 1, 1), slots(got))
    compare(program, got, wanted)
    if kind in ("one", "row"):  # to a GPU no other than `odd`
        return
    names, simulated = [parameter.name for parameter in program.function.parameters], program.arrays()
    code = gpu.compile(lowered(program.function, TARGETS["sm_80"]), TARGETS["sm_80"])
    simulate(code, (1,), dict(zip(names, simulated, strict=True)))
    compare(program, simulated, wanted)


@tt.jit
def greater(a, b):
    return tl.maximum(a, b)


@tt.jit
def arranged(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """What moves elements: shapes, reductions, scans, gathers, loops and branches, one result after the other."""
    size: tl.constexpr = A * B * C
    flat = tl.arange(0, size)
    p = out + tl.program_id(0) * 16 * size + (tl.num_programs(0) - 2) * size
    value = tl.load(x + flat)
    cube = tl.reshape(value, (A, B, C))
    tl.store(p + flat, tl.ravel(tl.permute(cube, (2, 0, 1))))
    tl.store(p + size + flat, tl.ravel(tl.trans(tl.reshape(value, (A * B, C)))))
    tl.store(p + 2 * size + flat, tl.ravel(tl.broadcast_to(tl.load(x + tl.arange(0, A))[:, None, None], (A, B, C))))
    tl.store(p + 3 * size + tl.arange(0, A * B), tl.ravel(tl.reduce(cube, 2, greater)))
    tl.store(p + 4 * size + tl.arange(0, B * C), tl.ravel(tl.reduce(cube, 0, greater)))
    tl.store(p + 5 * size + flat, tl.ravel(tl.associative_scan(cube, 1, greater)))
    turned = tl.flip(value, 0)
    tl.store(p + 6 * size + flat, tl.gather(value, flat ^ (size - 1), 0))
    tl.store(p + 7 * size + flat, turned)
    first = tl.load(x)
    tl.store(p + 8 * size + flat, tl.full((size,), 0, value.dtype) + first)
    total = value
    for i in range(tl.program_id(0), 3):
        total = tl.where(flat > i, turned, total)
    tl.store(p + 9 * size + flat, total)
    if first > tl.load(x + size - 1):
        total = turned
    n = tl.program_id(0)
    while n < 2:
        total = tl.where(flat == n, first, total)
        n += 1
    tl.store(p + 10 * size + flat, total)
    tl.store(p + 11 * size + flat, tl.map_elementwise(greater, value, turned))
    tl.store(p + 12 * size + flat, tl.load(x + flat, mask=flat % 3 == 1, other=first))
    left, right = tl.split(tl.join(value, turned))
    tl.store(p + 13 * size + flat, left)
    tl.store(p + 14 * size + flat, right)


BOXES = [(1, 1, 1), (1, 64, 1), (4, 2, 8), (2, 16, 4)]


@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("dtype", [d for d in COMPUTED if d is not int1], ids=str)
def test_structure_on_engines(dtype: DType, box: tuple[int, int, int]):
    size = prod(box)
    x = np.random.default_rng(size).choice(numbers(dtype), size)
    results: list[Any] = []
    for engine in ("interpreter", "cpu", "sim"):
        results.append(np.ones(32 * size, dtype.numpy))
        arranged[(2,)](x, results[-1], *box, backend=engine)
        assert_same(results[-1], results[0])


# Rows whose engines are compared elsewhere, by what they do.
ELSEWHERE = {
    "tests/codegen/test_collective.py": "atomic compare_exchange histogram",
    "tests/codegen/test_cpu_products.py": "dot",
    "tests/kernel/test_messages.py": "print check",
    "tests/kernel/test_inline_assembly.py": "assembly assembly_with_effects",
    "tests/passes/test_passes.py": "assume",
    "tests/language/test_hints.py": "promise",
    "tests/codegen/test_gpu_access.py, the layout IR": (
        "convert_layout local_alloc local_store local_load local_gather local_count barrier"
    ),
    "the language's pointers": "offset pointer_to_int int_to_pointer pointer_cast",
    "tests/language/test_casts.py": "cast",
    "tests/tiny_ton/test_shared_memory.py": "shared_load shared_store sync",
}


def test_every_row_is_compared():
    x = np.zeros(64, np.float32)
    text = tt.inspect(arranged, x, np.zeros(2048, np.float32), *BOXES[2], grid=(2,)).stages["tile"].text
    seen = {op.row.name for op in parse_function(text, OPS).walk()}
    seen |= {row.name for dtype in COMPUTED for row, _ in rows(dtype)}
    seen |= {name for names in ELSEWHERE.values() for name in names.split()}
    assert sorted(set(OPS) - seen) == []
