"""Lowering of bulk and tensor copies and of tensor maps. Each copy happens when it is issued, lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form, resolve
from tinyton_lab.ptx.syntax import Address, Immediate, Instruction, Vector
from tinyton_lab.ptx.types import TYPES
from tinyton_lab.sim import access
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.lowering import Lowering, Reader
from tinyton_lab.sim.membarriers import deliver
from tinyton_lab.sim.movements import move
from tinyton_lab.sim.program import Operation

# The 128 bytes of a tensor map are opaque in PTX; this is our own layout of the fields: name -> (first byte, bytes).
_LAYOUT = {
    "global_address": (0, 8),
    "rank": (8, 4),
    "elemtype": (12, 4),
    "interleave_layout": (16, 4),
    "swizzle_mode": (20, 4),
    "fill_mode": (24, 4),
    "swizzle_atomicity": (28, 4),
    "box_dim": (32, 4),
    "element_stride": (52, 4),
    "global_dim": (72, 4),
    "global_stride": (96, 8),
}
_ELEMENT_BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4)
_SWIZZLE_BITS = (0, 1, 2, 3)


class TensorMap(NamedTuple):
    """A tensor in global memory and the box that one copy moves; dimension 0 is the fastest."""

    address: int
    element_bytes: int
    dimensions: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int
    nan_fill: bool

    @classmethod
    def of(cls, data: bytes) -> TensorMap:
        def field(name: str, index: int = 0) -> int:
            first, size = _LAYOUT[name]
            return int.from_bytes(data[first + index * size : first + (index + 1) * size], "little")

        rank = min(field("rank") + 1, 5)
        size = _ELEMENT_BYTES[min(field("elemtype"), 12)]
        strides = (size, *(field("global_stride", n) for n in range(rank - 1)))
        many = {
            name: tuple(field(name, n) for n in range(rank)) for name in ("global_dim", "box_dim", "element_stride")
        }
        return cls(
            field("global_address"),
            size,
            many["global_dim"],
            strides,
            many["box_dim"],
            many["element_stride"],
            field("swizzle_mode"),
            field("fill_mode") == 1,
        )

    def elements(self, corner: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """(global addresses, shared byte offsets, inside flags) of the box's elements."""
        grids = np.meshgrid(*[np.arange(n) for n in reversed(self.box)], indexing="ij")[::-1]
        address = np.full(grids[0].shape, self.address, np.int64)
        inside = np.ones(grids[0].shape, np.bool_)
        for grid, first, step, length, stride in zip(grids, corner, self.steps, self.dimensions, self.strides):
            place = grid * max(step, 1) + first
            inside &= (place >= 0) & (place < length)
            address += place * stride
        offset = np.arange(address.size, dtype=np.int64) * self.element_bytes
        return address.ravel().astype(np.uint64), offset, inside.ravel()


def swizzled(address: Array, mode: int) -> Array:
    """Shared byte addresses after the 32-, 64- or 128-byte swizzle (mode 1, 2, 3): 16-byte units are exchanged."""
    mask = (1 << _SWIZZLE_BITS[mode & 3]) - 1
    return address ^ (((address >> 7) & mask) << 4)


