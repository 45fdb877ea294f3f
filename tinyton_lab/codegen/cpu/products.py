"""Products of matrices: blocks of the result in registers, one fused multiply-add per element and k. Knows no plan.

The operands lie in scratch memory, row by row, in the dtype of the sums: packing and conversion are nests like any
other. Sums of small integers are taken in f32 where it holds them all exactly, because there a multiply-add is one
instruction. A block is so many rows by so many vectors that its sums, a row of the second operand and one splat
element of the first fit the registers; the loops over blocks and over k are real loops, so that the code does not grow
with the tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tinyton_lab.base.dtypes import DType, float32
from tinyton_lab.codegen.cpu import arithmetic, narrow
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.codegen.cpu.values import Buffer
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.llvm.text import Register, vector
from tinyton_lab.ops import product

# (bits of a vector register, number of them) -> rows and vectors per row of a block
BLOCKS = {(512, 32): (8, 2), (256, 16): (6, 2), (128, 32): (4, 4), (128, 16): (4, 2)}
UNROLL = 4  # steps of k in one turn of the innermost loop
EXACT_DEPTH = 2**24 // 2**14  # of products of i8, whose sums f32 then holds exactly


@dataclass(slots=True)
class Product:
    """A product as one step: `start` is what the sums begin with, `added` what is added to them at the end.

    Where `a_turned` or `b_turned`, that tile is the transpose of the operand, which is how memory has it. `in_place`
    tells that `start` or `added` is not read again, so that the result may take its memory.
    """

    op: Op
    a: Value
    b: Value
    a_turned: bool
    b_turned: bool
    start: Value | None
    added: Value | None
    result: Value
    in_place: bool = False

    @property
    def accumulator(self) -> Value | None:
        return self.start if self.added is None else self.added

    @property
    def operands(self) -> list[Value]:
        """All tiles that must lie in memory."""
        return [self.a, self.b] + [value for value in (self.start, self.added) if value is not None]


def summed_in(dot: Op) -> DType:
    """The dtype in which a product's operands are packed and its sums are kept."""
    wide = product.accumulator(dot.attrs["out"])
    depth = next(dot.inputs).type.shape[-1]
    return float32 if wide.kind == "int" and depth <= EXACT_DEPTH else wide


@dataclass(frozen=True, slots=True)
class Strip:
    """Some columns of the second operand: its first element, and how many elements apart rows are."""

    start: Register
    pitch: int


