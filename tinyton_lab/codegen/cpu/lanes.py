"""Ops that go over tiles in memory element by element: gather, scan, histogram, map. Knows no plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

from tinyton_lab.codegen.cpu import arithmetic, exchanges
from tinyton_lab.codegen.cpu.values import Buffer, Values
from tinyton_lab.ir.core import Block, Op, Value
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import collective


class Lanes:
    """Reads and writes single elements of operands and results; `run` writes a block of scalars."""

    def __init__(self, values: Values, run: Callable[[Block], None]) -> None:
        self.values, self.code, self.run = values, values.code, run

    def get(self, value: Value, index: Register) -> Register:
        """The element of a tile at a row-major index; a scalar as it is."""
        if not value.type.shape:
            return self.values.scalar(value)
        b, buffer = self.code, self.values.buffers[value]
        loaded = b.load(buffer.type, b.offset(b.scratch(buffer.at), index, buffer.type), buffer.bytes)
        return arithmetic.from_memory(b, loaded, buffer.element)

    def put(self, buffer: Buffer, index: Register, x: Register) -> None:
        b = self.code
        at = b.offset(b.scratch(buffer.at), index, buffer.type)
        b.store(arithmetic.to_memory(b, x), at, buffer.bytes)

    def results(self, op: Op) -> list[Buffer]:
        """Fresh buffers for the results of an op."""
        found = [self.values.buffer(result.type) for result in op.results]
        self.values.buffers.update(zip(op.results, found))
        return found

    @contextmanager
    def lines(self, shape: Sequence[int], axis: int) -> Iterator[tuple[Register, Register]]:
        """Loops over all lines along an axis: what comes before the axis in row-major order, and what after."""
        b = self.code
        with b.loop(b.i64(0), b.i64(prod(shape[:axis])), 1) as before:
            with b.loop(b.i64(0), b.i64(prod(shape[axis + 1 :])), 1) as after:
                yield before, after

    def place(self, shape: Sequence[int], axis: int, line: tuple[Register, Register], at: Register) -> Register:
        """The row-major index of an element of a line."""
        b, inner = self.code, prod(shape[axis + 1 :])
        flat = b.add(b.binary("mul", line[0], b.i64(shape[axis])), at)
        return b.add(b.binary("mul", flat, b.i64(inner)), line[1])


def emit(lanes: Lanes, op: Op) -> None:
    """Write one of these ops; its tile operands lie in memory."""
    _WRITERS[op.row](lanes, op)


def _gather(lanes: Lanes, op: Op) -> None:
    b, axis = lanes.code, op.attrs["axis"]
    source, index = op.inputs
    (result,) = lanes.results(op)
    distance = exchanges.distance_of(op)
    if distance is not None:
        exchanges.emit(lanes.values, op, distance, result)
        return
    with lanes.lines(index.type.shape, axis) as line, b.loop(b.i64(0), b.i64(index.type.shape[axis]), 1) as at:
        place = lanes.place(index.type.shape, axis, line, at)
        wanted = b.widen(lanes.get(index, place), arithmetic.is_signed(index.type.element))
        wrapped = b.binary("and", wanted, b.i64(source.type.shape[axis] - 1))
        lanes.put(result, place, lanes.get(source, lanes.place(source.type.shape, axis, line, wrapped)))


def _scan(lanes: Lanes, op: Op) -> None:
    b, axis, backward = lanes.code, op.attrs["axis"], op.attrs["reverse"]
    inputs, results = list(op.inputs), lanes.results(op)
    shape = inputs[0].type.shape
    last = b.i64(shape[axis] - 1)
    with lanes.lines(shape, axis) as line:
        place = lanes.place(shape, axis, line, last if backward else b.i64(0))
        first = [lanes.get(value, place) for value in inputs]
        cells = [b.variable(x) for x in first]
        for buffer, x in zip(results, first):
            lanes.put(buffer, place, x)
        with b.loop(b.i64(1), b.i64(shape[axis]), 1) as at:
            place = lanes.place(shape, axis, line, b.binary("sub", last, at) if backward else at)
            so_far = [b.get(cell, x.type) for cell, x in zip(cells, first)]
            following = [lanes.get(value, place) for value in inputs]
            combined = arithmetic.combine(b, op.blocks[0], so_far + following, lanes.values.scalars)
            for cell, buffer, x in zip(cells, results, combined):
                b.set(cell, x)
                lanes.put(buffer, place, x)


def _histogram(lanes: Lanes, op: Op) -> None:
    b, bins = lanes.code, op.attrs["bins"]
    x, mask = op.operand("x"), op.operand("mask")
    if x is None:
        raise RuntimeError(f"cpu: histogram #{op.uid} has no operand")
    (counts,) = lanes.results(op)
    with b.loop(b.i64(0), b.i64(bins), 1) as at:
        lanes.put(counts, at, Register("0", "i32"))
    with b.loop(b.i64(0), b.i64(x.type.elements), 1) as at:
        number = b.widen(lanes.get(x, at), arithmetic.is_signed(x.type.element))
        counted = b.compare("icmp ult", number, b.i64(bins))
        if mask is not None:
            counted = b.binary("and", counted, lanes.get(mask, at))
        with b.when(counted):
            lanes.put(counts, number, b.binary("add", lanes.get(op.result, number), Register("1", "i32")))


def _map(lanes: Lanes, op: Op) -> None:
    b, (body,) = lanes.code, op.blocks
    results = lanes.results(op)
    with b.loop(b.i64(0), b.i64(op.results[0].type.elements), 1) as at:
        for argument, value in zip(body.args, op.inputs):
            lanes.values.scalars[argument] = lanes.get(value, at)
        lanes.run(body)
        b.uid = op.uid
        for buffer, value in zip(results, body.terminator.inputs):
            lanes.put(buffer, at, lanes.values.scalar(value))


_WRITERS: dict[object, Callable[[Lanes, Op], None]] = {
    collective.gather: _gather,
    collective.scan: _scan,
    collective.histogram: _histogram,
    collective.map_: _map,
}
