"""Loads and stores of vectors: contiguous, lane by lane, or of one scalar; masked and checked. Knows no loop."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from tinyton_lab.codegen.cpu import arithmetic
from tinyton_lab.codegen.cpu.extents import Extents
from tinyton_lab.codegen.cpu.schedule import Access, Key
from tinyton_lab.codegen.cpu.values import Buffer, Values
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Pointer
from tinyton_lab.llvm.text import Register, vector

Read = Callable[[Key], Register]


@dataclass(slots=True)
class Position:
    """Where in the innermost loop code is being written: element `at` on, `lanes` of them (0: one, as a scalar).

    `active` says which lanes are inside the loop; None: all. `streaming` stores bypass the cache. First loads of rows
    that are read again also ask for what lies `ahead` bytes further on (0: nothing).
    """

    at: Register
    lanes: int
    active: Register | None = None
    streaming: bool = False
    ahead: int = 0


@dataclass(slots=True)
class Row:
    """An access prepared for a row: where its element 0 lies, and whether the whole row was checked ahead.

    `address` may be that of a copy; `checkable` is the one in the argument's array.
    """

    address: Register
    checkable: Register
    pointer: Register
    checked: bool


class Memory:
    """Writes accesses of global memory."""

    def __init__(self, values: Values, extents: Extents) -> None:
        self.values, self.code, self.extents = values, values.code, extents
        self._dummy: Register | None = None

    # -- addresses ----------------------------------------------------------------------------------------------------
    def address(self, access: Access, read: Read) -> Register:
        """The address of an access (of its row's element 0 where it is contiguous)."""
        b = self.code
        pointer = read(access.pointer)
        if access.distance is None:
            return pointer
        distance = read(access.distance)
        lanes = max(pointer.lanes, distance.lanes)
        moved = arithmetic.scaled(b, distance, access.distance[0].type.element, _element_pointer(access.op))
        if lanes:
            pointer, moved = b.lanes_of(pointer, lanes), b.lanes_of(moved, lanes)
        return b.add(pointer, moved)

    def dummy(self) -> Register:
        """An address of the thread's own, where lanes that are off may go."""
        if self._dummy is None:
            base = self.code.scratch(0)
            with self.code.hoisted():
                self._dummy = self.code.emit(f"ptrtoint {base} to i64", "i64")
        return self._dummy

    def prepare(
        self, access: Access, read: Read, count: Register | None, copy: Register | None, run: Hashable = None
    ) -> Row:
        """Compute a contiguous access's row address and check it for `count` elements (None: not known ahead).

        What was checked as the same `run` on the way here is good.
        """
        b = self.code
        address = self.address(access, read)
        size = _size(access.op)
        if self.values.checked and count is not None and (run is None or run not in b.known):
            self.extents.check_run(access.op, address, count, size)
            b.known.add(run)
        chosen = self._from_copy(access.op, address, copy)
        return Row(chosen, address, b.pointer(chosen), count is not None)

    def _from_copy(self, op: Op, address: Register, copy: Register | None) -> Register:
        if copy is None:
            return address
        b = self.code
        _, overlap = self.values.copies[op]
        condition = b.lanes_of(overlap, address.lanes) if address.lanes else overlap
        return b.select(condition, copy, address)

    # -- loads --------------------------------------------------------------------------------------------------------
    def load(self, access: Access, read: Read, row: Row | None, position: Position, copy: Register | None) -> Register:
        """Read a vector (or a scalar); masked-off elements are `other`, or zero."""
        b = self.code
        element = access.op.result.type.element
        type = arithmetic.memory_type(element)
        mask = self._mask(access, read, position)
        other = read(access.other) if access.other is not None else None
        if row is None:
            address = self._lane_addresses(access, read, mask, position, copy)
            if address.lanes:
                loaded = self.gather(type, address, _size(access.op))
            else:
                loaded = b.load(type, b.pointer(address), _size(access.op))
            return self._blend(arithmetic.from_memory(b, loaded, element), mask, other)
        self._check_vector(access, row, mask, position)
        at = b.offset(row.pointer, position.at, type)
        size = _size(access.op)
        if mask is None:
            if position.ahead and access.op.result in self.values.again - self.values.near:
                self._prefetch(at, position.ahead)
            loaded = b.load(vector(type, position.lanes), at, size)
            return arithmetic.from_memory(b, loaded, element)
        if position.lanes and self.maskable(type):
            through = self._passthrough(other, type, position.lanes) if type != "i8" or element.bits != 1 else None
            loaded = self.masked_load(vector(type, position.lanes), at, size, mask, through)
            result = arithmetic.from_memory(b, loaded, element)
            return result if through is not None or other is None else self._blend(result, mask, other)
        loaded = self._load_lanes_of_row(type, row, size, mask, position)
        return self._blend(arithmetic.from_memory(b, loaded, element), mask, other)

    def _prefetch(self, at: Register, distance: int) -> None:
        """Have memory brought near that the next program is likely to read; it may be anybody's: nothing is read."""
        b = self.code
        b.declarations["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"] = None
        b.effect(f"call void @llvm.prefetch.p0({b.offset(at, distance)}, i32 0, i32 3, i32 1)")

    def _passthrough(self, other: Register | None, type: str, lanes: int) -> Register:
        if other is None:
            return Register("zeroinitializer", vector(type, lanes))
        return self.code.lanes_of(other, lanes)

    def _load_lanes_of_row(self, type: str, row: Row, size: int, mask: Register, position: Position) -> Register:
        addresses = self._row_addresses(row.address, size, position)
        addresses = self._redirect(addresses, mask)
        if not addresses.lanes:
            return self.code.load(type, self.code.pointer(addresses), size)
        return self.gather(type, addresses, size)

    def _row_addresses(self, origin: Register, size: int, position: Position) -> Register:
        """Addresses of the row's elements at a position."""
        b = self.code
        moved = position.at if size == 1 else b.binary("mul", position.at, b.i64(size))
        start = b.add(origin, moved)
        if not position.lanes:
            return start
        steps = Register(
            "<" + ", ".join(f"i64 {lane * size}" for lane in range(position.lanes)) + ">",
            vector("i64", position.lanes),
        )
        return b.binary("add", b.splat(start, position.lanes), steps)

    def _redirect(self, addresses: Register, mask: Register | None) -> Register:
        """Send lanes that are off to a place of the thread's own: no branch per lane."""
        if mask is None:
            return addresses
        dummy = self.dummy()
        return self.code.select(
            mask, addresses, self.code.lanes_of(dummy, addresses.lanes) if addresses.lanes else dummy
        )

    def _lane_addresses(
        self, access: Access, read: Read, mask: Register | None, position: Position, copy: Register | None
    ) -> Register:
        """The checked address of each lane; lanes that are off point to the thread's own memory."""
        b = self.code
        address = self.address(access, read)
        if position.lanes:
            address = b.lanes_of(address, position.lanes)
        if self.values.checked:
            self.extents.check_lanes(access.op, address, mask, _size(access.op))
        return self._redirect(self._from_copy(access.op, address, copy), mask)

    def _check_vector(self, access: Access, row: Row, mask: Register | None, position: Position) -> None:
        """Check a contiguous vector under a mask that no row count describes."""
        if self.values.checked and not row.checked:
            size = _size(access.op)
            self.extents.check_lanes(access.op, self._row_addresses(row.checkable, size, position), mask, size)

    def gather(self, type: str, addresses: Register, size: int) -> Register:
        """Read one element per lane."""
        b = self.code
        result = Register("poison", vector(type, addresses.lanes))
        for lane in range(addresses.lanes):
            at = b.pointer(b.emit(f"extractelement {addresses}, i64 {lane}", "i64"))
            result = b.emit(f"insertelement {result}, {b.load(type, at, size)}, i64 {lane}", result.type)
        return result

    def maskable(self, type: str) -> bool:
        """Whether the processor loads and stores vectors of this type under a mask."""
        return self.code.machine.masks_narrow or type in ("i32", "i64", "float", "double")

    def masked_load(self, type: str, at: Register, size: int, mask: Register, through: Register | None) -> Register:
        b = self.code
        name = f"llvm.masked.load.{mangled(type)}.p0"
        through = through or Register("zeroinitializer", type)
        b.declarations[f"declare {type} @{name}(ptr, {mask.type}, {type})"] = None
        return b.emit(f"call {type} @{name}(ptr align {size} {at.text}, {mask}, {through})", type)

    def masked_store(self, value: Register, at: Register, size: int, mask: Register) -> None:
        b = self.code
        name = f"llvm.masked.store.{mangled(value.type)}.p0"
        b.declarations[f"declare void @{name}({value.type}, ptr, {mask.type})"] = None
        b.effect(f"call void @{name}({value}, ptr align {size} {at.text}, {mask})")

    def _mask(self, access: Access, read: Read, position: Position) -> Register | None:
        """The lanes that are on: the access's mask and the loop's end together; None: all."""
        mask = read(access.mask) if access.mask is not None else None
        if mask is not None and position.lanes:
            mask = self.code.lanes_of(mask, position.lanes)
        if position.active is None:
            return mask
        return position.active if mask is None else self.code.binary("and", mask, position.active)

    def _blend(self, loaded: Register, mask: Register | None, other: Register | None) -> Register:
        if mask is None:
            return loaded
        b = self.code
        if other is None:
            other = Register("zeroinitializer", loaded.type) if loaded.lanes else arithmetic.zero(loaded.type)
        elif loaded.lanes:
            other = b.lanes_of(other, loaded.lanes)
        return b.select(b.lanes_of(mask, loaded.lanes) if loaded.lanes else mask, loaded, other)

    # -- stores -------------------------------------------------------------------------------------------------------
    def store(self, access: Access, value: Register, read: Read, row: Row | None, position: Position) -> None:
        """Write a vector (or a scalar); masked-off elements are left alone."""
        b = self.code
        mask = self._mask(access, read, position)
        size = _size(access.op)
        value = arithmetic.to_memory(b, value)
        if row is None:
            address = self._lane_addresses(access, read, mask, position, None)
            self.scatter(b.lanes_of(value, address.lanes) if address.lanes else value, address, size)
            return
        self._check_vector(access, row, mask, position)
        at = b.offset(row.pointer, position.at, value.element)
        value = b.lanes_of(value, position.lanes) if position.lanes else value
        if mask is None:
            hint = ", !nontemporal !100000" if position.streaming else ""
            align = size * position.lanes if position.streaming else size
            b.effect(f"store {value}, {at}, align {align}{hint}")
        elif position.lanes and self.maskable(value.element):
            self.masked_store(value, at, size, mask)
        else:
            self.scatter(value, self._redirect(self._row_addresses(row.address, size, position), mask), size)

    def scatter(self, value: Register, addresses: Register, size: int) -> None:
        """Write one element per lane, in lane order."""
        b = self.code
        if not addresses.lanes:
            b.store(value, b.pointer(addresses), size)
        for lane in range(addresses.lanes):
            at = b.pointer(b.emit(f"extractelement {addresses}, i64 {lane}", "i64"))
            b.store(b.emit(f"extractelement {value}, i64 {lane}", value.element), at, size)

    # -- scratch ------------------------------------------------------------------------------------------------------
    def buffer_address(self, buffer: Buffer, offset: Register) -> Register:
        """A pointer to an element of a buffer."""
        return self.code.offset(self.code.scratch(buffer.at), offset, buffer.type)


def _element_pointer(op: Op) -> Pointer:
    pointer = op.operand("pointer")
    if pointer is None or not isinstance(pointer.type.element, Pointer):
        raise RuntimeError(f"cpu: {op.row.name} #{op.uid} has no pointer")
    return pointer.type.element


def _size(op: Op) -> int:
    return _element_pointer(op).element.bytes


def mangled(type: str) -> str:
    """A vector type as it is spelled in an intrinsic's name."""
    count, _, element = type.strip("<>").partition(" x ")
    return f"v{count}{ {'float': 'f32', 'double': 'f64'}.get(element, element) }"
