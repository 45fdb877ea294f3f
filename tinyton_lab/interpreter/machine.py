"""Runs tile IR in numpy, from the op table: the definition of what a kernel computes. Knows no machine and no launch.

Programs run in batches: every array has a leading axis of programs (of length 1 where all agree). Where control flow
differs between programs a batch splits and joins again, so an op takes effect for all programs of a batch at once, in
program order where two of them store to one place.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from tinyton_lab.base.access import Extent, misaligned, out_of_bounds
from tinyton_lab.base.dtypes import DType, int64
from tinyton_lab.interpreter.slots import Slots
from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import contract, control, elementwise, memory, program, reduction, shape
from tinyton_lab.ops.casts import cast_numpy
from tinyton_lab.ops.reduction import combiner
from tinyton_lab.ops.roots import Roots, pointer_roots
from tinyton_lab.ops.support import refused
from tinyton_lab.ops.table import OPS

Array = Any
ELEMENTS_PER_BATCH = 1 << 19


class Buffer(Extent, Protocol):
    """An array argument: its extent, and the strides in bytes that tell its gaps. The caller keeps it alive."""

    @property
    def dtype(self) -> DType: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...


def run(function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
    """Execute `function` for every program of `grid`; `arguments` are scalars and buffers, one per parameter.

    Raises TT4001 or TT4002, located, before the offending access touches memory; what earlier ops and earlier batches
    stored stays. An endless loop ends with KeyboardInterrupt.
    """
    machine = Interpreter(function, grid, arguments)
    with np.errstate(all="ignore"):
        for first in range(0, machine.programs, machine.batch):
            machine.run(first, min(first + machine.batch, machine.programs))


class Frame:
    """Values of the programs that run together: `count` of them, chosen from the outer frame's by `members`."""

    __slots__ = ("count", "members", "outer", "values")

    def __init__(self, count: int, outer: Frame | None = None, members: Array | None = None) -> None:
        self.count, self.outer, self.members = count, outer, members
        self.values: dict[Value, Array] = {}

    def get(self, value: Value | None) -> Array:
        """The array of a value, with the leading axis of this frame's programs (or 1)."""
        if value is None:
            raise RuntimeError("interpreter: an operand that must be there is absent")
        found = self.values.get(value)
        if found is None:
            if self.outer is None:
                raise RuntimeError(f"interpreter: %{value.name} has no value")
            found = self.outer.get(value)
            if self.members is not None and len(found) > 1:
                found = found[self.members]
            self.values[value] = found
        return found