def _lanes(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """Active lanes one by one; while one is served it is the only active one, and its bytes are not recorded."""
    mask, recording = chunk.mask, chunk.recording
    chunk.recording = False
    try:
        for cta, thread in zip(*np.nonzero(chunk.active())):
            chunk.mask = np.zeros(chunk.shape, np.bool_)
            chunk.mask[cta, thread] = True
            yield int(cta), int(thread)
    finally:
        chunk.mask, chunk.recording = mask, recording


def _value(chunk: Chunk, read: Reader, cta: int, thread: int) -> int:
    return int(np.broadcast_to(read(chunk.registers), chunk.shape)[cta, thread])


class Mover:
    """Moves bytes for one lane, through the checked accesses."""

    def __init__(self, low: Lowering, line: int) -> None:
        self.sites = {
            n: (low.program.access_site(line, n, "load", "async"), low.program.access_site(line, n, "store", "async"))
            for n in (1, 2, 4, 8, 16)
        }

    def load(self, chunk: Chunk, space: str, cta: int, addresses: Array, size: int) -> Array:
        """Elements of `size` bytes at addresses as CTA `cta` sees them."""
        if space == "global":
            return access.load_global(chunk, self.sites[size][0], addresses, None)
        return access.load_row(chunk, self.sites[size][0], cta, addresses)

    def store(
        self, chunk: Chunk, space: str, cta: int, addresses: Array, values: Array, size: int, barrier: int | None = None
    ) -> None:
        if space == "global":
            access.store_global(chunk, self.sites[size][1], addresses, values, None)
        else:
            access.store_row(chunk, self.sites[size][1], cta, addresses, values, barrier)


def _size_for(*values: int) -> int:
    """The widest access that all addresses and sizes allow."""
    both = 16
    for value in values:
        both |= value
    return min(both & -both, 16)


def bulk_copy(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``cp.async.bulk`` between global and shared memory, or between the CTAs of a cluster."""
    operands, mover = instruction.operands, Mover(low, instruction.line)
    to, origin = ("global" if form[slot] == "global" else "shared" for slot in ("to", "from"))
    loads = form["done"] != "bulk_group"
    if len(operands) < (4 if loads else 3):
        low.refuse(instruction, form, "needs more operands")
    target = low.address(instruction, form, names, operands[0], to)
    source = low.address(instruction, form, names, operands[1], origin)
    count = low.reader(instruction, form, names, operands[2], TYPES["b32"])
    bar = low.address(instruction, form, names, operands[3], "shared") if loads else None
    site = low.program.access_site(instruction.line, 8, "barrier access", "barrier")

    def run(chunk: Chunk) -> None:
        for cta, thread in _lanes(chunk):
            first, last, size = (_value(chunk, r, cta, thread) for r in (source, target, count))
            width = _size_for(first, last, size)
            places = np.arange(0, size, width, dtype=np.uint64)
            data = mover.load(chunk, origin, cta, places + np.uint64(first), width)
            told = None if bar is None else _value(chunk, bar, cta, thread)
            move(chunk, cta, thread, (origin, places + np.uint64(first)), (to, places + np.uint64(last)), data)
            mover.store(chunk, to, cta, places + np.uint64(last), data, width, told)
            if told is not None:
                deliver(chunk, site, cta, thread, told, size)

    return run


def bulk_reduce(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``cp.reduce.async.bulk`` to global memory."""
    operands, mover, size = instruction.operands, Mover(low, instruction.line), form.type.bytes
    target = low.address(instruction, form, names, operands[0], "global")
    source = low.address(instruction, form, names, operands[1], "shared")
    count = low.reader(instruction, form, names, operands[2], TYPES["b32"])
    combine = _combiner(form["op"], form.type.name)

    def run(chunk: Chunk) -> None:
        for cta, thread in _lanes(chunk):
            first, last, length = (_value(chunk, r, cta, thread) for r in (source, target, count))
            places = np.arange(0, length, size, dtype=np.uint64)
            data = mover.load(chunk, "shared", cta, places + np.uint64(first), size)
            old = mover.load(chunk, "global", cta, places + np.uint64(last), size)
            data = combine(old, data)
            here, there = ("shared", places + np.uint64(first)), ("global", places + np.uint64(last))
            move(chunk, cta, thread, here, there, data, combines=True)
            mover.store(chunk, "global", cta, places + np.uint64(last), data, size)

    return run


def _combiner(op: str, type_: str) -> Callable[[Array, Array], Array]:
    """(old bits, new bits) -> bits, by the atomic of the same name and type."""
    form = resolve(f"red.global.{op}.{'noftz.' if type_ in ('f16', 'bf16') and op == 'add' else ''}{type_}")
    function: Any = form.row.run(form) if form.row.run else None
    dtype, raw = form.type.compute, form.type.raw
    return lambda old, new: np.asarray(function(old.view(dtype), new.view(dtype))).view(raw)


_MAP_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32")


class _Tensor(NamedTuple):
    """The lowered operands of a tensor copy."""

    map: Reader
    corner: tuple[Reader, ...]
    shared: Reader


def _tensor(low: Lowering, instruction: Instruction, form: Form, names: Names, tensor: int, shared: int) -> _Tensor:
    operand = instruction.operands[tensor]
    if not isinstance(operand, Address) or not operand.rest or not isinstance(operand.rest[0], Vector):
        low.refuse(instruction, form, "needs [map, {coordinates}]")
    corner = tuple(low.reader(instruction, form, names, item, TYPES["s32"]) for item in operand.rest[0].items)
    if len(corner) != int(form["dimensions"][0]):
        low.refuse(instruction, form, f"needs {form['dimensions'][0]} coordinates")
    return _Tensor(
        low.address(instruction, form, names, operand, "generic"),
        corner,
        low.address(instruction, form, names, instruction.operands[shared], "shared"),
    )


def _read_map(chunk: Chunk, site: access.Site, address: int) -> TensorMap:
    data = access.load(
        chunk, site, "generic", np.arange(address, address + 128, 8, dtype=np.uint64).reshape(1, -1)[0], None
    )
    return TensorMap.of(np.ascontiguousarray(data).tobytes())


def tensor_load(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``cp.async.bulk.tensor`` from global memory: elements outside the tensor are zeros (or NaN)."""
    tensor, mover = _tensor(low, instruction, form, names, 1, 0), Mover(low, instruction.line)
    bar = low.address(instruction, form, names, instruction.operands[2], "shared")
    site, reading = (
        low.program.access_site(instruction.line, 8, "barrier access", "barrier"),
        low.program.access_site(instruction.line, 8, "load", "map"),
    )

    def run(chunk: Chunk) -> None:
        for cta, thread in _lanes(chunk):
            box = _read_map(chunk, reading, _value(chunk, tensor.map, cta, thread))
            corner = tuple(_value(chunk, r, cta, thread) for r in tensor.corner)
            address, offset, inside = box.elements(corner)
            size = box.element_bytes
            fill = (0xFFFFFFFFFFFFFFFF & (1 << 8 * size) - 1) if box.nan_fill else 0
            data = np.full(len(offset), fill, access.dtype_of(size))
            if inside.any():
                data[inside] = mover.load(chunk, "global", cta, address[inside], size)
            place = swizzled(offset + _value(chunk, tensor.shared, cta, thread), box.swizzle)
            told = _value(chunk, bar, cta, thread)
            move(chunk, cta, thread, ("global", address), ("shared", place), data, inside)
            mover.store(chunk, "shared", cta, place.astype(np.uint64), data, size, told)
            deliver(chunk, site, cta, thread, told, size * len(offset))

    return run


def tensor_store(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``cp.async.bulk.tensor`` and its reducing form to global memory: elements outside are not written."""
    tensor, mover, op = _tensor(low, instruction, form, names, 0, 1), Mover(low, instruction.line), form["op"]
    reading = low.program.access_site(instruction.line, 8, "load", "map")

    def run(chunk: Chunk) -> None:
        for cta, thread in _lanes(chunk):
            address = _value(chunk, tensor.map, cta, thread)
            box = _read_map(chunk, reading, address)
            corner = tuple(_value(chunk, r, cta, thread) for r in tensor.corner)
            where, offset, inside = box.elements(corner)
            size = box.element_bytes
            place = swizzled(offset + _value(chunk, tensor.shared, cta, thread), box.swizzle)
            data = mover.load(chunk, "shared", cta, place[inside].astype(np.uint64), size)
            if op and inside.any():
                old = mover.load(chunk, "global", cta, where[inside], size)
                data = _combiner(op, _element_type(chunk, reading, address))(old, data)
            if inside.any():
                move(chunk, cta, thread, ("shared", place[inside]), ("global", where[inside]), data, combines=bool(op))
                mover.store(chunk, "global", cta, where[inside], data, size)

    return run


def _element_type(chunk: Chunk, site: access.Site, address: int) -> str:
    data = np.ascontiguousarray(access.load(chunk, site, "generic", np.array([address + 8], np.uint64), None)).tobytes()
    return _MAP_TYPES[min(int.from_bytes(data[4:8], "little"), 12)]


# Tensor maps.
def tensormap_replace(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """Write one field of the map in memory."""
    operands, field = instruction.operands, form["field"]
    first, size = _LAYOUT[field]
    indexed = len(operands) == 3
    if indexed and not isinstance(operands[1], Immediate):
        low.refuse(instruction, form, "needs a constant index")
    index = operands[1].value if indexed and isinstance(operands[1], Immediate) else 0
    value = low.reader(instruction, form, names, operands[-1], TYPES["b64" if size == 8 else "b32"])
    space = "global" if form["space"] == "global" else "shared" if form["space"] else "generic"
    address = low.address(instruction, form, names, operands[0], space)
    site, place = low.program.access_site(instruction.line, size, "store"), np.uint64(first + int(index) * size)
    return lambda chunk: access.store(
        chunk, site, space, address(chunk.registers) + place, value(chunk.registers), chunk.mask
    )


def tensormap_fence(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``fence.proxy.tensormap``: observers see which map it is for."""
    if instruction.operands:
        low.sources = [low.address(instruction, form, names, instruction.operands[0], "generic")]
    return lambda chunk: None


def tensormap_copy(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """The warp copies 128 bytes from shared to global memory, four per lane."""
    target = low.address(instruction, form, names, instruction.operands[0], "global")
    source = low.address(instruction, form, names, instruction.operands[1], "shared")
    reading, writing = (
        low.program.access_site(instruction.line, 4, "load"),
        low.program.access_site(instruction.line, 4, "store", "map"),
    )

    def run(chunk: Chunk) -> None:
        place = ((np.arange(chunk.threads, dtype=np.uint64) & np.uint64(31)) * np.uint64(4))[None, :]
        data = access.load(chunk, reading, "shared", source(chunk.registers) + place, chunk.mask)
        access.store(chunk, writing, "global", target(chunk.registers) + place, data, chunk.mask)

    return run
