"""Loop nests of machine vectors: some fused ops over one shape. Knows loops and lanes, not which ops to fuse."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from tinyton_lab.codegen.cpu import arithmetic, reductions
from tinyton_lab.codegen.cpu.blueprint import CHEAP_NODES, Blueprint, Fill, Planned, Reduce, Root, Single, Store, uid_of
from tinyton_lab.codegen.cpu.memory import Memory, Position, Row
from tinyton_lab.codegen.cpu.reductions import Accumulator
from tinyton_lab.codegen.cpu.schedule import BEYOND, FIXED, Access, Key, Node, Prefix, Schedule
from tinyton_lab.codegen.cpu.values import Buffer, Values
from tinyton_lab.ir.core import Op
from tinyton_lab.llvm.text import Register, vector
from tinyton_lab.ops import memory as memory_ops
from tinyton_lab.ops import shape

STREAMING_BYTES = 1 << 24  # arrays from this size on do not fit a cache beside their inputs
LINE_BYTES = 64  # of a cache
PREFETCHED_ROW_BYTES = 2048  # shorter rows are near before a program asks for them


@dataclass(slots=True)
class Nest:
    """The loops over `shape` that compute some roots."""

    values: Values
    memory: Memory
    shape: tuple[int, ...]
    roots: Sequence[Root]
    blueprint: Blueprint = field(init=False)
    schedule: Schedule = field(init=False)
    planned: list[Planned] = field(init=False)
    compact: bool = False  # rarely run: one vector per turn
    indices: dict[int, Register] = field(default_factory=dict[int, Register])
    registers: list[dict[Key, Register]] = field(default_factory=lambda: [{}])
    rows: dict[Key | int, Row] = field(default_factory=dict["Key | int", Row])
    limit: Register = field(default_factory=lambda: Register("1", "i64"))

    def emit(self) -> None:
        """Plan, then write the loops."""
        self.blueprint = Blueprint(self.values, self.shape, self.roots)
        self.schedule, self.planned = self.blueprint.schedule, self.blueprint.planned
        self._nodes(self.schedule.outside)
        self._outer(0)
        if not self.compact:
            self.values.near.update(key[0] for key in self.rows if not isinstance(key, int))

    # -- reading ------------------------------------------------------------------------------------------------------
    def _read(self, key: Key) -> Register:
        for registers in reversed(self.registers):
            if key in registers:
                return registers[key]
        value, _ = key
        if not value.type.shape:
            return self.values.scalar(value)
        raise RuntimeError(f"cpu: %{value.name} is needed outside its loop")

    # -- loops --------------------------------------------------------------------------------------------------------
    def _outer(self, level: int) -> None:
        b = self.values.code
        axes = self.schedule.axes
        if level >= len(axes) - 1:
            self._innermost()
            return
        axis = axes[level]
        with b.loop(b.i64(0), b.i64(self.shape[axis]), 1) as index:
            self.indices[axis] = index
            self.registers.append({})
            self._nodes(self.schedule.levels[level])
            self._outer(level + 1)
            self.registers.pop()

    def _innermost(self) -> None:
        b = self.values.code
        inner = self.schedule.inner
        if inner is None:
            self._body(Position(b.i64(0), 0), [])
            return
        length = self.shape[inner]
        self.limit = b.i64(length) if self.blueprint.clamp is None else self._count(self.blueprint.clamp, length)
        self._prepare(length)
        lanes, unroll = self.blueprint.width(length, self.compact)
        accumulators = self._accumulators(lanes, unroll)
        self._fill_beyond(inner, lanes)
        if lanes:
            self._spread(lanes)
        self._run(length, lanes, unroll, accumulators)
        self.values.code.spread.clear()
        self._finish(accumulators, inner, length)

    def _spread(self, lanes: int) -> None:
        """Copy scalars that the innermost loop computes with into every lane, ahead of the loop."""
        b, within = self.values.code, {node.key for node in self.schedule.levels[-1]}
        wanted = (key for node in self.schedule.levels[-1] if node.access is None for key in node.operands)
        for key in dict.fromkeys(wanted):
            scalar = None if key in within else self._read(key)
            if scalar is not None and scalar.text.startswith("%"):
                b.spread[scalar.text, lanes] = b.splat(scalar, lanes)

    def _run(self, length: int, lanes: int, unroll: int, accumulators: list[list[Accumulator]]) -> None:
        """Whole vectors first, then what is left: one masked vector at a time, or one element at a time."""
        b = self.values.code
        step = max(lanes, 1) * unroll
        literal = not self.limit.text.startswith("%")
        if literal and length == step:
            self._copies(b.i64(0), lanes, unroll, accumulators, streaming=False)
            return
        cursor = b.variable(b.i64(0))
        row = self._streamed(lanes)
        if row is not None:
            self._stream(row, cursor, lanes, unroll)
        self._whole(cursor, step, lanes, unroll, accumulators, streaming=False)
        if row is None and literal and length % step == 0:
            return
        self._rest(cursor, lanes, accumulators)

    def _stream(self, row: tuple[Register, Register, int], cursor: Register, lanes: int, unroll: int) -> None:
        """Where the output is big, write past the cache: a masked vector up to an aligned place, then whole vectors."""
        b = self.values.code
        address, big, size = row
        with b.when(big):
            odd = b.binary("and", b.binary("sub", b.i64(0), address), b.i64(lanes * size - 1))
            odd = b.smaller(b.binary("udiv", odd, b.i64(size)), self.limit)
            with b.when(b.compare("icmp ne", odd, b.i64(0))):
                active = self._first(odd, lanes)
                self._body(Position(b.i64(0), lanes, active), [])
            b.set(cursor, odd)
            for vectors in (unroll, 1)[:unroll]:
                self._whole(cursor, lanes * vectors, lanes, vectors, [], streaming=True)

    def _whole(
        self,
        cursor: Register,
        step: int,
        lanes: int,
        unroll: int,
        accumulators: list[list[Accumulator]],
        streaming: bool,
    ) -> None:
        b = self.values.code
        with b.loop(b.get(cursor, "i64"), self.limit, step, whole=True) as at:
            self._copies(at, lanes, unroll, accumulators, streaming)
            b.set(cursor, b.add(at, b.i64(step)))

    def _copies(
        self, at: Register, lanes: int, unroll: int, accumulators: list[list[Accumulator]], streaming: bool
    ) -> None:
        b = self.values.code
        for copy in range(unroll):
            moved = b.add(at, b.i64(copy * max(lanes, 1)))
            if not at.text.startswith("%"):
                moved = b.i64(int(at.text) + copy * max(lanes, 1))
            ahead = self._ahead(lanes, copy)
            self._body(Position(moved, lanes, None, streaming, ahead), [each[copy] for each in accumulators])

    def _ahead(self, lanes: int, copy: int) -> int:
        """How far loads of rows reach ahead that are read again: two rows, where rows are long and are only reduced.

        The next programs begin with those rows, and memory is idle while this one works on what is near. Rows are
        asked for where they are read first: near the stores, requests would make those wait.
        """
        if not lanes or not self.values.light or not self.blueprint.only_reduces:
            return 0
        types = [key[0].type.element for planned in self.planned for key in planned.keys]
        size = max(arithmetic.memory_bytes(element) for element in types)
        row, first = self.shape[-1] * size, copy * lanes * size % LINE_BYTES == 0
        return 2 * row if first and row >= PREFETCHED_ROW_BYTES else 0

    def _rest(self, cursor: Register, lanes: int, accumulators: list[list[Accumulator]]) -> None:
        b = self.values.code
        masked = lanes > 1 and all(self.memory.maskable(type) for type in self.blueprint.memory_types())
        step = lanes if masked else 1
        with b.loop(b.get(cursor, "i64"), self.limit, step) as at:
            if not masked:
                self._body(Position(at, 0), [each[-1] for each in accumulators])
                return
            left = b.binary("sub", self.limit, at)
            active = self._first(left, lanes)
            self._body(Position(at, lanes, active), [each[0] for each in accumulators])

    def _first(self, count: Register, lanes: int) -> Register:
        """The first `count` lanes."""
        b = self.values.code
        return b.compare("icmp slt", b.iota("i32", lanes), b.splat(b.convert("trunc", count, "i32"), lanes))

    # -- the body -----------------------------------------------------------------------------------------------------
    def _body(self, position: Position, accumulators: list[Accumulator]) -> None:
        """Everything that depends on the innermost loop, once."""
        inner = self.schedule.inner
        self.registers.append({})
        if inner is not None:
            self.indices[inner] = position.at
            self._nodes(self.schedule.levels[-1], position)
        with_accumulator = iter(accumulators)
        values = [[self._read(key) for key in planned.keys] for planned in self.planned]
        for number, (planned, registers) in enumerate(zip(self.planned, values)):
            self.values.code.uid = uid_of(planned.root)
            if isinstance(planned.root, Store) and planned.access is not None:
                self.memory.store(planned.access, registers[0], self._read, self.rows.get(number), position)
            elif isinstance(planned.root, Fill):
                self._to_buffer(planned.root.buffer, registers[0], self.blueprint.whole, position)
            elif isinstance(planned.root, Single):
                self.values.scalars[planned.root.op.result] = registers[0]
            elif isinstance(planned.root, Reduce):
                if inner is not None and planned.root.op.attrs["axis"] == inner:
                    next(with_accumulator).step(registers, position)
                else:
                    self._reduce_outer(planned.root, registers, position)
        self.registers.pop()

    def _nodes(self, nodes: Sequence[Node], position: Position | None = None) -> None:
        """Compute nodes in order; at outer levels as scalars."""
        for node in nodes:
            self.values.code.uid = 0 if node.key[0].op is None else node.key[0].op.uid
            self.registers[-1][node.key] = self._node(node, position or Position(Register("0", "i64"), 0))

    def _node(self, node: Node, position: Position) -> Register:
        b = self.values.code
        value, index = node.key
        element, op = value.type.element, value.op
        if value in self.values.buffers:
            return self._from_buffer(self.values.buffers[value], index, position)
        if not value.type.shape and node.access is None:
            return self.values.scalar(value)
        if node.key == self.schedule.clamp:
            return Register("true", "i1")
        if op is None:
            raise RuntimeError(f"cpu: %{value.name} has no buffer")
        if op.row is shape.constant:
            return arithmetic.constant(op.attrs["value"], element)
        if op.row is shape.range_:
            return self._range(op, index, position)
        if op.row is memory_ops.load:
            return self._load(node, op, position)
        if BEYOND in index and not node.operands:
            return Register("false", "i1")
        return arithmetic.apply(b, op, [self._read(key) for key in node.operands])

    def _load(self, node: Node, op: Op, position: Position) -> Register:
        if node.access is None:  # past a clamped loop's end
            if node.operands:
                return self._read(node.operands[0])
            return arithmetic.constant(0, op.result.type.element)
        copy = self._copy_address(op, node.access, position) if op in self.values.copies else None
        return self.memory.load(node.access, self._read, self.rows.get(node.key), position, copy)

    def _copy_address(self, op: Op, access: Access, position: Position) -> Register | None:
        """Where the copies of the elements lie, for an access that is no contiguous row."""
        if access.contiguous:
            return None
        b = self.values.code
        buffer, _ = self.values.copies[op]
        offset = self._offset(buffer, access.index, position)
        if not offset.lanes and self.schedule.inner in access.index and position.lanes:
            offset = b.binary("add", b.splat(offset, position.lanes), b.iota("i64", position.lanes))
        if offset.lanes:
            return self._addresses(buffer, offset)
        return b.emit(f"ptrtoint {self.memory.buffer_address(buffer, offset)} to i64", "i64")

    def _range(self, op: Op, index: tuple[int, ...], position: Position) -> Register:
        b = self.values.code
        (axis,), start = index, op.attrs["start"]
        if axis == FIXED:
            return Register(str(start), "i32")
        number = self.indices[axis]
        narrow = Register(number.text, "i32")
        if number.text.startswith("%"):
            narrow = b.emit(f"trunc {number} to i32", "i32")
        if axis != self.schedule.inner or not position.lanes:
            return b.add(narrow, Register(str(start), "i32"))
        return b.binary("add", b.splat(narrow, position.lanes), b.iota("i32", position.lanes, start))

    # -- buffers ------------------------------------------------------------------------------------------------------
    def _offset(self, buffer: Buffer, index: tuple[int, ...], position: Position) -> Register:
        """The element offset of an index in a dense buffer; a vector where the innermost loop steps in it."""
        b = self.values.code
        total, inner_step = b.i64(0), 0
        for axis, step, length in zip(index, buffer.strides, buffer.shape):
            if axis == BEYOND:
                total = b.add(total, b.i64((length - 1) * step))
            elif axis >= 0:
                number = self.indices[axis]
                scaled = number if step == 1 else b.binary("mul", number, b.i64(step))
                total = b.add(total, scaled)
                inner_step = step if axis == self.schedule.inner else inner_step
        if not position.lanes or inner_step in (0, 1):
            return total
        steps = ", ".join(f"i64 {lane * inner_step}" for lane in range(position.lanes))
        return b.binary("add", b.splat(total, position.lanes), Register(f"<{steps}>", vector("i64", position.lanes)))

    def _from_buffer(self, buffer: Buffer, index: tuple[int, ...], position: Position) -> Register:
        b = self.values.code
        varies = self.schedule.inner in index
        offset = self._offset(buffer, index, position if varies else Position(position.at, 0))
        if offset.lanes:
            loaded = self.memory.gather(buffer.type, self._addresses(buffer, offset), buffer.bytes)
        else:
            at = self.memory.buffer_address(buffer, offset)
            lanes = position.lanes if varies else 0
            if lanes and position.active is not None:
                if self.memory.maskable(buffer.type):
                    loaded = self.memory.masked_load(
                        vector(buffer.type, lanes), at, buffer.bytes, position.active, None
                    )
                    return arithmetic.from_memory(b, loaded, buffer.element)
            loaded = b.load(vector(buffer.type, lanes), at, buffer.bytes)
        return arithmetic.from_memory(b, loaded, buffer.element)

    def _addresses(self, buffer: Buffer, offset: Register) -> Register:
        b = self.values.code
        base = b.emit(f"ptrtoint {b.scratch(buffer.at)} to i64", "i64")
        moved = offset if buffer.bytes == 1 else b.binary("mul", offset, _splat(buffer.bytes, offset.lanes))
        return b.binary("add", b.splat(base, offset.lanes), moved)

    def _to_buffer(self, buffer: Buffer, value: Register, index: tuple[int, ...], position: Position) -> None:
        b = self.values.code
        value = arithmetic.to_memory(b, value)
        offset = self._offset(buffer, index, position)
        if offset.lanes:
            addresses = self._addresses(buffer, offset)
            if position.active is not None:
                addresses = b.select(position.active, addresses, b.splat(self.memory.dummy(), position.lanes))
            self.memory.scatter(b.lanes_of(value, position.lanes), addresses, buffer.bytes)
            return
        at = self.memory.buffer_address(buffer, offset)
        if self.schedule.inner in index and position.lanes:
            value = b.lanes_of(value, position.lanes)
            if position.active is not None:
                self.memory.masked_store(value, at, buffer.bytes, position.active)
                return
        b.store(value, at, buffer.bytes)

    # -- rows ---------------------------------------------------------------------------------------------------------
    def _count(self, prefix: Prefix, length: int) -> Register:
        """How many elements of a row a prefix mask turns on."""
        b = self.values.code
        count = b.i64(length)
        for part in prefix.below:
            start, bound = (b.widen(self._read(key), part.signed) for key in (part.start, part.bound))
            room = b.add(b.binary("sub", bound, start), b.i64(part.extra))
            count = b.smaller(count, b.intrinsic("llvm.smax", room, b.i64(0)))
        for key in prefix.uniform:
            count = b.select(self._read(key), count, b.i64(0))
        return count

    def _prepare(self, length: int) -> None:
        """Compute the addresses of contiguous rows, and check those whose length is known."""
        self.rows = {}
        for node in self.schedule.levels[-1]:
            if node.access is not None and node.access.contiguous:
                self.rows[node.key] = self._row(node.access, length)
        for number, planned in enumerate(self.planned):
            if planned.access is not None and planned.access.contiguous:
                self.rows[number] = self._row(planned.access, length)

    def _row(self, access: Access, length: int) -> Row:
        b = self.values.code
        b.uid = access.op.uid
        count: Register | None = self.limit
        if access.mask is not None:
            count = None
            if access.prefix is not None:
                count = b.smaller(self._count(access.prefix, length), self.limit)
        copy = None
        if access.op in self.values.copies:
            buffer, _ = self.values.copies[access.op]
            index = tuple(FIXED if axis == self.schedule.inner else axis for axis in access.index)
            at = self.memory.buffer_address(buffer, self._offset(buffer, index, Position(b.i64(0), 0)))
            copy = b.emit(f"ptrtoint {at} to i64", "i64")
        return self.memory.prepare(access, self._read, count, copy, self._same_run(access, length))

    def _same_run(self, access: Access, length: int) -> Hashable:
        """What tells the elements that a row touches from those of another row of its op; None in an outer loop."""
        keys = tuple(key for key in (access.pointer, access.distance) if key is not None)
        if max(self.schedule.level(index) for _, index in keys) >= 0:
            return None
        return access.op, keys, access.mask is None, access.prefix, self.blueprint.clamp, length

    def _fill_beyond(self, inner: int, lanes: int) -> None:
        """Give the elements that the clamped loop leaves out their value, before the loop runs."""
        b = self.values.code
        for planned in self.planned:
            if not isinstance(planned.root, Fill) or not planned.beyond:
                continue
            buffer, length = planned.root.buffer, self.shape[inner]
            value, index = self._read(planned.beyond[0]), self.blueprint.whole
            if self.schedule.clamp is not None:
                self.values.ends[planned.root.value] = self.schedule.clamp[0]
            whole = lanes > 1 and length % lanes == 0 and index[-1] == inner
            start = b.binary("and", self.limit, b.i64(-lanes)) if whole else self.limit
            with b.loop(start, b.i64(length), lanes if whole else 1) as at:
                self.indices[inner] = at
                self._to_buffer(buffer, value, index, Position(at, lanes if whole else 0))

    def _streamed(self, lanes: int) -> tuple[Register, Register, int] | None:
        """The address of the one row this nest stores, whether its array is big, and the size of an element.

        None where bypassing the cache cannot pay.
        """
        b = self.values.code
        if len(self.planned) != 1 or not lanes or len(self.schedule.levels[-1]) > CHEAP_NODES:
            return None
        access, row = self.planned[0].access, self.rows.get(0)
        if not isinstance(self.planned[0].root, Store) or access is None or row is None or access.mask is not None:
            return None
        candidates = self.memory.extents.candidates(access.pointer[0])
        element = self.planned[0].keys[0][0].type.element
        size = arithmetic.memory_bytes(element)
        if not candidates or size < 4 or lanes * size < 16:
            return None
        _, limit = self.memory.extents.fast(candidates[0])
        return row.address, b.compare("icmp uge", limit, b.i64(STREAMING_BYTES)), size

    # -- reductions ---------------------------------------------------------------------------------------------------
    def _accumulators(self, lanes: int, unroll: int) -> list[list[Accumulator]]:
        """Per reduction along the innermost loop: one accumulator per vector of a turn, and one for single elements."""
        found: list[list[Accumulator]] = []
        for root in self.roots:
            if isinstance(root, Reduce) and root.op.attrs["axis"] == self.schedule.inner:
                start = reductions.Accumulator.start
                if reductions.identities(root.op) is None:
                    found.append([start(self.values.code, root.op, 0, self.values.scalars, unroll)] * (unroll + 1))
                    continue
                widths = [lanes] * unroll + [0]
                found.append([start(self.values.code, root.op, width, self.values.scalars) for width in widths])
        return found

    def _finish(self, accumulators: list[list[Accumulator]], inner: int, length: int) -> None:
        b, outer = self.values.code, self.values.scalars
        along = [p for p in self.planned if isinstance(p.root, Reduce) and p.root.op.attrs["axis"] == inner]
        for planned, parts in zip(along, accumulators):
            root = planned.root
            if not isinstance(root, Reduce):
                continue
            b.uid = root.op.uid
            if parts[-1].started is not None:
                totals = parts[-1].read()
            else:
                totals = reductions.join(b, root.op, parts[:-1], outer)
                totals = arithmetic.combine(b, root.op.blocks[0], totals + parts[-1].read(), outer)
            if planned.beyond:
                left = b.binary("sub", b.i64(length), self.limit)
                totals = [reductions.absorb(b, root.op, totals[0], self._read(planned.beyond[0]), left)]
            index = tuple(axis for at, axis in enumerate(self.blueprint.whole) if at != inner)
            self._results(root, totals, index, Position(b.i64(0), 0))

    def _results(self, root: Reduce, totals: list[Register], index: tuple[int, ...], position: Position) -> None:
        if not root.buffers:
            self.values.scalars.update(zip(root.op.results, totals))
        for buffer, total in zip(root.buffers, totals):
            self._to_buffer(buffer, total, index, position)

    def _reduce_outer(self, root: Reduce, registers: list[Register], position: Position) -> None:
        """Combine along an outer loop: partial results stay in the result's buffer."""
        b = self.values.code
        axis = root.op.attrs["axis"]
        index = tuple(loop for at, loop in enumerate(self.blueprint.whole) if at != axis)
        if self.shape[axis] > 1:
            elements = [b.lanes_of(x, position.lanes) if position.lanes else x for x in registers]
            partial = [self._from_buffer(buffer, index, position) for buffer in root.buffers]
            combined = arithmetic.combine(b, root.op.blocks[0], partial + elements, self.values.scalars)
            first = b.compare("icmp eq", self.indices[axis], b.i64(0))
            first = b.lanes_of(first, position.lanes) if position.lanes else first
            registers = [b.select(first, x, new) for x, new in zip(elements, combined)]
        self._results(root, registers, index, position)


def _splat(value: int, lanes: int) -> Register:
    return Register(f"splat (i64 {value})", vector("i64", lanes))