@dataclass(slots=True)
class Multiply:
    """Writes the loops of one product; `before` is the accumulator's memory, which may be the result's.

    A transposed `a` is read as it lies, element by element either way. A transposed `b` is turned, one strip of
    columns at a time, because its rows are read as vectors.
    """

    code: Code
    a: Buffer
    b: Buffer
    a_turned: bool
    b_turned: bool
    before: Buffer | None
    result: Buffer
    adds: bool
    turned: int | None = None  # where the strip of a transposed `b` lies
    base: dict[int, Register] = field(default_factory=dict[int, Register])

    def emit(self) -> None:
        """Go over batches, columns of blocks, blocks: the strip of `b` that a column reads stays in the cache."""
        b = self.code
        *batches, rows, columns = self.result.shape
        height, lanes, count = self._block(rows, columns)
        with self._loop(batches[0] if batches else 1, 1) as batch:
            for buffer in (self.a, self.b, self.result, self.before or self.result):
                self._start(buffer, batch)
            with self._loop(columns, max(lanes, 1) * count) as column:
                strip = self._strip(column, lanes, count)
                with self._loop(rows - rows % height, height) as row:
                    self._sums(row, column, strip, height, lanes, count)
                if rows % height:
                    self._sums(b.i64(rows - rows % height), column, strip, rows % height, lanes, count)

    def _block(self, rows: int, columns: int) -> tuple[int, int, int]:
        """Rows of a block, lanes of a vector (0: scalars) and vectors per row, for a result of that size."""
        machine = self.code.machine
        height, count = BLOCKS[machine.vector_bits, machine.registers]
        lanes = machine.vector_bits // (8 * self.a.bytes)
        while lanes > columns:
            lanes //= 2
        while lanes * count > columns:
            count //= 2
        return min(height, rows), lanes if lanes > 1 else 0, count

    @contextmanager
    def _loop(self, length: int, step: int) -> Iterator[Register]:
        """Count from 0 to `length`; a single turn needs no loop."""
        b = self.code
        if length == step:
            yield b.i64(0)
        elif length:
            with b.loop(b.i64(0), b.i64(length), step) as index:
                yield index

    # -- addresses ----------------------------------------------------------------------------------------------------
    def _start(self, buffer: Buffer, batch: Register) -> None:
        """The first element of a batch."""
        b = self.code
        offset = batch if batch.text == "0" else b.binary("mul", batch, b.i64(buffer.strides[0]))
        self.base[buffer.at] = b.offset(b.scratch(buffer.at), offset, buffer.type)

    def _at(self, buffer: Buffer, row: Register, column: Register) -> Register:
        b = self.code
        offset = b.add(self._times(row, buffer.shape[-1]), column)
        return b.offset(self.base[buffer.at], offset, buffer.type)

    def _times(self, index: Register, factor: int) -> Register:
        plain = index.text == "0" or factor == 1
        return index if plain else self.code.binary("mul", index, self.code.i64(factor))

    def _load(self, buffer: Buffer, pointer: Register, distance: int, lanes: int) -> Register:
        b = self.code
        return b.load(vector(buffer.type, lanes), b.offset(pointer, distance, buffer.type), buffer.bytes)

    # -- strips -------------------------------------------------------------------------------------------------------
    def _strip(self, column: Register, lanes: int, count: int) -> Strip:
        """The columns of `b` that a column of blocks reads: in place, or turned into memory of their own."""
        b = self.code
        if not self.b_turned:
            return Strip(self._at(self.b, b.i64(0), column), self.b.shape[-1])
        *_, columns, depth = self.b.shape
        width, side = min(lanes * count, columns), min(lanes, depth)
        if self.turned is None:
            self.turned = b.allocate(depth * width * self.b.bytes)
        strip = Strip(b.scratch(self.turned), width)
        with self._loop(width, side) as across, self._loop(depth, side) as k:
            source = self._at(self.b, b.add(column, across), k)
            square = transpose(b, [self._load(self.b, source, n * depth, side) for n in range(side)])
            offset = b.add(self._times(k, width), across)
            target = b.offset(strip.start, offset, self.b.type)
            for turn, line in enumerate(square):
                b.store(line, b.offset(target, turn * width, self.b.type), self.b.bytes)
        return strip

    # -- a block ------------------------------------------------------------------------------------------------------
    def _sums(self, row: Register, column: Register, strip: Strip, height: int, lanes: int, count: int) -> None:
        """Compute one block of the result."""
        b, depth = self.code, self.a.shape[-2 if self.a_turned else -1]
        down, along = (1, self.a.shape[-1]) if self.a_turned else (depth, 1)
        type, step = vector(self.a.type, lanes), max(lanes, 1)
        zero = Register("zeroinitializer" if lanes else arithmetic.zero(type).text, type)
        places = [(r, n) for r in range(height) for n in range(count)]
        old: dict[tuple[int, int], Register] = {}
        if self.before is not None and not self.adds:
            at = self._at(self.before, row, column)
            old = {(r, n): self._read(at, r, n * step, lanes) for r, n in places}
        sums = {place: b.variable(old.get(place, zero)) for place in places}
        left = self._at(self.a, b.i64(0), row) if self.a_turned else self._at(self.a, row, b.i64(0))
        unroll = min(UNROLL, depth)
        with self._loop(depth, unroll) as k:
            x = b.offset(left, self._times(k, along), self.a.type)
            y = b.offset(strip.start, self._times(k, strip.pitch), self.b.type)
            for turn in range(unroll):
                line = [self._load(self.b, y, turn * strip.pitch + n * step, lanes) for n in range(count)]
                for r in range(height):
                    element = b.splat(self._load(self.a, x, r * down + turn * along, 0), lanes)
                    for n in range(count):
                        cell = sums[r, n]
                        b.set(cell, self._multiply_add(element, line[n], b.get(cell, type)))
        self._write(row, column, {place: b.get(cell, type) for place, cell in sums.items()}, lanes)

    def _multiply_add(self, x: Register, y: Register, total: Register) -> Register:
        b = self.code
        if x.element in ("float", "double"):
            return b.intrinsic("llvm.fma", x, y, total)
        return b.binary("add", total, b.binary("mul", x, y))

    def _read(self, pointer: Register, row: int, column: int, lanes: int) -> Register:
        """Elements of the accumulator, in the dtype of the sums."""
        buffer = self.before or self.result
        loaded = self._load(buffer, pointer, row * buffer.shape[-1] + column, lanes)
        half = _half(buffer)
        return loaded if half is None else narrow.widen(self.code, half, loaded)

    def _write(self, row: Register, column: Register, sums: dict[tuple[int, int], Register], lanes: int) -> None:
        b, step = self.code, max(lanes, 1)
        at = self._at(self.result, row, column)
        source = self._at(self.before, row, column) if self.before is not None and self.adds else None
        for (r, n), total in sums.items():
            if total.element == "float" and self.result.type == "i32":
                total = b.convert("fptosi", total, "i32")
            if source is not None:
                how = "fadd" if total.element in ("float", "double") else "add"
                total = b.binary(how, self._read(source, r, n * step, lanes), total)
            if (half := _half(self.result)) is not None:
                total = narrow.narrow(b, half, total)
            place = b.offset(at, r * self.result.shape[-1] + n * step, self.result.type)
            b.store(total, place, self.result.bytes)


def transpose(b: Code, rows: list[Register]) -> list[Register]:
    """Exchange rows and columns of a square of registers: at each distance, pairs of rows swap half of their lanes."""
    side, distance = len(rows), len(rows) // 2
    while distance:
        lower = [lane if not lane & distance else lane - distance + side for lane in range(side)]
        upper = [lane + distance if not lane & distance else lane + side for lane in range(side)]
        for row in range(side):
            if not row & distance:
                x, y = rows[row], rows[row + distance]
                rows[row], rows[row + distance] = b.shuffle(x, lower, y), b.shuffle(x, upper, y)
        distance //= 2
    return rows


def _half(buffer: Buffer) -> DType | None:
    """The buffer's dtype where it is a narrow float, which is computed in f32."""
    element = buffer.element
    return element if isinstance(element, DType) and narrow.is_narrow(element) else None
