"""Random small programs of tile IR that run on any numbers: arithmetic, branches, loops, masked accesses."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tinyton_lab import interpreter
from tinyton_lab.base.dtypes import DTYPES, DType
from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Block, Function, Parameter, Value
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import OPS, control, elementwise, memory, program, reduction, shape
from tinyton_lab.runtime.buffers import buffer_of

LANES = 16
ELEMENTS = 64
INT, FLOAT, BOOL = DTYPES["i32"], DTYPES["f32"], DTYPES["i1"]
BINARY = {
    INT: "add sub mul and or xor max min idiv mod shl shr".split(),
    FLOAT: "add sub mul max min max_nan div".split(),
    BOOL: "and or xor".split(),
}
UNARY = "neg abs floor ceil round_even sqrt exp exp2 log log2 rsqrt sin cos tanh erf".split()
NUMBERS: dict[DType, list[Any]] = {
    INT: [0, 1, -1, 2, 7, 16, -(2**31)],
    FLOAT: [0.0, -0.0, 1.0, -2.5, float("inf"), float("nan")],
    BOOL: [True, False],
}


class Writer:
    """Writes one program from a seed. `pool` holds the values in sight, by type."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pointer = Tile(Pointer(FLOAT))
        self.function = Function(
            "random", [Parameter("x", pointer, 16), Parameter("o", pointer), Parameter("n", Tile(INT), 16)]
        )
        self.builder = Builder(self.function)
        self.x, self.o, n = self.function.body.args
        self.pool: list[Value] = [n, self.builder.value(program.program_id, axis=0)]
        self.lanes = self.builder.value(shape.range_, start=0, end=LANES)
        self.pool.append(self.lanes)
        self.pointer = self.tile_pointer(self.x)

    def tile_pointer(self, pointer: Value) -> Value:
        tile = self.builder.value(shape.splat, pointer, shape=(LANES,))
        return self.builder.value(elementwise.offset, tile, self.lanes)

    def pick(self, dtype: DType, tile: tuple[int, ...]) -> Value:
        """A value of that type: one in sight, or a constant, or one converted."""
        wanted = Tile(dtype, tile)
        known = [value for value in self.pool if value.type == wanted]
        choice = self.random.random()
        if known and choice < 0.7:
            return self.random.choice(known)
        if tile and choice < 0.8:
            return self.builder.value(shape.splat, self.pick(dtype, ()), shape=tile)
        if dtype is BOOL and choice < 0.95:
            left, right = self.pick(INT, tile), self.pick(INT, tile)
            return self.builder.value(OPS[self.random.choice(["lt", "le", "eq", "ne", "gt", "ge"])], left, right)
        if dtype is FLOAT and choice < 0.9:
            return self.builder.value(elementwise.cast, self.pick(INT, tile), to=FLOAT, rounding=None)
        return self.builder.value(shape.constant, value=self.random.choice(NUMBERS[dtype]), type=wanted)

    def statement(self, depth: int) -> None:
        kinds = [self.binary] * 6 + [self.unary, self.select, self.access, self.total, self.cast_chain]
        if depth:
            kinds += [self.branch, self.loop] * 2
        self.random.choice(kinds)(depth - 1)

    def sort(self) -> tuple[DType, tuple[int, ...]]:
        return self.random.choice([INT, FLOAT, BOOL]), self.random.choice([(), (LANES,)])

    def binary(self, depth: int) -> None:
        dtype, tile = self.sort()
        name = self.random.choice(BINARY[dtype])
        self.pool.append(self.builder.value(OPS[name], self.pick(dtype, tile), self.pick(dtype, tile)))

    def unary(self, depth: int) -> None:
        x = self.pick(FLOAT, self.random.choice([(), (LANES,)]))
        self.pool.append(self.builder.value(OPS[self.random.choice(UNARY)], x))

    def select(self, depth: int) -> None:
        dtype, tile = self.sort()
        operands = self.pick(BOOL, tile), self.pick(dtype, tile), self.pick(dtype, tile)
        self.pool.append(self.builder.value(elementwise.select, *operands))

    def cast_chain(self, depth: int) -> None:
        value = self.pick(INT, self.random.choice([(), (LANES,)]))
        for name in self.random.choices(["i8", "i16", "i64", "u32", "f32", "f64"], k=2):
            value = self.builder.value(elementwise.cast, value, to=DTYPES[name], rounding=None)
        self.pool.append(self.builder.value(elementwise.cast, value, to=INT, rounding=None))

    def access(self, depth: int) -> None:
        """Load through the pointer tile, moved a little; the mask keeps it inside."""
        step = self.pick(INT, self.random.choice([(), (LANES,)]))
        four = self.builder.value(shape.constant, value=15, type=step.type)
        step = self.builder.value(elementwise.and_, step, four)
        if not step.type.shape:
            step = self.builder.value(shape.splat, step, shape=(LANES,))
        pointer = self.builder.value(elementwise.offset, self.pointer, step)
        mask = self.pick(BOOL, (LANES,)) if self.random.random() < 0.5 else None
        other = self.pick(FLOAT, (LANES,)) if mask is not None and self.random.random() < 0.5 else None
        self.pool.append(self.builder.value(memory.load, pointer, None, mask, other))

    def total(self, depth: int) -> None:
        block = Block()
        a, b = (
            block.add_argument(Tile(INT), f"a{self.function.uids}"),
            block.add_argument(Tile(INT), f"b{self.function.uids}"),
        )
        with self.builder.inside(block):
            combined = self.builder.value(OPS[self.random.choice(["add", "max", "xor"])], a, b)
            self.builder.emit(control.yield_, [combined])
        op = self.builder.emit(reduction.reduce, [self.pick(INT, (LANES,))], {"axis": 0}, blocks=[block])
        self.pool.append(op.result)

    def inner(self, block: Block, depth: int, carried: list[Value]) -> None:
        """Fill a block and yield values of the types carried."""
        outer, pointer = list(self.pool), self.pointer
        with self.builder.inside(block):
            self.pool += [value for value in block.args if not value.type.is_pointer]
            for _ in range(self.random.randint(1, 4)):
                self.statement(depth)
            values = [self.pick(v.type.dtype, v.type.shape) for v in carried if not v.type.is_pointer]
            if len(values) < len(carried):
                values.append(self.stepped(pointer))
            self.builder.emit(control.yield_, values)
        self.pool, self.pointer = outer, pointer

    def stepped(self, pointer: Value) -> Value:
        """The carried pointer tile, moved on: by one distance, by a tile, or not at all."""
        how = self.random.random()
        if how < 0.2:
            return pointer
        step: Value = self.builder.value(shape.constant, value=1, type=Tile(INT, (LANES,)))
        if how < 0.6:
            step = self.builder.value(elementwise.and_, self.lanes, step)
        return self.builder.value(elementwise.offset, pointer, step)

    def branch(self, depth: int) -> None:
        condition = self.pick(BOOL, ())
        carried = [self.pick(*self.sort()) for _ in range(self.random.randint(0, 2))]
        carried += [self.pointer] * self.random.randint(0, 1)
        blocks = [Block(), Block()]
        for block in blocks:
            self.inner(block, depth, carried)
        op = self.builder.emit(control.if_, [condition], types=[v.type for v in carried], blocks=blocks)
        self.pool += [value for value in op.results if not value.type.is_pointer]
        if carried and carried[-1].type.is_pointer:
            self.pool.append(self.builder.value(memory.load, op.results[-1]))

    def loop(self, depth: int) -> None:
        bounds = [self.builder.value(shape.constant, value=v, type=Tile(INT)) for v in (0, 1)]
        three = self.builder.value(shape.constant, value=3, type=Tile(INT))
        upper = self.builder.value(elementwise.and_, self.pick(INT, ()), three)
        carried = [self.pick(*self.sort()) for _ in range(self.random.randint(0, 2))] + [self.pointer]
        block, mark = Block(), self.function.uids
        block.add_argument(Tile(INT), f"i{mark}")
        for index, value in enumerate(carried):
            block.add_argument(value.type, f"c{mark}_{index}")
        outer, self.pointer = self.pointer, block.args[-1]
        self.inner(block, depth, carried)
        self.pointer = outer
        operands = [bounds[0], upper, bounds[1], *carried]
        op = self.builder.emit(control.for_, operands, types=[v.type for v in carried], blocks=[block])
        self.pool += op.results[:-1]
        loaded = self.builder.value(memory.load, op.results[-1], None, self.pick(BOOL, (LANES,)))
        self.pool.append(loaded)

    def write(self) -> Function:
        for _ in range(self.random.randint(4, 12)):
            self.statement(2)
        rows = self.builder.value(shape.constant, value=LANES, type=Tile(INT))
        first = self.builder.value(elementwise.mul, self.pool[1], rows)
        target = self.tile_pointer(self.builder.value(elementwise.offset, self.o, first))
        value = self.pick(FLOAT, (LANES,))
        for known in self.pool:  # everything in sight counts
            if known.type.shape and known.type.dtype is not BOOL and self.random.random() < 0.5:
                cast = self.builder.value(elementwise.cast, known, to=FLOAT, rounding=None)
                value = self.builder.value(elementwise.add, value, cast)
        self.builder.emit(memory.store, [target, value])
        return self.function


def result_bits(function: Function, n: int, programs: int = 3) -> list[int]:
    """Run a program on fixed inputs; the bits of what it stores."""
    x = np.random.default_rng(abs(n)).normal(size=ELEMENTS * 4).astype(np.float32)
    out = np.zeros(LANES * programs, np.float32)
    interpreter.run(function, (programs, 1, 1), [buffer_of("x", x), buffer_of("o", out), n])
    out[np.isnan(out)] = np.nan  # which NaN is not said
    return out.view(np.int32).tolist()