class Interpreter:
    """One function with its arguments and grid, ready to run programs ``first .. last``."""

    def __init__(self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        self.function, self.grid = function, grid
        self.programs = prod(grid)
        self.roots = pointer_roots(function)
        self.buffers: dict[int, Memory] = {}
        self.scalars: list[Array] = []
        self.slots = Slots(0, 0)
        for index, (parameter, argument) in enumerate(zip(function.parameters, arguments, strict=True)):
            if parameter.type.is_pointer:
                self.buffers[index] = Memory(argument)
                self.scalars.append(np.array([argument.address], np.int64))
            else:
                self.scalars.append(scalar_array(argument, parameter.type.dtype))
        widest = max((value.type.elements for op in function.walk() for value in op.results), default=1)
        self.batch = 1 if _waits(function) else max(1, ELEMENTS_PER_BATCH // widest)

    def run(self, first: int, last: int) -> None:
        """Run the programs ``first .. last - 1`` (numbered along axis 0 first) as one batch."""
        self.block(self.function.body, self.frame(first, last), self.scalars)

    def frame(self, first: int, last: int) -> Frame:
        """The outermost frame of the programs ``first .. last - 1``, whose shared memory is empty."""
        self.slots = Slots(first, last - first)
        frame = Frame(last - first)
        frame.values[NUMBER] = np.arange(first, last, dtype=np.int64)
        return frame

    def block(self, block: Block, frame: Frame, args: Sequence[Array] = ()) -> list[Array]:
        """Run a block inside `frame`; give the operands of its terminator."""
        inner = Frame(frame.count, frame)
        inner.values.update(zip(block.args, args, strict=True))
        for op in block.ops:
            if op.row.terminator:
                return [inner.get(value) for value in op.operands]
            self.op(op, inner)
        return []

    def op(self, op: Op, frame: Frame) -> None:
        numpy = op.row.numpy
        if numpy is not None:
            arrays = [None if value is None else frame.get(value) for value in op.operands]
            result = numpy(*arrays, **op.attrs)
            if result.dtype != storage(op.result.type):
                raise RuntimeError(f"interpreter: {op.row.name} gave {result.dtype} for {op.result.type}")
            frame.values[op.result] = result
            return
        if (handler := HANDLERS.get(op.row)) is None:
            reason = op.row.unsupported.get("interpreter", "it has no definition in numpy")
            raise refused(op, "interpreter", "the engine interpreter", reason)
        results = handler(self, op, frame)
        frame.values.update(zip(op.results, results, strict=True))

    def coordinates(self, number: int) -> tuple[int, int, int]:
        """Index of a program along the three axes of the grid."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)


def _waits(function: Function) -> bool:
    """Whether a loop may wait for what other programs write: then programs run one after the other, not together."""
    loops = [op for op in function.walk() if op.row is control.while_]
    return any(inner.row.effect == "atomic" for op in loops for block in op.blocks for inner in block.walk())


NUMBER = Value(Tile(int64), "program number", Block(), 0)


# -- values ------------------------------------------------------------------------------------------------------------
def storage(type: Tile) -> np.dtype[Any]:
    """The numpy dtype of a tile's elements; addresses are int64."""
    return np.dtype(np.int64) if isinstance(type.element, Pointer) else type.element.numpy


def scalar_array(value: Any, dtype: DType) -> Array:
    """A Python or numpy scalar as an array of one element; integers wrap."""
    if dtype.kind in ("int", "uint"):
        low = int(value) & ((1 << dtype.bits) - 1)
        return np.array([low], np.dtype(f"u{dtype.bytes}")).view(dtype.numpy)
    if dtype.kind == "bool":
        return np.array([bool(value)])
    return np.array([value], np.float64).astype(dtype.numpy)


def aligned_to(array: Array, rank: int) -> Array:
    """Append axes of length 1, so that per-program scalars meet tiles of that rank."""
    return array.reshape(len(array), *(1,) * rank) if array.ndim == 1 else array


def tiled(array: Array, tile: tuple[int, ...]) -> Array:
    return np.broadcast_to(aligned_to(array, len(tile)), (len(array), *tile))


def run_constant(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    type = op.attrs["type"]
    dtype = int64 if type.is_pointer else type.dtype
    return [tiled(scalar_array(op.attrs["value"], dtype), type.shape)]


def run_range(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return [np.arange(op.attrs["start"], op.attrs["end"], dtype=np.int32)[None]]


def run_splat(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return [tiled(frame.get(op.operands[0]), op.attrs["shape"])]


def run_expand(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return [np.expand_dims(frame.get(op.operands[0]), op.attrs["axis"] + 1)]


def run_broadcast(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    x = frame.get(op.operands[0])
    return [np.broadcast_to(x, (len(x), *op.attrs["shape"]))]


def run_reshape(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    x = frame.get(op.operands[0])
    return [x.reshape(len(x), *op.attrs["shape"])]


def run_transpose(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return [frame.get(op.operands[0]).transpose(0, *(axis + 1 for axis in op.attrs["order"]))]


def run_program_id(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    x, y, _ = machine.grid
    number, axis = frame.get(NUMBER), op.attrs["axis"]
    along = (number % x, number // x % y, number // (x * y))[axis]
    return [along.astype(np.int32)]


def run_num_programs(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return [np.array([machine.grid[op.attrs["axis"]]], np.int32)]


def run_offset(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    pointer, distance = map(frame.get, op.operands)
    return [address(pointer, distance, _element_bytes(op.operands[0]))]


def run_pointer_to_int(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return [cast_numpy(frame.get(op.operands[0]), to=op.attrs["to"])]


def run_int_to_pointer(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return [frame.get(op.operands[0]).astype(np.int64)]


def run_pointer_cast(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return [frame.get(op.operands[0])]


def run_assume(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    return []


# -- reductions --------------------------------------------------------------------------------------------------------
def run_reduce(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    """Combine neighbours, then neighbours of the results ...: a balanced tree that keeps the order of elements."""
    inputs = [frame.get(value) for value in op.operands]
    programs = max(map(len, inputs))
    if _captures(op.blocks[0]):
        programs = frame.count
    axis = op.attrs["axis"] + 1
    parts = [np.moveaxis(np.broadcast_to(x, (programs, *x.shape[1:])), axis, -1) for x in inputs]
    while (length := parts[0].shape[-1]) > 1:
        even = length - length % 2
        left, right = [x[..., 0:even:2] for x in parts], [x[..., 1:even:2] for x in parts]
        combined = combine(machine, op, frame, left, right)
        rest = [x[..., even:] for x in parts]
        parts = [np.concatenate(pair, axis=-1) for pair in zip(combined, rest)] if length % 2 else combined
    return [x[..., 0] for x in parts]


def combine(machine: Interpreter, op: Op, frame: Frame, left: list[Array], right: list[Array]) -> list[Array]:
    """Run the combination on arrays of pairs: at once where it is one op of the table, else each pair as a program."""
    (block,) = op.blocks
    if combiner(op) is not None and block.ops[0].row.numpy is not None:
        return [block.ops[0].row.numpy(left[0], right[0], **block.ops[0].attrs)]
    programs, *inner = left[0].shape
    pairs = prod(inner)
    members = np.repeat(np.arange(programs), pairs) if frame.count == programs else None
    flat = Frame(programs * pairs, frame, members)
    results = machine.block(block, flat, [x.reshape(-1) for x in left + right])
    return [np.broadcast_to(x, (programs * pairs,)).reshape(programs, *inner) for x in results]


def _captures(block: Block) -> bool:
    """True when the block uses values from outside."""
    inside = {value for op in block.walk() for value in op.results}
    inside.update(block.args, *(inner.args for op in block.walk() for inner in op.blocks))
    return any(value not in inside for op in block.walk() for value in op.inputs)


# -- control flow ------------------------------------------------------------------------------------------------------
def run_if(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    """Take one branch where all programs agree; else run each branch for its programs, the first branch first."""
    condition = frame.get(op.operands[0])
    then, otherwise = op.blocks
    if condition.all():
        return machine.block(then, frame)
    if not condition.any():
        return machine.block(otherwise, frame)
    joined = Joined(frame.count)
    for block, chosen in ((then, condition), (otherwise, ~condition)):
        members = np.flatnonzero(chosen)
        joined.settle(members, machine.block(block, Frame(len(members), frame, members)))
    return joined.results


class Joined:
    """Results of programs that went different ways, put together again."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.results: list[Array] = []

    def settle(self, members: Array, values: Sequence[Array]) -> None:
        """Take over `values`, one per program of `members` (or one for all of them)."""
        if not self.results:
            self.results = [np.zeros((self.count, *x.shape[1:]), x.dtype) for x in values]
        for result, value in zip(self.results, values, strict=True):
            result[members] = value


State = list[Array]


def iterate(
    frame: Frame,
    state: State,
    before: Callable[[Frame, State], tuple[Array, State]],
    after: Callable[[Frame, State], State],
) -> State:
    """Loop: `before` tells who goes on and what it passes, `after` makes the next state. Programs leave as they end."""
    live, members = frame, np.arange(frame.count)
    joined = Joined(frame.count)
    while True:
        going, passed = before(live, state)
        if going.all():
            state = after(live, passed)
            continue
        if not going.any():
            if not joined.results:
                return passed
            joined.settle(members, passed)
            return joined.results
        staying, leaving = np.flatnonzero(going), np.flatnonzero(~going)
        joined.settle(members[leaving], _take(passed, leaving))
        members = members[staying]
        live = Frame(len(staying), frame, members)
        state = after(live, _take(passed, staying))


def _take(values: State, members: Array) -> State:
    return [value[members] if len(value) > 1 else value for value in values]


def run_for(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    lower, upper, step, *inits = map(frame.get, op.operands)
    (body,) = op.blocks
    count = trip_count(lower, upper, step)

    def before(live: Frame, state: State) -> tuple[Array, State]:
        return state[0] > 0, state

    def after(live: Frame, state: State) -> State:
        left, index, step, *carried = state
        carried = machine.block(body, live, [index, *carried])
        return [left - np.uint64(1), index + step, step, *carried]

    return iterate(frame, [count, lower, step, *inits], before, after)[3:]


def trip_count(lower: Array, upper: Array, step: Array) -> Array:
    """How often a loop runs, as uint64: no index near the end of its type's range wraps."""

    def distance(high: Array, low: Array) -> Array:
        return np.where(high > low, high.astype(np.uint64) - low.astype(np.uint64), 0).astype(np.uint64)

    up = np.where(step > 0, step, 1).astype(np.uint64)
    down = np.where(step < 0, -step.astype(np.int64), 1).astype(np.uint64)
    span_up, span_down = distance(upper, lower), distance(lower, upper)
    ups = np.where(span_up > 0, (span_up - np.uint64(1)) // up + np.uint64(1), np.uint64(0))
    downs = np.where(span_down > 0, (span_down - np.uint64(1)) // down + np.uint64(1), np.uint64(0))
    return np.where(step > 0, ups, np.where(step < 0, downs, np.uint64(0)))


def run_while(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    first, second = op.blocks

    def before(live: Frame, state: State) -> tuple[Array, State]:
        test, *passed = machine.block(first, live, state)
        return test, passed

    def after(live: Frame, state: State) -> State:
        return machine.block(second, live, state)

    return iterate(frame, [frame.get(value) for value in op.operands], before, after)


# -- memory ------------------------------------------------------------------------------------------------------------
def _element_bytes(pointer: Value | None) -> int:
    if pointer is None or not isinstance(pointer.type.element, Pointer):
        raise RuntimeError(f"interpreter: {pointer} is no pointer")
    return pointer.type.element.element.bytes


def address(pointer: Array, distance: Array, element_bytes: int) -> Array:
    """Addresses that many elements further; 64-bit arithmetic that wraps."""
    return aligned_to(pointer, distance.ndim - 1) + distance.astype(np.int64) * np.int64(element_bytes)


class Memory:
    """The bytes of one buffer: which addresses are elements of its view, and flat arrays over them."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.first, self.last = buffer.first, buffer.last
        self.gaps = _byte_map(buffer)
        self.flat_by_dtype: dict[np.dtype[Any], tuple[int, Array]] = {}

    def inside(self, addresses: Array, element_bytes: int) -> Array | bool:
        """Which addresses hold a whole element of this buffer; one True when all do."""
        if self.gaps is None and self.first <= addresses.min() and addresses.max() + element_bytes <= self.last:
            return True
        within = (addresses >= self.first) & (addresses <= self.last - element_bytes)
        if self.gaps is not None:
            at = np.where(within, addresses - self.first, 0)
            for byte in range(element_bytes):
                within &= self.gaps[np.minimum(at + byte, len(self.gaps) - 1)]
        return True if within.all() else within

    def flat(self, dtype: np.dtype[Any]) -> tuple[int, Array]:
        """The memory as an array of `dtype` that starts at the address given (the extent's, rounded down)."""
        if dtype not in self.flat_by_dtype:
            size = dtype.itemsize
            start = self.first & -size
            count = -(-(self.last - start) // size)
            raw = (ctypes.c_char * (count * size)).from_address(start)
            self.flat_by_dtype[dtype] = start, np.frombuffer(memoryview(raw), dtype, count)
        return self.flat_by_dtype[dtype]


def _byte_map(buffer: Buffer) -> Array | None:
    """For a view with gaps, one flag per byte of its extent; None where every byte belongs to an element."""
    extent, element_bytes = buffer.last - buffer.first, buffer.dtype.bytes
    strided = [(n, stride) for n, stride in zip(buffer.shape, buffer.strides) if stride and n > 1]
    if not extent or prod(n for n, _ in strided) * element_bytes == extent:
        return None
    offsets = np.array([buffer.address - buffer.first])
    for length, stride in strided:
        offsets = (offsets[:, None] + np.arange(length) * stride).reshape(-1)
    flags = np.zeros(extent, bool)
    for byte in range(element_bytes):
        flags[offsets + byte] = True
    return None if flags.all() else flags


class Access:
    """One load or store: addresses of its elements over all programs, those that the mask leaves on, all checked."""

    def __init__(self, machine: Interpreter, op: Op, frame: Frame, shape: tuple[int, ...] | None = None) -> None:
        """Look at an access; with `shape` each program accesses for itself, also where all have the same addresses."""
        self.machine, self.op, self.frame = machine, op, frame
        pointer, distance = op.operand("pointer"), op.operand("distance")
        mask = op.operand("mask") if any(role.name == "mask" for role in op.row.roles) else None
        self.element_bytes = _element_bytes(pointer)
        addresses = frame.get(pointer)
        if distance is not None:
            addresses = address(addresses, frame.get(distance), self.element_bytes)
        if shape is not None:
            addresses = np.broadcast_to(addresses, shape)
        self.mask = None if mask is None else frame.get(mask)
        if self.mask is not None:
            addresses, self.mask = np.broadcast_arrays(addresses, self.mask)
            if self.mask.all():
                self.mask = None
        self.shape = addresses.shape
        self.chosen = addresses.reshape(-1) if self.mask is None else addresses[self.mask]
        self.roots: Roots = machine.roots.get(pointer) if pointer is not None else None

    def pieces(self) -> list[tuple[Memory, Array | slice]]:
        """The buffers accessed and which of the chosen elements lie in each; raises when one lies in none."""
        if not self.chosen.size:
            return []
        buffers = self.machine.buffers
        candidates = [buffers[index] for index in (sorted(buffers) if self.roots is None else sorted(self.roots))]
        missing = np.ones(self.chosen.size, bool)
        pieces: list[tuple[Memory, Array | slice]] = []
        for candidate in candidates:
            inside = candidate.inside(self.chosen, self.element_bytes)
            if inside is True:
                self._check_alignment(candidate)
                return [(candidate, slice(None))]
            pieces.append((candidate, np.flatnonzero(inside & missing)))
            missing &= ~inside
        if missing.any():
            raise self._fault(int(np.argmax(missing)), candidates)
        self._check_alignment(pieces[0][0])
        return pieces

    def _check_alignment(self, buffer: Memory) -> None:
        if self.element_bytes > 1 and int(np.bitwise_or.reduce(self.chosen)) & (self.element_bytes - 1):
            at = int(self.chosen[np.argmax(self.chosen & (self.element_bytes - 1) != 0)])
            raise misaligned(self.op.span, self.op.row.name, at, self.element_bytes, buffer.buffer)

    def _fault(self, position: int, candidates: list[Memory]) -> Exception:
        """The fault of the first chosen element, in program order, that lies in no buffer."""
        at = int(self.chosen[position])
        row = position // prod(self.shape[1:]) if self.mask is None else int(self.mask.nonzero()[0][position])
        number = int(self.frame.get(NUMBER)[row])
        nearest = min(candidates, key=lambda m: max(m.first - at, at - m.last + 1, 0))
        everything = [memory.buffer for memory in self.machine.buffers.values()]
        return out_of_bounds(self.op.span, self.op.row.name, at, self.element_bytes, self.machine.coordinates(number),
                             nearest.buffer, everything)  # fmt: skip


def run_load(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    access = Access(machine, op, frame)
    dtype = storage(op.result.type)
    raw = np.dtype(np.uint8) if dtype.kind == "b" else dtype
    loaded = np.zeros(access.chosen.size, raw)
    for buffer, members in access.pieces():
        start, flat = buffer.flat(raw)
        loaded[members] = flat[(access.chosen[members] - start) // access.element_bytes]
    if dtype.kind == "b":
        loaded = loaded != 0
    if access.mask is None:
        return [loaded.reshape(access.shape)]
    other = op.operand("other")
    if other is None:
        result = np.zeros(access.shape, dtype)
    else:
        default = frame.get(other)
        programs = max(access.shape[0], len(default))
        result = np.array(np.broadcast_to(default, (programs, *access.shape[1:])))
    result[np.broadcast_to(access.mask, result.shape)] = np.broadcast_to(
        loaded, (len(result) // access.shape[0], loaded.size)
    ).reshape(-1)
    return [result]


def run_store(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    access = Access(machine, op, frame)
    value = frame.get(op.operand("value"))
    if len(value) > access.shape[0]:  # every program stores its own value to the same places: the last one stays
        value = value[-1:]
    value = np.broadcast_to(value, access.shape)
    value = value.reshape(-1) if access.mask is None else value[access.mask]
    for buffer, members in access.pieces():
        start, flat = buffer.flat(value.dtype)
        flat[(access.chosen[members] - start) // access.element_bytes] = value[members]
    return []


Handler = Callable[[Interpreter, Op, Frame], list[Array]]
HANDLERS: dict[OpDef, Handler] = {
    shape.constant: run_constant,
    shape.range_: run_range,
    shape.splat: run_splat,
    shape.expand: run_expand,
    shape.broadcast: run_broadcast,
    shape.reshape: run_reshape,
    shape.transpose: run_transpose,
    program.program_id: run_program_id,
    program.num_programs: run_num_programs,
    elementwise.offset: run_offset,
    elementwise.pointer_to_int: run_pointer_to_int,
    elementwise.int_to_pointer: run_int_to_pointer,
    elementwise.pointer_cast: run_pointer_cast,
    reduction.reduce: run_reduce,
    control.if_: run_if,
    control.for_: run_for,
    control.while_: run_while,
    memory.load: run_load,
    memory.store: run_store,
    contract.assume: run_assume,
    contract.promise: run_assume,
}


def missing_rows() -> list[str]:
    """Rows of the op table that nothing here executes (a test wants none)."""
    rows = [row for row in OPS.values() if "interpreter" not in row.unsupported]
    return [row.name for row in rows if row.numpy is None and row not in HANDLERS and not row.terminator]
